import asyncio
from datetime import timedelta

import pytest

from builders.app import Service
from builders.domains.api import VERIFY
from builders.domains.verification import GRACE
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.catalog.make import fresh
from tests.conftest import MakePerson
from tests.domains.make import PATH, add, check_due, claim, good_records, make_live, prove, published
from tests.domains.nameserver import Fault, Nameserver


async def test_a_domain_is_live_once_its_record_is_found(alice: Person, dns: Nameserver, conn: Conn) -> None:
    added = await add(alice, fresh())
    prove(dns, added)

    answer = await alice.post(f"{PATH}/{added['id']}/verify")

    assert answer.status_code == 200
    found = answer.json()
    assert (found["status"], found["claimable"], found["next_action"]) == ("live", True, None)
    assert found["checked"] == {"status": "found", "found": [added["verification"]["value"]], "missing": None}
    assert found["version"] == 2
    assert [each["domain"] for each in await published(conn, alice, "domain.verified")] == [added["domain"]]


async def test_a_repeat_changes_nothing(alice: Person, dns: Nameserver, conn: Conn) -> None:
    live = await make_live(alice, dns, fresh())

    again = (await alice.post(f"{PATH}/{live['id']}/verify")).json()

    assert (again["status"], again["version"]) == ("live", live["version"])
    assert len(await published(conn, alice, "domain.verified")) == 1


@pytest.mark.usefixtures("dns")
async def test_without_a_record_the_required_one_is_returned(alice: Person) -> None:
    added = await add(alice, fresh())

    found = (await alice.post(f"{PATH}/{added['id']}/verify")).json()

    assert found["status"] == "pending"
    assert found["checked"] == {"status": "missing", "found": [], "missing": added["verification"]["value"]}
    assert found["verification"]["checked_at"] is not None


async def test_other_records_are_returned_shortened(alice: Person, dns: Nameserver) -> None:
    added = await add(alice, fresh())
    dns.txt(added["verification"]["name"], "builders-verification=other", "x" * 400, *"abcdef")

    found = (await alice.post(f"{PATH}/{added['id']}/verify")).json()

    assert (found["status"], found["checked"]["status"]) == ("pending", "wrong")
    assert len(found["checked"]["found"]) == 5
    assert all(len(each) <= 255 for each in found["checked"]["found"])


@pytest.mark.parametrize("fault", Fault)
async def test_a_failing_name_server_gives_unknown(alice: Person, dns: Nameserver, fault: Fault) -> None:
    added = await add(alice, fresh())
    prove(dns, added)
    dns.faults[added["verification"]["name"]] = fault

    found = (await alice.post(f"{PATH}/{added['id']}/verify")).json()

    assert (found["status"], found["checked"]["status"]) == ("pending", "unknown")
    assert found["verification"]["checked_at"] is None


@pytest.mark.usefixtures("dns")
async def test_an_unreachable_name_server_gives_unknown(alice: Person, service: Service) -> None:
    added = await add(alice, fresh())
    state = service.api.state
    state.settings = state.settings.model_copy(update={"dns_resolvers": ("127.0.0.1:1",)})

    found = (await alice.post(f"{PATH}/{added['id']}/verify")).json()

    assert (found["status"], found["checked"]["status"]) == ("pending", "unknown")


async def test_a_truncated_response_is_repeated_over_tcp(alice: Person, dns: Nameserver) -> None:
    added = await add(alice, fresh())
    dns.txt(added["verification"]["name"], *(f"{n:0>250}" for n in range(200)), added["verification"]["value"])

    assert (await alice.post(f"{PATH}/{added['id']}/verify")).json()["status"] == "live"
    assert (added["verification"]["name"], "TXT", True) in dns.asked


async def test_the_record_can_be_behind_a_cname(alice: Person, dns: Nameserver) -> None:
    added = await add(alice, fresh())
    dns.cname(added["verification"]["name"], "proofs.example.net")
    dns.txt("proofs.example.net", added["verification"]["value"])

    assert (await alice.post(f"{PATH}/{added['id']}/verify")).json()["status"] == "live"


