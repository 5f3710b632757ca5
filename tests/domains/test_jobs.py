"""What the worker does by itself, with the clock moved."""

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
from builders.domains import account_domains, schedule, verification
from builders.domains.dns import health
from builders.domains.records import DnsCheck, ProofSeen
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from builders.mail import service as mail
from tests.cast import Client, Person
from tests.catalog.make import fresh
from tests.domains.make import (
    PATH,
    add,
    assign,
    check_due,
    good_records,
    make_live,
    prove,
    settings_of,
    told,
    work,
)
from tests.domains.nameserver import Manner, Nameserver

A_DAY = timedelta(days=1, minutes=1)


async def status(person: Client, domain: dict[str, object]) -> str:
    """Where a domain stands."""
    found: str = (await person.get(f"{PATH}/{domain['id']}")).json()["status"]
    return found


async def test_a_pending_domain_is_found_without_being_asked(
    alice: Person, service: Service, dns: Nameserver
) -> None:
    added = await add(alice, fresh())
    prove(dns, added)

    await check_due(service)
    assert await status(alice, added) == "pending"
    clock.move(schedule.FIRST_CHECK)
    await check_due(service)

    assert await status(alice, added) == "live"


async def test_it_is_asked_for_less_and_less_and_no_more_after_two_weeks(alice: Person, conn: Conn) -> None:
    added = await add(alice, fresh())
    found = await account_domains.get(conn, account_id=alice.account.id, domain_id=UUID(added["id"]))
    at: datetime | None = found.added_at + schedule.FIRST_CHECK
    times = []
    while at is not None:
        times.append(at - found.added_at)
        at = schedule.next_check(found, ProofSeen.MISSING, now=at)
        found = replace(found, checks=found.checks + 1)

    waits = [later - earlier for earlier, later in pairwise(times)]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (schedule.FIRST_CHECK, schedule.MAX_PENDING_DELAY)
    assert timedelta(days=13) < times[-1] < schedule.PENDING_PERIOD


async def test_later_it_is_verified_by_hand(alice: Person, dns: Nameserver) -> None:
    added = await add(alice, fresh())
    clock.move(timedelta(days=40))
    prove(dns, added)

    assert (await alice.post(f"{PATH}/{added['id']}/verify")).json()["status"] == "live"


async def test_a_proof_that_is_gone_for_days_suspends_and_one_that_is_back_revives(
    alice: Person, service: Service, dns: Nameserver, conn: Conn
) -> None:
    live = await make_live(alice, dns, fresh())
    dns.clear()
    clock.move(A_DAY)
    await check_due(service)
    lost = (await alice.get(f"{PATH}/{live['id']}")).json()
    assert (lost["status"], lost["verification"]["lost_at"] is not None) == ("live", True)
    assert lost["next_action"].startswith("Set a TXT record")

    clock.move(schedule.GRACE)
    await check_due(service)
    gone = (await alice.get(f"{PATH}/{live['id']}")).json()
    assert (gone["status"], gone["claimable"], gone["version"]) == ("suspended", False, live["version"] + 1)
    [event] = await told(conn, alice, "domain.suspended")
    assert event["reason"] == "proof_gone"

    prove(dns, live)
    clock.move(schedule.WHILE_LOST)
    await check_due(service)
    back = (await alice.get(f"{PATH}/{live['id']}")).json()
    assert (back["status"], back["suspended_at"], back["verification"]["lost_at"]) == ("live", None, None)
    assert len(await told(conn, alice, "domain.verified")) == 2


async def test_a_proof_that_is_back_in_time_is_forgiven(alice: Person, service: Service, dns: Nameserver) -> None:
    live = await make_live(alice, dns, fresh())
    dns.clear()
    clock.move(A_DAY)
    await check_due(service)
    prove(dns, live)
    clock.move(schedule.GRACE)
    await check_due(service)

    found = (await alice.get(f"{PATH}/{live['id']}")).json()
    assert (found["status"], found["verification"]["lost_at"]) == ("live", None)


@pytest.mark.parametrize("manner", [Manner.SERVFAIL, Manner.REFUSED])
async def test_no_answer_for_weeks_suspends_nobody(
    alice: Person, service: Service, dns: Nameserver, manner: Manner
) -> None:
    live = await make_live(alice, dns, fresh())
    dns.manners[live["verification"]["name"]] = manner
    for _ in range(10):
        clock.move(A_DAY)
        await check_due(service)

    found = (await alice.get(f"{PATH}/{live['id']}")).json()
    assert (found["status"], found["verification"]["lost_at"]) == ("live", None)


