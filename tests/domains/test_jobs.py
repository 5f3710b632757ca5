"""The jobs of the worker, with the clock moved."""

import asyncio
import email
import email.policy
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from builders.app import Service
from builders.domains import account_domains, verification
from builders.domains.records import FIRST_CHECK, DnsCheck, ProofSeen
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from builders.mail import service as mail
from tests.cast import Client, Person
from tests.catalog.make import fresh
from tests.conftest import INSTANT, StopClock
from tests.domains.make import (
    PATH,
    add,
    assign,
    check_due,
    good_records,
    make_live,
    prove,
    published,
    settings_of,
    work,
)
from tests.domains.nameserver import Fault, Nameserver

A_DAY = timedelta(days=1, minutes=1)


async def status(person: Client, domain: dict[str, object]) -> str:
    """Return the status of a domain."""
    found: str = (await person.get(f"{PATH}/{domain['id']}")).json()["status"]
    return found


async def test_a_pending_domain_is_verified_by_the_job(alice: Person, service: Service, dns: Nameserver) -> None:
    added = await add(alice, fresh())
    prove(dns, added)

    await check_due(service)
    assert await status(alice, added) == "pending"
    clock.move(FIRST_CHECK)
    await check_due(service)

    assert await status(alice, added) == "live"


async def test_checks_of_a_pending_domain_slow_down_and_end_after_two_weeks(alice: Person, conn: Conn) -> None:
    added = await add(alice, fresh())
    found = await account_domains.get(conn, account_id=alice.account.id, domain_id=UUID(added["id"]))
    at: datetime | None = found.added_at + FIRST_CHECK
    times = []
    while at is not None:
        times.append(at - found.added_at)
        at = verification.next_check(found, ProofSeen.MISSING, now=at)
        found = replace(found, checks=found.checks + 1)

    waits = [later - earlier for earlier, later in pairwise(times)]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (FIRST_CHECK, verification.MAX_PENDING_DELAY)
    assert timedelta(days=13) < times[-1] < verification.PENDING_PERIOD


async def test_after_two_weeks_the_account_can_verify_it(alice: Person, dns: Nameserver) -> None:
    added = await add(alice, fresh())
    clock.move(timedelta(days=40))
    prove(dns, added)

    assert (await alice.post(f"{PATH}/{added['id']}/verify")).json()["status"] == "live"


async def test_a_missing_proof_suspends_after_days_and_a_new_one_restores(
    alice: Person, service: Service, dns: Nameserver, conn: Conn
) -> None:
    live = await make_live(alice, dns, fresh())
    dns.clear()
    clock.move(A_DAY)
    await check_due(service)
    lost = (await alice.get(f"{PATH}/{live['id']}")).json()
    assert (lost["status"], lost["verification"]["lost_at"] is not None) == ("live", True)
    assert lost["next_action"].startswith("Set a TXT record")

    clock.move(verification.GRACE)
    await check_due(service)
    gone = (await alice.get(f"{PATH}/{live['id']}")).json()
    assert (gone["status"], gone["claimable"], gone["version"]) == ("suspended", False, live["version"] + 1)
    [event] = await published(conn, alice, "domain.suspended")
    assert event["reason"] == "proof_gone"

    prove(dns, live)
    clock.move(verification.MISSING_PROOF_DELAY)
    await check_due(service)
    back = (await alice.get(f"{PATH}/{live['id']}")).json()
    assert (back["status"], back["suspended_at"], back["verification"]["lost_at"]) == ("live", None, None)
    assert len(await published(conn, alice, "domain.verified")) == 2


@pytest.mark.parametrize(("before", "found"), [(INSTANT, "live"), (timedelta(), "suspended")])
async def test_the_grace_period_ends_at_its_exact_instant(
    alice: Person, service: Service, dns: Nameserver, stop_clock: StopClock, before: timedelta, found: str
) -> None:
    live = await make_live(alice, dns, fresh())
    dns.clear()
    clock.move(A_DAY)
    await check_due(service)
    lost = (await alice.get(f"{PATH}/{live['id']}")).json()["verification"]["lost_at"]
    stop_clock(datetime.fromisoformat(lost) + verification.GRACE - before)
    await check_due(service)
    assert await status(alice, live) == found


async def test_a_proof_that_returns_within_the_grace_period_changes_nothing(
    alice: Person, service: Service, dns: Nameserver
) -> None:
    live = await make_live(alice, dns, fresh())
    dns.clear()
    clock.move(A_DAY)
    await check_due(service)
    prove(dns, live)
    clock.move(verification.GRACE)
    await check_due(service)

    found = (await alice.get(f"{PATH}/{live['id']}")).json()
    assert (found["status"], found["verification"]["lost_at"]) == ("live", None)