async def test_a_loop_of_cnames_gives_unknown(alice: Person, dns: Nameserver) -> None:
    added = await add(alice, fresh())
    dns.cname(added["verification"]["name"], "a.example.net")
    dns.cname("a.example.net", added["verification"]["name"])

    assert (await alice.post(f"{PATH}/{added['id']}/verify")).json()["checked"]["status"] == "unknown"


async def test_the_record_of_another_account_proves_nothing(alice: Person, bob: Person, dns: Nameserver) -> None:
    domain = fresh()
    hers, his = await add(alice, domain), await add(bob, domain)
    prove(dns, hers)

    assert (await bob.post(f"{PATH}/{his['id']}/verify")).json()["checked"]["status"] == "wrong"


async def test_the_first_account_with_a_proof_holds_the_domain_and_the_other_stays_pending(
    alice: Person, bob: Person, dns: Nameserver
) -> None:
    domain = fresh()
    hers, his = await add(alice, domain), await add(bob, domain)
    dns.txt(hers["verification"]["name"], hers["verification"]["value"], his["verification"]["value"])
    await alice.post(f"{PATH}/{hers['id']}/verify")

    answer = await bob.post(f"{PATH}/{his['id']}/verify")

    assert (answer.status_code, answer.json()["code"]) == (409, "domain_taken")
    assert (await bob.get(f"{PATH}/{his['id']}")).json()["status"] == "pending"


async def test_one_of_concurrent_proofs_succeeds(people: MakePerson, dns: Nameserver) -> None:
    domain = fresh()
    crowd = [await people(f"p{n}") for n in range(5)]
    added = [await add(each, domain) for each in crowd]
    dns.txt(added[0]["verification"]["name"], *(each["verification"]["value"] for each in added))

    answers = await asyncio.gather(
        *(each.post(f"{PATH}/{own['id']}/verify") for each, own in zip(crowd, added, strict=True))
    )

    assert sorted(each.status_code for each in answers) == [200, 409, 409, 409, 409]


async def test_another_account_can_hold_a_released_domain(alice: Person, bob: Person, dns: Nameserver) -> None:
    hers = await make_live(alice, dns, fresh())
    his = await add(bob, hers["domain"])
    prove(dns, his)
    await alice.delete(f"{PATH}/{hers['id']}")

    assert (await bob.post(f"{PATH}/{his['id']}/verify")).json()["status"] == "live"


async def test_another_account_with_a_proof_takes_over_a_suspended_domain(
    alice: Person, bob: Person, dns: Nameserver, service: Service, conn: Conn
) -> None:
    hers = await make_live(alice, dns, fresh())
    his = await add(bob, hers["domain"])
    prove(dns, his)
    await _suspend(service)

    assert (await bob.post(f"{PATH}/{his['id']}/verify")).json()["status"] == "live"
    assert (await alice.get(f"{PATH}/{hers['id']}")).json()["status"] == "released"
    [event] = await published(conn, alice, "domain.released")
    assert event["reason"] == "proved_by_another"


async def test_a_suspended_domain_with_names_is_not_taken_over(
    alice: Person, bob: Person, dns: Nameserver, service: Service, database: Database
) -> None:
    hers = await make_live(alice, dns, fresh())
    async with database.transaction() as conn:
        await claim(conn, alice, f"ada@{hers['domain']}")
    his = await add(bob, hers["domain"])
    prove(dns, his)
    await _suspend(service)

    answer = await bob.post(f"{PATH}/{his['id']}/verify")

    assert (answer.status_code, answer.json()["code"]) == (409, "domain_taken")
    assert (await alice.get(f"{PATH}/{hers['id']}")).json()["status"] == "suspended"


