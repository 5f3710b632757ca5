"""A domain has 5,000 entries at most: a person is refused what exceeds them, and a job keeps it and shows it."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest

from builders.identity.records import Preset
from builders.kit.db.connections import Conn, Database
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.records import MAX_ENTRIES
from builders.portfolio.ledger.store.entries import count_entries
from tests.cast import Person
from tests.conftest import MakePerson
from tests.portfolio.billing.make import CHARGES, bill, charges, line
from tests.portfolio.finance.make import DOMAINS
from tests.portfolio.imports.make import load
from tests.portfolio.ledger.make import add_rates, entry
from tests.portfolio.parking.make import days_of, outcomes, record
from tests.portfolio.reads import add_entries
from tests.portfolio.team.make import code

FINANCE = f"{DOMAINS}/harbour.com/finance"
ADDED = {"kind": "tax", "amount": "1.00", "occurred_on": "2026-01-05"}


@pytest.fixture
async def alice(people: MakePerson, database: Database) -> Person:
    """Return Alice, whose domains are harbour.com and pier.com."""
    await add_rates(database)
    person = await people("alice", Preset.DOMAINER_FULL)
    for name in ("harbour.com", "pier.com"):
        assert (await person.post(DOMAINS, json={"domain": name})).status_code == 201
    return person


async def fill(alice: Person, conn: Conn, *, free: int = 0) -> None:
    """Add entries to harbour.com, except for `free` of them."""
    await add_entries(conn, account_id=alice.account.id, domain="harbour.com", count=MAX_ENTRIES - free)


async def count(alice: Person, domain: str = "harbour.com") -> int:
    answer = await alice.get(f"{DOMAINS}/{domain}/finance")
    assert answer.status_code == 200, answer.text
    found: int = answer.json()["entries_count"]
    return found


async def add(alice: Person, *entries: dict[str, Any]) -> Any:
    return await alice.patch(FINANCE, json={"entries_add": entries})


@pytest.mark.maximum("domain_entries")
async def test_one_of_two_requests_at_once_gets_the_last_place(alice: Person, conn: Conn) -> None:
    await fill(alice, conn, free=1)
    answers = await asyncio.gather(add(alice, ADDED), add(alice, ADDED))
    assert sorted(each.status_code for each in answers) == [200, 409]
    [refused] = [each.json() for each in answers if each.status_code == 409]
    assert refused["code"] == "entry_limit"
    assert "next_action" in refused
    assert await count(alice) == MAX_ENTRIES


async def test_a_change_records_all_of_its_entries_or_none(alice: Person, conn: Conn) -> None:
    await fill(alice, conn, free=2)
    days = [f"2026-01-0{number}" for number in (5, 6, 7)]
    installments = [{"amount": "5.00", "on": day, "received_on": day} for day in days]
    sale = {"gross": "15.00", "sold_on": "2026-01-05", "installments": installments}
    assert code(await alice.patch(FINANCE, json={"sale": sale, "notes": "Sold."})) == (409, "entry_limit")
    domain = (await alice.get(f"{DOMAINS}/harbour.com")).json()
    assert (domain["status"], domain["notes"]) == ("owned", None)


async def test_void_entries_count(alice: Person, conn: Conn) -> None:
    await fill(alice, conn, free=1)
    added = (await add(alice, ADDED)).json()["entries"]
    newest = next(each["id"] for each in added if each["source"] == "manual")
    assert (await alice.patch(FINANCE, json={"entries_void": [newest]})).status_code == 200
    assert code(await add(alice, ADDED)) == (409, "entry_limit")


async def test_a_refused_renewal_does_not_move_the_expiry(alice: Person, conn: Conn) -> None:
    await fill(alice, conn)
    body = {
        "amount": "9.00",
        "currency": "USD",
        "renewed_on": "2026-01-05",
        "new_expires_at": "2028-01-05T00:00:00Z",
    }
    assert code(await alice.post(f"{FINANCE}/renewals", json=body)) == (409, "entry_limit")
    assert (await alice.get(f"{DOMAINS}/harbour.com")).json()["expires_at"] is None


async def test_a_recorded_reference_needs_no_place(alice: Person, conn: Conn, database: Database) -> None:
    domain_id = await id_of(alice)
    first, second = (entry(domain_id, "1.00", reference=name) for name in ("r1", "r2"))
    await fill(alice, conn, free=1)
    assert await post(alice, database, first) == [True]
    assert await post(alice, database, second, first, second, first) == [None, False, None, False]


async def id_of(alice: Person, domain: str = "harbour.com") -> UUID:
    return UUID((await alice.get(f"{DOMAINS}/{domain}")).json()["id"])


async def post(alice: Person, database: Database, *entries: Any) -> Sequence[bool | None]:
    """Record entries; return for each whether it is new, or None when it was refused."""
    async with database.transaction() as conn:
        posted = await ledger_entries.post_entries(conn, account_id=alice.account.id, entries=entries)
    return [None if each.entry is None else each.is_new for each in posted]


async def test_parking_refuses_the_row_that_exceeds_it(alice: Person, conn: Conn) -> None:
    await fill(alice, conn, free=1)
    row = {"provider": "sedo", "amount": "1.00", "currency": "USD"}
    days = {"from": "2024-02-27", "to": "2024-02-29"}
    rows = [
        {**row, "domain": "harbour.com", "period": days},
        {**row, "domain": "pier.com", "period": days},
        {
            **row,
            "domain": "harbour.com",
            "period": {"from": "2024-02-29", "to": "2024-03-05"},
            "external_ref": "a",
        },
        {**row, "domain": "harbour.com", "amount": "0.00", "date": "2024-03-09"},
    ]
    done = await record(alice, {"rows": rows})
    assert outcomes(done) == ["created", "created", "error", "created"]
    assert done["results"][2]["errors"][0]["code"] == "entry_limit"
    assert (await count(alice), await count(alice, "pier.com")) == (MAX_ENTRIES, 1)


async def test_parking_of_a_month_is_cancelled_without_a_place(alice: Person, conn: Conn) -> None:
    await fill(alice, conn, free=1)
    row = {"domain": "harbour.com", "date": "2024-02-29", "amount": "1.00"}
    await record(alice, row)
    assert outcomes(await record(alice, {**row, "amount": "2.00"})) == ["error"]
    assert outcomes(await record(alice, {**row, "visits": 7})) == ["updated"]
    assert outcomes(await record(alice, {**row, "amount": "0.00"})) == ["updated"]


async def test_an_import_records_the_months_of_parking_that_it_can(alice: Person, conn: Conn) -> None:
    await fill(alice, conn, free=1)
    money = {"amount": "2.00", "currency": "USD", "provider": "sedo"}
    parking = [{**money, "on": f"2025-0{month}-01"} for month in (1, 2)]
    [row] = (await load(alice, [{"domain": "harbour.com", "parking": parking}]))["results"]
    assert (row["outcome"], [each["code"] for each in row["warnings"]]) == ("updated", ["entry_limit"])
    assert [each[0] for each in await days_of(alice)] == ["2025-01-01"]


async def test_an_import_warns_of_what_exceeds_it(alice: Person, conn: Conn) -> None:
    await fill(alice, conn, free=1)
    entries = [{"kind": "tax", "amount": "2.00", "currency": "USD", "on": f"2025-01-0{at}"} for at in range(1, 4)]
    done = await load(alice, [{"domain": "harbour.com", "folder": "best", "entries": entries}])
    [row] = done["results"]
    assert (row["outcome"], [each["code"] for each in row["warnings"]]) == ("updated", ["entry_limit"])
    assert await count(alice) == MAX_ENTRIES
    assert (await alice.get(f"{DOMAINS}/harbour.com")).json()["folder"] == "best"


async def test_a_charge_that_exceeds_it_stays_unmatched_until_a_member_decides(alice: Person, conn: Conn) -> None:
    await fill(alice, conn, free=1)
    lines = [line(f"{at}.00", "harbour.com", line_id=str(at)) for at in (7, 8)]
    await bill(alice, *lines)
    shown = {each["total"]["amount"]: each for each in (await charges(alice))["items"]}
    states = [(shown[amount]["state"], shown[amount]["reason"]) for amount in ("7.00", "8.00")]
    assert states == [("applied", None), ("unmatched", "entry_limit")]
    path = f"{CHARGES}/{shown['8.00']['id']}"
    assert code(await alice.patch(path, json={"domain": "harbour.com"})) == (409, "entry_limit")
    moved = await alice.patch(path, json={"domain": "pier.com"})
    assert (moved.json()["state"], moved.json()["reason"]) == ("applied", None), moved.text


async def test_an_application_shows_the_charge_again(alice: Person, conn: Conn) -> None:
    await fill(alice, conn)
    await bill(alice, line("8.00", "harbour.com"))
    answer = (await alice.post(f"{CHARGES}/apply", json={})).json()
    assert (answer["applied"], answer["still_unmatched"]) == (0, 1)
    assert "5,000 entries" in answer["results"][0]["reason"]


async def test_a_bill_and_a_request_at_once_do_not_exceed_it(alice: Person, conn: Conn) -> None:
    await fill(alice, conn, free=1)
    await asyncio.gather(bill(alice, line("8.00", "harbour.com")), add(alice, ADDED))
    assert await count(alice) == MAX_ENTRIES


def read_rows(plan: Mapping[str, Any]) -> float:
    """Return how many rows a plan reads from tables and indexes, those that a filter removes included."""
    own = 0.0
    if "Relation Name" in plan:
        own = plan["Actual Loops"] * (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0))
    return own + sum(map(read_rows, plan.get("Plans", ())))


async def test_the_entries_of_many_domains_are_counted_once_by_any_index(alice: Person, conn: Conn) -> None:
    """Right after an import the statistics are older than it, and the plan can use another index."""
    names = [f"pier-{each}.com" for each in range(20)]
    for name in names:
        assert (await alice.post(DOMAINS, json={"domain": name})).status_code == 201
        await add_entries(conn, account_id=alice.account.id, domain=name, count=5)
    found = await (
        await conn.execute("SELECT id FROM portfolio_domains WHERE domain = ANY(%s)", [names])
    ).fetchall()
    row = {"account_id": alice.account.id, "domain_ids": [each for (each,) in found]}
    async with conn.transaction(force_rollback=True):
        await conn.execute("DROP INDEX portfolio_ledger_entries_of_domain")
        explained = await conn.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {count_entries.text}", row)
        [[[plan]]] = await explained.fetchall()
    assert read_rows(plan["Plan"]) == 100
