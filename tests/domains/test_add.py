import asyncio
from functools import partial

import pytest

from builders.domains import account_domains
from builders.kit.db.connections import Conn
from tests.cast import Client, Person
from tests.catalog.make import Loader, fresh
from tests.domains.make import PATH, add, published


async def test_an_added_domain_is_201_with_the_record_to_set(alice: Person) -> None:
    domain = fresh()

    added = await add(alice, domain)

    assert (added["domain"], added["status"], added["source"]) == (domain, "pending", "owned")
    assert added["verification"]["name"] == f"_builders-challenge.{domain}"
    assert added["verification"]["value"].startswith("builders-verification=")
    assert added["verification"]["value"] in added["next_action"]
    assert (added["alias_count"], added["claimable"], added["livemode"]) == (0, False, True)
    assert {each["status"] for each in added["dns"].values()} == {"unchecked"}


async def test_an_addition_publishes_domain_added(alice: Person, conn: Conn) -> None:
    added = await add(alice, fresh())

    [event] = await published(conn, alice, "domain.added")
    assert (event["id"], event["status"]) == (added["id"], "pending")


async def test_a_domain_is_accepted_in_either_form_and_returned_in_both(alice: Person) -> None:
    domain = fresh("bücher")

    added = await add(alice, domain.upper() + ".")

    assert added["unicode"] == domain
    assert added["domain"].startswith("xn--")


async def test_a_domain_for_documentation_is_accepted(alice: Person) -> None:
    assert (await add(alice, f"{fresh()}.example"))["status"] == "pending"


@pytest.mark.parametrize("domain", ["com", "localhost", "a b.example", "192.0.2.1", "_x.example", "", "ex..ample"])
async def test_an_invalid_domain_is_422_at_the_member(alice: Person, domain: str) -> None:
    answer = await alice.post(PATH, json={"domain": domain})

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "domain"]


@pytest.mark.parametrize("top", ["local", "LOCALHOST.", "internal", "in-addr.arpa", "onion", "alt"])
async def test_a_special_use_domain_is_422(alice: Person, top: str) -> None:
    answer = await alice.post(PATH, json={"domain": f"{fresh()}.{top}"})

    assert answer.status_code == 422
    assert "special use" in answer.json()["detail"][0]["msg"]


async def test_a_domain_too_long_for_the_challenge_label_is_422(alice: Person) -> None:
    answer = await alice.post(PATH, json={"domain": ".".join(["a" * 60] * 4)})

    assert answer.status_code == 422
    assert "at most 233 characters" in answer.json()["detail"][0]["msg"]


async def test_a_domain_that_the_account_has_is_409(alice: Person) -> None:
    added = await add(alice, fresh())

    answer = await alice.post(PATH, json={"domain": added["domain"]})

    assert (answer.status_code, answer.json()["code"]) == (409, "domain_exists")


async def test_concurrent_additions_of_a_domain_add_it_once(alice: Person) -> None:
    domain = fresh()

    answers = await asyncio.gather(*(alice.post(PATH, json={"domain": domain}) for _ in range(4)))

    assert sorted(each.status_code for each in answers) == [201, 409, 409, 409]


async def test_a_domain_can_be_pending_in_two_accounts_with_different_tokens(alice: Person, bob: Person) -> None:
    domain = fresh()

    hers, his = await add(alice, domain), await add(bob, domain)

    assert hers["verification"]["value"] != his["verification"]["value"]


async def test_the_token_is_the_same_when_the_domain_is_added_again(alice: Person) -> None:
    first = await add(alice, fresh())
    await alice.delete(f"{PATH}/{first['id']}")

    again = await add(alice, first["domain"])

    assert again["id"] != first["id"]
    assert again["verification"]["value"] == first["verification"]["value"]


async def test_a_domain_of_the_catalog_is_409(alice: Person, load: Loader) -> None:
    domain = fresh()
    await load({"domain": domain})

    answer = await alice.post(PATH, json={"domain": domain})

    assert (answer.status_code, answer.json()["code"]) == (409, "domain_in_catalog")


@pytest.mark.maximum("domains")
async def test_the_number_of_domains_of_an_account_is_limited(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_domains, "add", partial(account_domains.add, max_domains=2))

    answers = await asyncio.gather(*(alice.post(PATH, json={"domain": fresh()}) for _ in range(4)))

    refused = [each.json()["code"] for each in answers if each.status_code == 409]
    assert refused == ["domain_limit", "domain_limit"]


async def test_a_catch_all_needs_a_destination(alice: Person) -> None:
    answer = await alice.post(PATH, json={"domain": fresh(), "catch_all": True})

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "default_destination"]


async def test_a_destination_on_the_domain_itself_is_422(alice: Person) -> None:
    domain = fresh()

    answer = await alice.post(PATH, json={"domain": domain, "default_destination": f"me@{domain}"})

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["type"] == "destination_loop"


async def test_an_unknown_member_gives_a_warning(alice: Person) -> None:
    answer = await alice.post(PATH, json={"domain": fresh(), "colour": "red"})

    assert [each["field"] for each in answer.json()["warnings"]] == ["colour"]


async def test_a_misspelt_member_is_refused(alice: Person) -> None:
    domain = fresh()
    answer = await alice.post(PATH, json={"domain": domain, "catchall": True})

    assert (answer.status_code, answer.json()["detail"][0]["did_you_mean"]) == (422, "catch_all")
    assert domain not in {each["domain"] for each in (await alice.get(PATH)).json()["items"]}


async def test_a_repeated_idempotency_key_adds_the_domain_once(alice: Person) -> None:
    body, headers = {"domain": fresh()}, {"Idempotency-Key": "the-same"}

    first, second = [await alice.post(PATH, json=body, headers=headers) for _ in range(2)]

    assert first.json() == second.json()


async def test_adding_requires_credentials(anyone: Client) -> None:
    assert (await anyone.post(PATH, json={"domain": fresh()})).status_code == 401
