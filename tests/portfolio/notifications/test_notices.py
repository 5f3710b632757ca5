"""Notices: made once, listed, marked as read, and sent by email when they are due."""

import asyncio
import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.mail.records import Status
from tests.cast import Person
from tests.portfolio.notifications.make import (
    NOTICES,
    PREFERENCES,
    deliver,
    domain,
    emails,
    notices,
    notify,
    prefer,
    read_email,
)
from tests.portfolio.team.make import TEAM, code, join, of

DISPATCH_AGAIN = """
    INSERT INTO kit_outbox_pending (id, account_id, created_at)
    SELECT id, account_id, created_at FROM kit_outbox WHERE account_id = %s
"""


async def published(conn: Conn, account_id: UUID) -> list[tuple[str, dict[str, object]]]:
    found = await conn.execute(
        "SELECT name, data FROM kit_outbox WHERE account_id = %s AND name LIKE 'portfolio.renewal.%%' ORDER BY id",
        [account_id],
    )
    return [(name, json.loads(data)) for name, data in await found.fetchall()]


async def test_a_threshold_is_one_notice_one_event_and_one_line_of_one_email(
    alice: Person, database: Database, settings: Settings, conn: Conn
) -> None:
    owner = alice.account.id
    domains = [domain("a.example", 6), domain("b.example", -1, auto_renew=True), domain("c.example", 200)]
    made = await asyncio.gather(*(notify(database, owner, domains) for _ in range(4)))
    assert sorted(made) == [0, 0, 0, 2]
    sent = await asyncio.gather(*(deliver(database, settings, owner) for _ in range(3)))
    assert sorted(sent) == [0, 0, 2]

    found = await notices(alice)
    assert [(each["event"], each["domain"], each["threshold_days"], each["severity"]) for each in found] == [
        ("portfolio.renewal.upcoming", "a.example", 7, "warn"),
        ("portfolio.renewal.overdue", "b.example", -1, "critical"),
    ]
    assert [each["title"] for each in found] == ["a.example expires in 6 days.", "b.example expired 1 day ago."]
    assert (found[0]["amount"], found[0]["redacted"]) == ({"amount": "12.00", "currency": "USD"}, [])
    assert {name: data["domain"] for name, data in await published(conn, owner)} == {
        "portfolio.renewal.upcoming": "a.example",
        "portfolio.renewal.overdue": "b.example",
    }
    await queue.run_pending(database, settings)
    assert [each.status for each in await emails(database, alice)] == [Status.SENT]
    text = read_email(settings, alice)
    assert "a.example" in text
    assert "List-Unsubscribe-Post" in text
    assert "/v1/portfolio/notifications/preferences" in text


@pytest.mark.parametrize("operation", ["read", "acknowledge"])
@pytest.mark.parametrize(("body", "loc"), [({"ids": ["x"]}, ["ids", 0]), ({"until": "x"}, ["until"])])
async def test_a_malformed_identifier_marks_nothing(
    alice: Person, operation: str, body: dict[str, Any], loc: list[str | int]
) -> None:
    answer = await alice.post(f"{NOTICES}/{operation}", json=body)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", *loc])


async def test_a_list_has_pages_and_is_marked_as_read(alice: Person, bob: Person, database: Database) -> None:
    await notify(database, alice.account.id, [domain(f"d{n}.example", n) for n in range(1, 6)])
    first = (await alice.get(NOTICES, params={"limit": 2})).json()
    rest = (await alice.get(NOTICES, params={"limit": 9, "cursor": first["next_cursor"]})).json()
    assert [each["domain"] for each in [*first["items"], *rest["items"]]] == [
        f"d{n}.example" for n in range(5, 0, -1)
    ]
    assert rest["next_cursor"] is None

    read = f"{NOTICES}/read"
    newest, second = (each["id"] for each in first["items"])
    assert (await bob.post(read, json={"until": newest, "ids": [newest]})).json()["marked"] == 0
    assert (await alice.post(read, json={"ids": [newest, str(ids.new())]})).json()["marked"] == 1
    assert len(await notices(alice, params={"unread": True})) == 4
    assert (await alice.post(read, json={"until": second})).json()["marked"] == 4
    assert (await alice.post(read, json={"until": newest})).json() == {"marked": 0, "warnings": []}
    assert await notices(alice, params={"unread": True}) == []
    assert {each["read_at"] is not None for each in await notices(alice)} == {True}
    assert await notices(bob) == []


