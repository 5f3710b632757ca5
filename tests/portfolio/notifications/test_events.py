"""Notices about events of registrars, transfers and charges: who gets them, when, and how the email shows them."""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Database
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.mail import service as mail
from builders.portfolio.notifications import notices as notification_notices
from tests.cast import Person
from tests.portfolio.notifications.make import PREFERENCES, deliver, emails, notices, prefer
from tests.portfolio.team.make import join, of

CHARGES = {"providers": ["namesilo"], "charges": 2, "domains": ["a.com", "b.com"]}


def outbox(settings: Settings, person: Person) -> list[str]:
    """The emails to a person."""
    files = [each.read_text() for each in mail.list_outbox(settings.data_dir) if "renewal_notice" in each.name]
    return [each for each in files if person.account.email in each]


async def test_an_unexpected_transfer_does_not_wait_and_owners_hear_of_an_auth_code(
    alice: Person, charlie: Person, database: Database, settings: Settings
) -> None:
    owner = alice.account.id
    await join(alice, charlie, "admin")
    await charlie.patch(PREFERENCES, json={"enabled": True, "muted_domains": ["b.com"]}, headers=of(alice))
    quiet = {"enabled": True, "start": "00:00", "end": "23:59"}
    await prefer(alice, quiet_hours=quiet, digest={"enabled": True, "include": ["charges", "parking"]})
    await happen_in(
        database,
        owner,
        ("transfer.started", {"domain": "b.com", "direction": "out", "expected": False}),
        ("transfer.started", {"domain": "a.com", "direction": "out", "expected": True}),
        ("auth_code.requested", {"domain": "a.com"}),
        ("billing.charge_unmatched", CHARGES),
        ("sync.failed", {"provider": "porkbun", "message": "It does not respond."}),
        ("sync.completed", {"run_id": None}),
    )
    mine, theirs = await notices(alice), await notices(charlie, headers=of(alice))
    assert [(each["event"][10:], each["severity"], each["held_by"]) for each in reversed(mine)] == [
        ("transfer.started", "critical", None),
        ("transfer.started", "warn", "quiet_hours"),
        ("auth_code.requested", "high", "quiet_hours"),
        ("billing.charge_unmatched", "info", "digest"),
        ("sync.failed", "warn", "quiet_hours"),
    ]
    assert sorted(each["event"][10:] for each in theirs) == ["sync.failed", *["transfer.started"] * 2]
    assert mine[0]["title"] == "porkbun could not be synced. It does not respond."
    assert "`events.portfolio.sync.failed.enabled` false" in mine[0]["why"]
    assert (await alice.get(PREFERENCES)).json()["events"]["portfolio.parking.revenue_recorded"]["enabled"] is True

    await deliver(database, settings, owner)
    assert len(await emails(database, alice)) == 1  # of the transfer alone
    clock.move(timedelta(days=2))
    await prefer(alice, quiet_hours=None)
    await deliver(database, settings, owner)
    await queue.run_pending(database, settings)
    (digest,) = [each for each in outbox(settings, alice) if "Charges:" in each]
    assert digest.index("Transfers:") < digest.index("Registrars:") < digest.index("Charges:")
    assert "[portfolio.sync.failed]" in digest


async def test_a_mute_withholds_no_critical_event(alice: Person, database: Database) -> None:
    await prefer(alice, muted_domains=["b.com"])
    moves = [("transfer.started", False), ("transfer.started", True), ("transfer.failed", True)]
    happened = [(name, {"domain": "b.com", "direction": "out", "expected": expected}) for name, expected in moves]
    await happen_in(database, alice.account.id, *happened)
    assert [each["severity"] for each in await notices(alice)] == ["critical"]


async def happen_in(database: Database, account_id: UUID, *happened: tuple[str, dict[str, Any]]) -> None:
    """Make the notices about events as their packages publish them."""
    events = [
        PublishedEvent(
            id=ids.new(),
            name=f"portfolio.{name}",
            version=1,
            account_id=account_id,
            created_at=clock.now(),
            data=json.dumps(data),
        )
        for name, data in happened
    ]
    async with database.transaction() as conn:
        await notification_notices.notify_of_events(conn, events=events)