async def test_what_was_known_is_kept_when_dns_does_not_answer(
    alice: Person, service: Service, dns: Nameserver, conn: Conn
) -> None:
    domain = fresh()
    good_records(dns, domain)
    live = await make_live(alice, dns, domain)
    good_records(dns, domain)
    await alice.post(f"{PATH}/{live['id']}/verify")
    before = (await alice.get(f"{PATH}/{live['id']}")).json()["dns"]
    for name in (domain, f"_dmarc.{domain}", f"b1._domainkey.{domain}"):
        dns.manners[name] = Manner.SERVFAIL
    clock.move(A_DAY)
    await check_due(service)

    assert (await alice.get(f"{PATH}/{live['id']}")).json()["dns"] == before
    assert len(await told(conn, alice, "domain.health_changed")) == 1


async def test_a_change_of_health_is_told_once(
    alice: Person, service: Service, dns: Nameserver, conn: Conn
) -> None:
    domain = fresh()
    good_records(dns, domain)
    await make_live(alice, dns, domain)
    dns.mx(domain, "5 mx.stranger.example.")
    for _ in range(2):
        clock.move(A_DAY)
        await check_due(service)

    [first, second] = await told(conn, alice, "domain.health_changed")
    assert (first["dns"]["mx"], second["dns"]["mx"], second["before"]["mx"]) == ("ok", "wrong", "ok")


async def test_one_that_the_operator_assigned_needs_no_proof_but_is_looked_at(
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


async def test_the_owner_is_written_to(
    alice: Person, service: Service, dns: Nameserver, database: Database
) -> None:
    live = await make_live(alice, dns, fresh())
    dns.clear()
    for _ in range(5):
        clock.move(A_DAY)
        await check_due(service)
    await work(database, settings_of(service))

    paths = mail.list_outbox(settings_of(service).data_dir)
    letters = [email.message_from_bytes(path.read_bytes(), policy=email.policy.default) for path in paths]
    own = [each for each in letters if each["To"] and alice.account.email in each["To"]]
    [letter] = [each for each in own if live["domain"] in each["Subject"]]
    body = letter.get_body(("plain",))
    assert body is not None
    assert live["verification"]["value"] in body.get_content()


async def test_a_sandbox_is_never_looked_at(alice: Person, service: Service, dns: Nameserver) -> None:
    pretended = await make_live(alice.test, dns, fresh())
    for _ in range(5):
        clock.move(A_DAY)
        await check_due(service)

    assert await status(alice.test, pretended) == "live"
    assert pretended["verification"]["name"] not in {name for name, _, _ in dns.asked}


async def test_two_workers_ask_once(alice: Person, service: Service, dns: Nameserver) -> None:
    added = await add(alice, fresh())
    clock.move(schedule.FIRST_CHECK)

    await asyncio.gather(*(check_due(service) for _ in range(3)))

    assert sum(name == added["verification"]["name"] for name, _, _ in dns.asked) == 1


async def test_what_a_killed_worker_held_is_asked_later(
    alice: Person, service: Service, dns: Nameserver, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = await add(alice, fresh())
    prove(dns, added)
    clock.move(schedule.FIRST_CHECK)
    with monkeypatch.context() as broken:
        broken.setattr(verification, "_check", _die)
        with pytest.raises(asyncio.CancelledError):
            await check_due(service)
    del database

    await check_due(service)
    assert await status(alice, added) == "pending"
    clock.move(schedule.LEASE)
    await check_due(service)
    assert await status(alice, added) == "live"


async def _die(*_: object, **__: object) -> None:
    raise asyncio.CancelledError


async def test_one_that_was_released_meanwhile_stays_so(
    alice: Person, dns: Nameserver, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = await add(alice, fresh())
    prove(dns, added)
    check = health.check

    async def meanwhile(*args: Any, **options: Any) -> DnsCheck:
        await alice.delete(f"{PATH}/{added['id']}")
        return await check(*args, **options)

    monkeypatch.setattr(health, "check", meanwhile)
    clock.move(schedule.FIRST_CHECK)
    await check_due(service)

    assert await status(alice, added) == "released"
