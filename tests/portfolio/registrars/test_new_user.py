"""A new user with the registrars of the demo sees each difference, and no other."""

from collections.abc import Collection
from datetime import date, timedelta
from typing import Any

import pytest

from builders.demo.portfolio import add_portfolio
from builders.demo.registrars.bills import DIFFERENCES, list_held
from builders.demo.registrars.fake import FakeServer
from builders.demo.registrars.fakes import FAKES, make_fakes
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.portfolio.registrars.store.rules import RULES
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS
from tests.portfolio.registrars.make import REGISTRARS, connect, database_of
from tests.portfolio.registrars.sync import ok, read, start

CONNECTED = ("gandi", "godaddy", "namecom")
SYNCED = {"expiry_mismatch": "expires_at", "auto_renew_mismatch": "auto_renew"}  # by category, what a sync changes
Json = dict[str, Any]


@pytest.fixture
async def carol(alice: Person, fakes: FakeServer) -> Person:
    """A person whose sandbox has the demo portfolio, connected to three registrars."""
    async with database_of(alice).transaction() as conn:
        await add_portfolio(conn, account_id=alice.account.sandbox_id, has_costs=False)
    for fake in make_fakes(today(), kinds={name: FAKES[name] for name in CONNECTED}):
        await connect(alice, fake, fakes, is_sandbox=True)
    return alice


def list_findings(day: date, *, providers: Collection[str]) -> set[tuple[str, str]]:
    """Category and domain of each reconciliation finding with connections to these registrars."""
    found = {(each.category, each.held_as or each.domain) for each in DIFFERENCES if each.provider in providers}
    categories = {"expired": "expired_at_registrar", "redemption": "redemption"}
    for provider, held in list_held(day):
        if provider in providers and held.state in categories:
            found.add((categories[held.state], held.domain))
    return found


def today() -> date:
    return clock.now().date()


async def run(person: Person, worker: Settings) -> Json:
    """Sync and return the run when it has ended."""
    begun = await start(person.test)
    await queue.run_pending(database_of(person), worker)
    return await read(person.test, begun)


async def reconcile(person: Person, **query: Any) -> set[tuple[str, str]]:
    report = ok(await person.test.get(f"{REGISTRARS}/reconcile", params={"limit": 500, **query}))
    assert report["next_cursor"] is None
    assert report["writes"] is False
    return {(each["category"], each["domain"]) for each in report["findings"]}


async def test_sees_each_difference_and_no_other(carol: Person, worker: Settings) -> None:
    expected = list_findings(today(), providers=CONNECTED)
    adjusted = {finding for finding in expected if finding[0] in SYNCED}
    assert {category for category, _ in expected} == {
        category for category, rule in RULES.items() if rule.is_of_domains
    }

    synced = await run(carol, worker)

    assert synced["state"] == "completed"
    known = {(each["domain"], each["field"]): each["from"] for each in synced["changes"]}
    assert {(domain, SYNCED[category]) for category, domain in adjusted} <= known.keys()
    assert await reconcile(carol) == expected - adjusted

    for category, domain in adjusted:
        field = SYNCED[category]
        ok(await carol.test.patch(f"{DOMAINS}/{domain}", json={field: known[domain, field]}))
    assert await reconcile(carol) == expected
    for category in {category for category, _ in expected}:
        assert await reconcile(carol, category=category) == {each for each in expected if each[0] == category}

    with clock.moved(timedelta(days=3)):
        stale = ok(await carol.test.get(f"{REGISTRARS}/reconcile"))["findings"]
    assert {(each["category"], each["provider"]) for each in stale} == {
        ("stale_snapshot", provider) for provider in CONNECTED
    }