async def test_one_of_concurrent_proofs_of_the_holder_and_another_account_succeeds(
    alice: Person, bob: Person, dns: Nameserver, service: Service
) -> None:
    hers = await make_live(alice, dns, fresh())
    his = await add(bob, hers["domain"])
    dns.clear()
    await _suspend(service)
    dns.txt(hers["verification"]["name"], hers["verification"]["value"], his["verification"]["value"])

    answers = await asyncio.gather(
        alice.post(f"{PATH}/{hers['id']}/verify"), bob.post(f"{PATH}/{his['id']}/verify")
    )

    now = [(await who.get(f"{PATH}/{own['id']}")).json()["status"] for who, own in ((alice, hers), (bob, his))]
    assert now in (["live", "pending"], ["released", "live"])
    assert all(each.status_code in {200, 409} for each in answers)


async def _suspend(service: Service) -> None:
    """Move the clock by days without the record."""
    clock.move(timedelta(days=1, minutes=1))
    await check_due(service)
    clock.move(GRACE)
    await check_due(service)


async def test_verification_checks_the_mail_records_too(alice: Person, dns: Nameserver, conn: Conn) -> None:
    added = await add(alice, fresh())
    good_records(dns, added["domain"])

    found = (await alice.post(f"{PATH}/{added['id']}/verify")).json()

    assert {found["dns"][kind]["status"] for kind in ("mx", "spf", "dmarc")} == {"ok"}
    [event] = await published(conn, alice, "domain.health_changed")
    assert event["dns"]["mx"] == "ok"
    assert event["before"]["mx"] == "unchecked"


async def test_a_sandbox_domain_is_live_at_once_without_dns(alice: Person, dns: Nameserver) -> None:
    added = await add(alice.test, fresh())

    found = (await alice.test.post(f"{PATH}/{added['id']}/verify")).json()

    assert (added["livemode"], added["status"]) == (False, "pending")
    assert (found["status"], found["livemode"], found["checked"]["status"]) == ("live", False, "found")
    assert dns.asked == []


async def test_a_sandbox_neither_takes_nor_reveals_a_live_domain(
    alice: Person, bob: Person, dns: Nameserver
) -> None:
    live = await make_live(alice, dns, fresh())
    his = await add(bob.test, live["domain"])

    assert (await bob.test.post(f"{PATH}/{his['id']}/verify")).json()["status"] == "live"
    assert (await alice.get(f"{PATH}/{live['id']}")).json()["status"] == "live"


async def test_a_released_domain_is_409(alice: Person) -> None:
    added = await add(alice, fresh())
    await alice.delete(f"{PATH}/{added['id']}")

    answer = await alice.post(f"{PATH}/{added['id']}/verify")

    assert (answer.status_code, answer.json()["code"]) == (409, "domain_released")


async def test_bob_gets_the_404_of_an_unknown_domain(alice: Person, bob: Person, dns: Nameserver) -> None:
    added = await add(alice, fresh())

    answers = [await bob.post(f"{PATH}/{each}/verify") for each in (added["id"], "nothing")]

    assert [each.status_code for each in answers] == [404, 404]
    assert answers[0].json()["detail"] == answers[1].json()["detail"]
    assert dns.asked == []


async def test_a_test_key_does_not_find_a_live_domain(alice: Person) -> None:
    added = await add(alice, fresh())

    assert (await alice.test.post(f"{PATH}/{added['id']}/verify")).status_code == 404


async def test_a_verification_requires_credentials(anyone: Client) -> None:
    assert (await anyone.post(f"{PATH}/x/verify")).status_code == 401


def test_verifications_are_limited_per_account(service: Service) -> None:
    operation = service.openapi()["paths"][f"{PATH}/{{id}}/verify"]["post"]

    assert operation["x-rate-limit"][0] == VERIFY.name
    assert VERIFY.by == "account"


async def test_a_record_with_a_nul_byte_does_not_prevent_the_verification(alice: Person, dns: Nameserver) -> None:
    added = await add(alice, fresh())
    prove(dns, added)
    dns.zone[added["domain"], "TXT"] = ['"v=spf1 a:\\000x ~all"']

    found = (await alice.post(f"{PATH}/{added['id']}/verify")).json()

    assert (found["status"], found["dns"]["spf"]["status"]) == ("live", "wrong")
