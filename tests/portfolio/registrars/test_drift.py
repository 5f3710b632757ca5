"""portfolio.reconcile.drift_detected: urgent differences that are new after a sync."""

import asyncio
import json
from typing import Any

from builders.demo.registrars.apis.godaddy import FakeGoDaddy
from builders.demo.registrars.fake import FakeAccount, FakeDomain, FakeServer
from builders.kit.db.connections import Database
from builders.kit.events import dispatcher, outbox
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.portfolio.registrars import inventory_sync, jobs, reconcile
from builders.portfolio.runs.records import WorkKind
from tests.cast import Person
from tests.portfolio.parking.make import database_of
from tests.portfolio.registrars import make
from tests.portfolio.registrars.reconcile_make import ahead, connect, hold, named, own, report
from tests.portfolio.registrars.sync import do_part

FIND_EVENTS = """
    SELECT data FROM kit_outbox
    WHERE account_id = %(account_id)s AND name = 'portfolio.reconcile.drift_detected' ORDER BY id
"""
FIND_LANE = "SELECT queue_name FROM procrastinate_jobs WHERE task_name = 'portfolio.publish_drift'"
MOVE_ALL = "UPDATE portfolio_registrars_snapshots SET taken_at = %(at)s, last_complete_at = %(at)s"


async def drifts(alice: Person) -> list[dict[str, Any]]:
    async with database_of(alice).connection() as conn:
        rows = await (await conn.execute(FIND_EVENTS, {"account_id": alice.account.id})).fetchall()
    return [json.loads(data) for (data,) in rows]


async def detect(alice: Person) -> None:
    async with database_of(alice).transaction() as conn:
        await reconcile.detect_drift(conn, account_id=alice.account.id)


async def test_only_what_is_new_is_published(alice: Person) -> None:
    porkbun = await connect(alice)
    await detect(alice)
    found = await own(alice, "leaving.com", "deleted.com", "unlocked.com", "earlier.com", expires_at=ahead(100))
    await hold(alice, porkbun, "unlocked.com", locked=False, expires_at=ahead(100))
    await hold(alice, porkbun, "leaving.com", status="transferring_out", expires_at=ahead(100))
    await hold(alice, porkbun, "earlier.com", expires_at=ahead(90))
    await hold(alice, porkbun, "deleted.com", status="active", expires_at=ahead(100))
    await asyncio.gather(*(detect(alice) for _ in range(3)))
    [event] = await drifts(alice)
    assert (event["severity"], event["new"], event["total"]) == ("critical", 2, 2)
    assert event["by_category"] == {"pending_transfer_out_unexpected": 1, "expiry_mismatch": 1}
    leaving = event["findings"][0]
    assert leaving == {
        "id": next(each["id"] for each in (await report(alice))["findings"]),
        "category": "pending_transfer_out_unexpected",
        "severity": "critical",
        "domain": "leaving.com",
        "domain_id": str(found["leaving.com"]),
        "provider": "porkbun",
    }
    await _set_status(alice, "leaving.com", "active")
    await _set_status(alice, "deleted.com", "redemption")
    await detect(alice)
    event = (await drifts(alice))[-1]
    assert [each["domain"] for each in event["findings"]] == ["deleted.com"]
    assert (event["new"], event["total"]) == (1, 2)
    await _set_status(alice, "leaving.com", "transferring_out")  # another transfer than the first one
    await detect(alice)
    assert [each["domain"] for each in (await drifts(alice))[-1]["findings"]] == ["leaving.com"]


async def _set_status(alice: Person, domain: str, status: str) -> None:
    async with database_of(alice).transaction() as conn:
        await conn.execute(
            "UPDATE portfolio_registrars_holdings SET status = %(status)s WHERE domain = %(domain)s",
            {"status": status, "domain": domain},
        )


async def test_findings_that_cannot_be_compared_for_a_time_are_not_published_again(alice: Person) -> None:
    porkbun = await connect(alice)
    await own(alice, "deleted.com")
    await hold(alice, porkbun, "deleted.com", status="redemption")
    await detect(alice)
    for listed_at in (ahead(-5), ahead(-0.01)):
        async with database_of(alice).transaction() as conn:
            await conn.execute(MOVE_ALL, {"at": listed_at})
        await detect(alice)
    assert len(await drifts(alice)) == 1


async def test_an_event_names_the_first_domains_of_many(alice: Person) -> None:
    names = [f"deleted-{number:02}.com" for number in range(25)]
    porkbun = await connect(alice)
    await own(alice, *names)
    await hold(alice, porkbun, *names, status="redemption")
    await detect(alice)
    [event] = await drifts(alice)
    assert (event["new"], event["by_category"]) == (25, {"redemption": 25})
    assert [each["domain"] for each in event["findings"]] == names[:20]


async def test_a_sync_shows_differences_and_reports_the_urgent_ones(
    alice: Person, fakes: FakeServer, outbound: Outbound, settings: Settings, database: Database
) -> None:
    held: dict[str, Any] = {"expires_at": ahead(300), "created_at": ahead(-300)}
    domains = [
        FakeDomain(domain="clean.com", **held),
        FakeDomain(domain="deleted.com", state="redemption", **held),
        FakeDomain(domain="new.com", **held),
    ]
    connection = await make.connect(alice, FakeGoDaddy(FakeAccount(domains=domains)), fakes)
    await own(alice, "clean.com", "deleted.com", "missing.com", registrar="GoDaddy", renewal_price=None)
    async with database.transaction() as conn:
        await inventory_sync.start_sync(
            conn, account_id=alice.account.id, connections=[connection], created_by=alice.account.id
        )
    await do_part(alice, WorkKind.SYNC, connection.id, outbound)
    async with database.transaction() as conn:
        await dispatcher.dispatch(conn)
    await queue.run_pending(database, settings)
    [event] = await drifts(alice)
    assert [(each["category"], each["domain"]) for each in event["findings"]] == [
        ("redemption", "deleted.com"),
        ("missing_at_registrar", "missing.com"),
    ]
    assert named(await report(alice)) == [
        ("critical", "redemption", "deleted.com"),
        ("high", "missing_at_registrar", "missing.com"),
        ("warn", "missing_in_portfolio", "new.com"),
    ]
    assert "portfolio.reconcile.drift_detected" in {each.name for each in outbox.list_events()}


async def test_the_comparisons_of_an_account_are_one_long_job(alice: Person, database: Database) -> None:
    synced = PublishedEvent(
        id=ids.new(),
        name="portfolio.sync.completed",
        version=1,
        account_id=alice.account.id,
        created_at=clock.now(),
        data="{}",
    )
    async with database.transaction() as conn:
        await jobs.detect_drift(conn, synced)
        await jobs.detect_drift(conn, synced)
        assert await (await conn.execute(FIND_LANE)).fetchall() == [(queue.LONG,)]