async def test_an_email_waits_for_the_end_of_quiet_hours_and_a_digest_is_one_email(
    alice: Person, bob: Person, database: Database, settings: Settings
) -> None:
    noon = clock.now().replace(hour=12, minute=10)  # or a day would end during the test
    clock.move(noon + timedelta(days=noon < clock.now()) - clock.now())
    now = clock.now()
    quiet = {
        "enabled": True,
        "start": f"{now - timedelta(hours=1):%H:%M}",
        "end": f"{now + timedelta(hours=1):%H:%M}",
    }
    await prefer(alice, quiet_hours=quiet)
    await prefer(bob, digest={"enabled": True, "hour": (now + timedelta(hours=3)).hour})
    for person in (alice, bob):
        await notify(database, person.account.id, [domain("a.example", 30), domain("late.example", 0)])
        assert await deliver(database, settings, person.account.id) == 1  # late.example is critical
        held = {each["domain"]: each["held_by"] for each in await notices(person)}
        assert held == {"a.example": "quiet_hours" if person is alice else "digest", "late.example": None}
    clock.move(timedelta(hours=1, minutes=2))
    assert await deliver(database, settings, alice.account.id) == 1
    assert await deliver(database, settings, bob.account.id) == 0
    await notify(database, bob.account.id, [domain("b.example", 14)])
    clock.move(timedelta(hours=2))
    assert await deliver(database, settings, bob.account.id) == 2
    assert (len(await emails(database, alice)), len(await emails(database, bob))) == (2, 2)


async def test_members_mutes_and_roles(
    alice: Person, charlie: Person, database: Database, settings: Settings, conn: Conn
) -> None:
    owner = alice.account.id
    await join(alice, charlie, "viewer")
    await prefer(
        alice, muted_tags=["Parked"], channels={"email": {"enabled": False}, "webhook": {"enabled": False}}
    )
    domains = [domain("a.example", 5), domain("b.example", 5, tags=["parked"])]
    assert await notify(database, owner, domains) == 1  # notices are off for Charlie
    await charlie.patch(PREFERENCES, json={"enabled": True}, headers=of(alice))
    assert await notify(database, owner, domains) == 2
    assert await deliver(database, settings, owner) == 2
    assert (await published(conn, owner), await emails(database, alice)) == ([], [])
    assert len(await emails(database, charlie)) == 1
    (mine,), theirs = await notices(alice), await notices(charlie, headers=of(alice))
    assert mine["amount"] is not None
    assert {(each["amount"], tuple(each["redacted"])) for each in theirs} == {(None, ("finance",))}
    assert await notices(charlie) == []  # of their own portfolio

    await prefer(alice, muted_tags=None)
    assert await notify(database, owner, domains) == 1
    clock.move(timedelta(seconds=1))
    await notify(database, owner, [domain("late.example", -1)])
    await alice.delete(f"{TEAM}/members/{charlie.account.id}")
    assert await deliver(database, settings, owner) == 1
    assert len(await emails(database, charlie)) == 1  # they left before it was sent
    async with database.transaction() as transaction:
        while await dispatcher.dispatch(transaction):
            pass
    await queue.run_pending(database, settings)
    assert code(await charlie.get(NOTICES, headers=of(alice))) == (404, "portfolio_not_found")
    await join(alice, charlie, "manager")
    assert await notices(charlie, headers=of(alice)) == []
    assert (await charlie.get(PREFERENCES, headers=of(alice))).json()["enabled"] is False


async def test_other_events_become_notices_for_who_wants_them(
    alice: Person, charlie: Person, database: Database, settings: Settings
) -> None:
    await prefer(alice, events={"portfolio.team.role_changed": {"enabled": True, "channels": ["in_app"]}})
    await join(alice, charlie)
    await alice.patch(f"{TEAM}/members/{charlie.account.id}", json={"role": "manager"})
    async with database.transaction() as conn:
        for _ in range(2):
            while await dispatcher.dispatch(conn):
                pass
            await conn.execute(DISPATCH_AGAIN, [alice.account.id])
    await queue.run_pending(database, settings)

    assert {each["event"]: each["title"] for each in await notices(alice)} == {
        "portfolio.team.joined": "Someone accepted an invitation to the portfolio's team.",
        "portfolio.team.role_changed": "The role of a member of the portfolio's team was changed.",
    }
    assert len(await notices(alice)) == 2  # although the events were dispatched twice
    assert await deliver(database, settings, alice.account.id) == 1
    assert len(await emails(database, alice)) == 1


async def test_the_sandbox_has_notices_of_its_own_and_sends_no_email(
    alice: Person, database: Database, settings: Settings
) -> None:
    sandbox = alice.account.sandbox_id
    await notify(database, sandbox, [domain("a.example", 5)])
    assert len(await notices(alice.test)) == 1
    assert await notices(alice) == []
    assert await deliver(database, settings, sandbox) == 0
    await prefer(alice.test, channels={"email": {"enabled": True}})
    await notify(database, sandbox, [domain("b.example", 5)])
    assert await deliver(database, settings, sandbox) == 1
    assert len(await emails(database, alice)) == 1
