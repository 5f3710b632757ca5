"""A portfolio has 2,000,000 entries and days of parking revenue at most: nothing above it is dropped silently."""

import pytest

from builders.identity.records import Preset
from builders.kit.db.connections import Database
from builders.portfolio.ledger import entries
from builders.portfolio.ledger.capacities import Capacity
from builders.portfolio.parking import revenue
from tests.cast import Person
from tests.conftest import MakePerson
from tests.portfolio.billing.make import bill, charges, line
from tests.portfolio.finance.make import DOMAINS
from tests.portfolio.imports.make import load
from tests.portfolio.ledger.make import add_rates
from tests.portfolio.parking.make import REVENUE, day, record
from tests.portfolio.team.make import code

ENTRY = {"kind": "tax", "amount": "1.00", "currency": "USD"}
FULL = (409, "entry_limit")


@pytest.fixture
async def alice(people: MakePerson, database: Database) -> Person:
    """Return Alice, whose domains are harbour.com and pier.com."""
    await add_rates(database)
    person = await people("alice", Preset.DOMAINER_FULL)
    for name in ("harbour.com", "pier.com"):
        assert (await person.post(DOMAINS, json={"domain": name})).status_code == 201
    return person


def hold(monkeypatch: pytest.MonkeyPatch, capacity: Capacity, most: int) -> None:
    """Lower a maximum."""
    monkeypatch.setattr(capacity, "most", most)
    monkeypatch.setattr(capacity, "_known", {})


@pytest.mark.maximum("portfolio_entries")
async def test_a_request_above_the_maximum_of_entries_is_refused_whole(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(monkeypatch, entries.CAPACITY, 1)
    added = {**ENTRY, "occurred_on": "2026-01-05"}
    harbour, pier = (f"{DOMAINS}/{name}.com/finance" for name in ("harbour", "pier"))
    assert code(await alice.patch(harbour, json={"entries_add": [added, added]})) == FULL
    hold(monkeypatch, entries.CAPACITY, 1)
    assert (await alice.patch(harbour, json={"entries_add": [added]})).status_code == 200
    assert code(await alice.patch(pier, json={"entries_add": [added], "notes": "Sold."})) == FULL
    assert (await alice.get(f"{DOMAINS}/pier.com")).json()["notes"] is None
    bought = {"domain": "quay.com", "purchase": {"amount": "9.00", "currency": "USD"}}
    assert code(await alice.post(DOMAINS, json=bought)) == FULL
    assert (await alice.get(f"{DOMAINS}/quay.com")).status_code == 404


async def test_an_import_and_a_bill_show_what_exceeds_it(alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    hold(monkeypatch, entries.CAPACITY, 1)
    rows = [{"domain": f"{name}.com", "entries": [{**ENTRY, "on": "2025-01-01"}]} for name in ("harbour", "pier")]
    warned = [[each["code"] for each in row["warnings"]] for row in (await load(alice, rows))["results"]]
    assert warned == [[], ["entry_limit"]]
    await bill(alice, line("8.00", "pier.com"))
    [shown] = (await charges(alice))["items"]
    assert (shown["state"], shown["reason"]) == ("unmatched", "entry_limit")


@pytest.mark.maximum("parking_days")
async def test_a_request_above_the_maximum_of_parking_days_is_refused_whole(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"provider": "sedo", "amount": "0.00", "currency": "USD", "domain": "harbour.com", "visits": 5}
    hold(monkeypatch, revenue.CAPACITY, 2)
    days = {**row, "period": {"from": day(9), "to": day(7)}}
    refused = await alice.post(REVENUE, json={"rows": [days]})
    assert code(refused) == (409, "parking_limit")
    assert refused.json()["next_action"]
    hold(monkeypatch, revenue.CAPACITY, 2)
    for _ in range(2):
        await record(alice, {"rows": [{**row, "period": {"from": day(9), "to": day(8)}}]})
    assert code(await alice.post(REVENUE, json={"rows": [{**row, "date": day(7)}]})) == (409, "parking_limit")
    await record(alice, {"rows": [{**row, "date": day(8), "visits": 6}]})  # a correction