@pytest.mark.parametrize("fault", [Fault.SERVFAIL, Fault.REFUSED])
async def test_a_failing_name_server_never_suspends(
    alice: Person, service: Service, dns: Nameserver, fault: Fault
) -> None:
    live = await make_live(alice, dns, fresh())
    dns.faults[live["verification"]["name"]] = fault
    for _ in range(10):
        clock.move(A_DAY)
        await check_due(service)

    found = (await alice.get(f"{PATH}/{live['id']}")).json()
    assert (found["status"], found["verification"]["lost_at"]) == ("live", None)


async def test_without_a_response_the_health_stays_the_same(
    alice: Person, service: Service, dns: Nameserver, conn: Conn
) -> None:
    domain = fresh()
    good_records(dns, domain)
    live = await make_live(alice, dns, domain)
    good_records(dns, domain)
    await alice.post(f"{PATH}/{live['id']}/verify")
    before = (await alice.get(f"{PATH}/{live['id']}")).json()["dns"]
    for name in (domain, f"_dmarc.{domain}", f"b1._domainkey.{domain}"):
        dns.faults[name] = Fault.SERVFAIL
    clock.move(A_DAY)
    await check_due(service)

    assert (await alice.get(f"{PATH}/{live['id']}")).json()["dns"] == before
    assert len(await published(conn, alice, "domain.health_changed")) == 1


async def test_a_change_of_health_is_published_once(
    alice: Person, service: Service, dns: Nameserver, conn: Conn
) -> None:
    domain = fresh()
    good_records(dns, domain)
    await make_live(alice, dns, domain)
    dns.mx(domain, "5 mx.stranger.example.")
    for _ in range(2):
        clock.move(A_DAY)
        await check_due(service)

    [first, second] = await published(conn, alice, "domain.health_changed")
    assert (first["dns"]["mx"], second["dns"]["mx"], second["before"]["mx"]) == ("ok", "wrong", "ok")


async def test_an_assigned_domain_needs_no_proof_but_has_health_checks(
    alice: Person, service: Service, dns: Nameserver
) -> None:
    given = await assign(service, alice, fresh())
    good_records(dns, given.domain)
    for _ in range(6):
        await check_due(service)
        clock.move(A_DAY)

    found = (await alice.get(f"{PATH}/{given.id}")).json()
    assert (found["status"], found["dns"]["mx"]["status"], found["verification"]["method"]) == (
        "live",
        "ok",
        "operator",
    )
    assert given.challenge_name not in {name for name, _, _ in dns.asked}


async def test_the_owner_of_a_suspended_domain_gets_an_email(
    alice: Person, service: Service, dns: Nameserver, database: Database
) -> None:
    live = await make_live(alice, dns, fresh())
    dns.clear()
    for _ in range(5):
        clock.move(A_DAY)
        await check_due(service)
    await work(database, settings_of(service))

    paths = mail.list_outbox(settings_of(service).data_dir)
    messages = [email.message_from_bytes(path.read_bytes(), policy=email.policy.default) for path in paths]
    own = [each for each in messages if each["To"] and alice.account.email in each["To"]]
    [message] = [each for each in own if live["domain"] in each["Subject"]]
    body = message.get_body(("plain",))
    assert body is not None
    assert live["verification"]["value"] in body.get_content()


async def test_a_sandbox_domain_is_never_checked(alice: Person, service: Service, dns: Nameserver) -> None:
    pretended = await make_live(alice.test, dns, fresh())
    for _ in range(5):
        clock.move(A_DAY)
        await check_due(service)

    assert await status(alice.test, pretended) == "live"
    assert pretended["verification"]["name"] not in {name for name, _, _ in dns.asked}


async def test_concurrent_workers_check_a_domain_once(alice: Person, service: Service, dns: Nameserver) -> None:
    added = await add(alice, fresh())
    clock.move(FIRST_CHECK)

    await asyncio.gather(*(check_due(service) for _ in range(3)))

    assert sum(name == added["verification"]["name"] for name, _, _ in dns.asked) == 1


async def test_the_domains_of_a_killed_worker_are_checked_after_the_lease(
    alice: Person, service: Service, dns: Nameserver, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = await add(alice, fresh())
    prove(dns, added)
    clock.move(FIRST_CHECK)
    with monkeypatch.context() as broken:
        broken.setattr(verification, "_check", _die)
        with pytest.raises(asyncio.CancelledError):
            await check_due(service)
    del database

    await check_due(service)
    assert await status(alice, added) == "pending"
    clock.move(verification.LEASE)
    await check_due(service)
    assert await status(alice, added) == "live"


async def _die(*_: object, **__: object) -> None:
    raise asyncio.CancelledError


async def test_a_domain_released_during_a_check_stays_released(
    alice: Person, dns: Nameserver, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = await add(alice, fresh())
    prove(dns, added)
    check = verification.check_dns

    async def meanwhile(*args: Any, **options: Any) -> DnsCheck:
        await alice.delete(f"{PATH}/{added['id']}")
        return await check(*args, **options)

    monkeypatch.setattr(verification, "check_dns", meanwhile)
    clock.move(FIRST_CHECK)
    await check_due(service)

    assert await status(alice, added) == "released"
