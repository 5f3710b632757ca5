from datetime import timedelta
from typing import Any

import pytest

from builders.aliases import claims
from builders.aliases.records import LIVE, AliasName
from builders.aliases.rules import validate_local_part
from builders.kit.db.connections import Database
from builders.kit.values import clock, ids
from tests.cast import Client, Person
from tests.catalog.make import Loader, fresh

PATH = "/v1/catalog/check"


async def check(client: Client, local_part: str, domain: str) -> dict[str, Any]:
    answer = await client.get(PATH, params={"local_part": local_part, "domain": domain})
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


async def take(database: Database, person: Person, domain: str, key: str) -> None:
    """Reserve the name for the person for a day."""
    wanted = AliasName(
        domain=domain,
        key=key,
        skeleton=validate_local_part(key, domain=domain).skeleton,
        alias_id=ids.new(),
    )
    async with database.transaction() as conn:
        until = clock.now() + timedelta(days=1)
        await claims.reserve_names(conn, realm=LIVE, account_id=person.account.id, wanted=[wanted], until=until)


async def test_a_free_name_is_available_with_its_price(anyone: Client, load: Loader) -> None:
    domain = fresh()
    await load({"domain": domain, "price_amount": "24", "short_name_prices": "3:60"})
    found = await check(anyone, " Jane.Doe ", domain.upper())
    assert found.pop("checked_at")
    assert found == {
        "available": True,
        "reason": "ok",
        "detail": None,
        "message": "",
        "local_part": " Jane.Doe ",
        "normalized_local_part": "jane.doe",
        "domain": domain,
        "address": f"jane.doe@{domain}",
        "price": {"amount": "24.00", "currency": "USD", "interval": "year", "tier": "standard"},
        "alternatives": [],
        "available_at": None,
        "rules": {"min": 1, "max": 64, "separator_policy": "ignore_dots"},
        "definitive": True,
    }
    assert (await check(anyone, "j.d.o", domain))["price"]["amount"] == "60.00"


@pytest.mark.parametrize(
    ("local_part", "reason", "detail"),
    [
        ("jane+shop", "invalid", "plus_tag"),
        ("jane doe", "invalid", "bad_char"),
        (" ", "invalid", "empty"),
        (".jane", "invalid", "bad_start"),
        ("jane.", "invalid", "bad_end"),
        ("ja..ne", "invalid", "double_separator"),
        ("яна", "invalid", "non_ascii"),
        ("j", "invalid", "too_short"),
        ("x" * 65, "invalid", "too_long"),
        ("x" * 6000, "invalid", "too_long"),
        ("postmaster", "reserved", None),
        ("p0stmaster", "reserved", None),
    ],
)
async def test_an_invalid_name_has_the_broken_rule(
    anyone: Client, load: Loader, local_part: str, reason: str, detail: str | None
) -> None:
    domain = fresh()
    await load({"domain": domain, "min_local_length": "2"})
    found = await check(anyone, local_part, domain)
    assert (found["available"], found["reason"], found["detail"]) == (False, reason, detail)
    assert found["message"]
    assert len(found["alternatives"]) <= 5


async def test_a_plus_tag_gets_the_name_without_it_as_an_alternative(anyone: Client, load: Loader) -> None:
    domain = fresh()
    await load({"domain": domain})
    found = await check(anyone, "jane+shop", domain)
    assert found["address"] is None
    assert found["alternatives"][0]["address"] == f"jane@{domain}"


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"status": "coming_soon", "catch_all": ""}, "domain_not_live"),
        ({"status": "live", "catch_all": "true"}, "catch_all"),
        ({"status": "paused", "catch_all": ""}, "domain_unknown"),
    ],
)
async def test_only_names_on_live_domains_are_available(
    anyone: Client, load: Loader, cells: dict[str, str], reason: str
) -> None:
    domain = fresh()
    await load({"domain": domain, **cells})
    found = await check(anyone, "jane", domain)
    assert (found["available"], found["reason"]) == (False, reason)
    assert all(each["domain"] != domain for each in found["alternatives"])


@pytest.mark.parametrize("domain", ["nowhere.example", "localhost", "a b", "\u2603", "x" * 4000, "'; --"])
async def test_an_unknown_domain_is_200_with_a_reason(anyone: Client, domain: str) -> None:
    found = await check(anyone, "jane", domain)
    assert (found["available"], found["reason"], found["price"]) == (False, "domain_unknown", None)


async def test_a_reserved_name_is_not_available_and_its_holder_is_not_disclosed(
    anyone: Client, alice: Person, database: Database, load: Loader
) -> None:
    domain = fresh()
    await load({"domain": domain, "categories": "music"}, {"domain": fresh(), "categories": "music"})
    await take(database, alice, domain, "janedoe")
    answer = await anyone.get(PATH, params={"local_part": "jane.doe", "domain": domain})
    found = answer.json()
    assert (found["available"], found["reason"]) == (False, "held")
    assert found["available_at"] > found["checked_at"]
    assert str(alice.account.id) not in answer.text
    offered = [each["address"] for each in found["alternatives"]]
    assert len(offered) == 5
    assert offered[0].endswith(f"@{domain}")
    assert not {f"janedoe@{domain}", f"jane.doe@{domain}"} & set(offered)
    assert f"jane.doe@{domain}" not in offered
    elsewhere = [address for address in offered if not address.endswith(f"@{domain}")]
    assert all(address.startswith("jane.doe@") for address in elsewhere)


async def test_the_holder_gets_the_same_response_as_others(
    alice: Person, bob: Person, database: Database, load: Loader
) -> None:
    domain = fresh()
    await load({"domain": domain})
    await take(database, alice, domain, "jane")
    assert (await check(alice, "jane", domain))["reason"] == (await check(bob, "jane", domain))["reason"] == "held"


async def test_a_name_with_the_skeleton_of_a_reserved_one_is_confusable(
    anyone: Client, alice: Person, database: Database, load: Loader
) -> None:
    domain = fresh()
    await load({"domain": domain})
    await take(database, alice, domain, "lola")
    assert (await check(anyone, "1o1a", domain))["reason"] == "confusable"


async def test_a_name_is_available_when_its_reservation_ends(
    anyone: Client, alice: Person, database: Database, load: Loader
) -> None:
    domain = fresh()
    await load({"domain": domain})
    await take(database, alice, domain, "jane")
    with clock.moved(timedelta(days=2)):
        assert (await check(anyone, "jane", domain))["available"]


async def test_an_idn_is_checked_in_either_form(anyone: Client, load: Loader) -> None:
    domain = fresh("bücher")
    await load({"domain": domain})
    found = await check(anyone, "jane", domain)
    assert found["available"]
    assert found["domain"].startswith("xn--")
    assert (await check(anyone, "jane", found["domain"]))["address"] == found["address"]


async def test_a_premium_word_costs_as_much_as_the_shortest_names(anyone: Client, load: Loader) -> None:
    domain = fresh()
    await load({"domain": domain, "price_amount": "24", "short_name_prices": "2:99"})
    assert (await check(anyone, "coffee", domain))["price"]["amount"] == "99.00"


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"local_part": "jane"},
        {"domain": "a.example"},
        {"local_part": "", "domain": "a.example"},
        {"local_part": "jane", "domain": ""},
    ],
)
async def test_an_empty_or_missing_parameter_is_422(anyone: Client, params: dict[str, str]) -> None:
    assert (await anyone.get(PATH, params=params)).status_code == 422


async def test_a_check_is_never_cached(anyone: Client) -> None:
    answer = await anyone.get(PATH, params={"local_part": "jane", "domain": "nowhere.example"})
    assert "no-store" in answer.headers["cache-control"]
