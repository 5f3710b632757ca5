"""GET /v1/portfolio/summary: what all domains cost and earned."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from builders.identity.records import Preset
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from builders.portfolio.domains.filters import ALL_DOMAINS
from builders.portfolio.domains.today import Today
from builders.portfolio.finance import store, summary
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.records import EntryKind, EntrySource, NewEntry
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.portfolio.finance.make import DOMAINS, usd
from tests.portfolio.ledger.make import add_rates, entry
from tests.portfolio.reads import add_entries, multiply, traced
from tests.portfolio.team.make import code, join, of

SUMMARY = "/v1/portfolio/summary"
MONEY = ("cost", "income", "sale", "net")


async def read(person: Client, headers: Any = None, **query: Any) -> dict[str, Any]:
    answer = await person.get(SUMMARY, params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def add(owner: Person, domain: str, *tags: str) -> UUID:
    answer = await owner.post(DOMAINS, json={"domain": domain, "tags": tags})
    assert answer.status_code == 201, answer.text
    return UUID(answer.json()["id"])


async def post(database: Database, account_id: UUID, *entries: NewEntry) -> None:
    async with database.transaction() as conn:
        await ledger_entries.post_entries(conn, account_id=account_id, entries=entries)


def amounts(sums: dict[str, Any]) -> list[str]:
    return [sums[name]["amount"] for name in MONEY]


@pytest.fixture
async def owner(alice: Person, database: Database) -> Person:
    """Alice has three domains with entries of this month, of two months before, and of earlier years."""
    await add_rates(database)
    today = clock.now().date()
    earlier = today.replace(day=1)
    for _ in range(2):  # months
        earlier = (earlier - timedelta(days=1)).replace(day=1)
    com, uk, last = (
        await add(alice, "harbour.com", "brand", "geo"),
        await add(alice, "harbour.co.uk", "geo"),
        await add(alice, "pier.com"),
    )
    await post(
        database,
        alice.account.id,
        entry(com, "100.00", kind=EntryKind.ACQUISITION, occurred_on=earlier),
        entry(com, "10.00", occurred_on=today),
        entry(com, "4.00", kind=EntryKind.REFUND, occurred_on=today),
        entry(uk, "8.50", kind=EntryKind.PARKING_REVENUE, source=EntrySource.PARKING, occurred_on=today),
        entry(uk, "3.00", "BTC", occurred_on=today),
        entry(uk, "77.00", occurred_on=today.replace(year=today.year - 9, day=1)),
        entry(last, "500.00", kind=EntryKind.SALE, source=EntrySource.SALE, occurred_on=earlier),
        entry(last, "50.00", kind=EntryKind.COMMISSION, source=EntrySource.SALE, occurred_on=earlier),
        entry(last, "9.00", occurred_on=today + timedelta(days=1)),
    )
    return alice


async def test_totals_by_month_currency_suffix_and_tag(owner: Person) -> None:
    found = await read(owner, months=4)
    assert (found["base_currency"], found["domains"], found["redacted"]) == ("USD", 3, [])
    assert found["until"] == clock.now().date().isoformat()
    assert amounts(found["totals"]) == ["106.00", "8.50", "450.00", "352.50"]
    assert (found["totals"]["entries"], found["totals"]["unconverted"]) == (7, 1)

    months = found["months"]
    assert [each["month"] for each in months] == sorted(each["month"] for each in months)
    assert months[0]["month"] == found["since"][:7]
    assert [amounts(each) for each in months] == [
        ["0.00", "0.00", "0.00", "0.00"],
        ["100.00", "0.00", "450.00", "350.00"],
        ["0.00", "0.00", "0.00", "0.00"],
        ["6.00", "8.50", "0.00", "2.50"],
    ]
    assert [(each["currency"], each["cost"]) for each in found["by_currency"]] == [
        ("BTC", {"amount": "3.00", "currency": "BTC"}),
        ("USD", usd("106.00")),
    ]
    assert [(each["tld"], each["domains"], amounts(each)) for each in found["by_tld"]] == [
        ("com", 2, ["106.00", "0.00", "450.00", "344.00"]),
        ("co.uk", 1, ["0.00", "8.50", "0.00", "8.50"]),
    ]
    assert [(each["tag"], each["domains"], amounts(each)) for each in found["by_tag"]] == [
        ("geo", 2, ["106.00", "8.50", "0.00", "-97.50"]),
        ("brand", 1, ["106.00", "0.00", "0.00", "-106.00"]),
    ]
    long = await read(owner, months=120)
    assert (len(long["months"]), long["totals"]["cost"]) == (120, usd("183.00"))


async def test_values_are_summed_by_currency_of_held_domains(alice: Person, charlie: Person) -> None:
    rows: dict[str, dict[str, Any]] = {
        "a.com": {"estimated_value": usd("100.00"), "renewal_price": usd("10.00")},
        "b.com": {"estimated_value": usd("0.50")},
        "c.com": {"estimated_value": {"amount": "7.00", "currency": "EUR"}, "tags": ["geo"]},
        "d.com": {},
        "e.com": {"estimated_value": usd("900.00"), "status": "sold"},
    }
    for domain, more in rows.items():
        assert (await alice.post(DOMAINS, json={"domain": domain, **more})).status_code == 201
    counts = {"held": 4, "without_value": 1, "without_renewal_price": 3}
    euros = {"amount": "7.00", "currency": "EUR"}
    assert (await read(alice))["values"] == {"by_currency": [euros, usd("100.50")], **counts}
    assert (await read(alice, tag="geo"))["values"]["by_currency"] == [euros]
    await join(alice, charlie, "viewer")
    assert (await read(charlie, headers=of(alice)))["values"] == {"by_currency": None, **counts}


async def test_an_empty_portfolio_has_months_without_entries(bob: Person) -> None:
    found = await read(bob)
    assert [len(found[name]) for name in ("months", "by_currency", "by_tld", "by_tag")] == [12, 0, 0, 0]
    assert {*map(tuple, map(amounts, [found["totals"], *found["months"]]))} == {("0.00",) * 4}


async def test_who_sees_the_summary(owner: Person, bob: Person, charlie: Person, people: MakePerson) -> None:
    assert code(await bob.get(SUMMARY, headers=of(owner))) == (404, "portfolio_not_found")
    await join(owner, charlie, "viewer")
    shown = await read(charlie, headers=of(owner))
    assert shown["redacted"] == ["finance"]
    sums = [shown["totals"], *shown["months"], *shown["by_currency"], *shown["by_tld"], *shown["by_tag"]]
    assert {each[name] for each in sums for name in MONEY} == {None}
    assert shown["domains"] == 3
    accountant = await people("ann", Preset.DOMAINER_FULL)
    await join(owner, accountant, "accountant")
    assert await read(accountant, headers=of(owner)) == await read(owner)
    assert (await read(owner.test))["domains"] == 0
    developer = await people("dan", Preset.DEVELOPER_FULL)
    assert code(await developer.get(SUMMARY)) == (403, "insufficient_scope")


async def test_a_summary_reads_sums(owner: Person, conn: Conn, tmp_path: Path) -> None:
    account_id = owner.account.id
    await add_entries(conn, account_id=account_id, domain="harbour.com", count=100)
    with traced(conn, tmp_path) as few:
        await summary.get_summary(conn, account_id=account_id, months=12)
    await multiply(conn, account_id=account_id, domain="harbour.com", count=100)
    await add_entries(conn, account_id=account_id, domain="harbour.com", count=100)
    with traced(conn, tmp_path) as many:
        found = await summary.get_summary(conn, account_id=account_id, months=12)
    assert found.domains == 103
    assert (many.statements, many.rows, many.sent) == (few.statements, few.rows, few.sent)


@pytest.mark.parametrize("months", ["0", "121", "many"])
async def test_a_period_has_bounds(owner: Person, months: str) -> None:
    answer = await owner.get(SUMMARY, params={"months": months})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", "months"]


async def test_a_year_is_summed_up_to_today(owner: Person) -> None:
    this = clock.now().year
    found, before = await read(owner, year=this), await read(owner, year=this - 1)

    assert (found["since"], found["until"]) == (f"{this}-01-01", f"{clock.now():%Y-%m-%d}")
    assert (before["since"], before["until"]) == (f"{this - 1}-01-01", f"{this - 1}-12-31")
    assert [each["month"] for each in before["months"]] == [f"{this - 1}-{month:02}" for month in range(1, 13)]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"year": 2020, "months": 3}, "several_periods"),
        ({"year": 2199}, "date_in_future"),
        ({"year": 1979}, "greater_than_equal"),
    ],
)
async def test_a_year_that_cannot_be_summed_is_refused(owner: Person, query: dict[str, int], code: str) -> None:
    answer = await owner.get(SUMMARY, params=query)

    [error] = answer.json()["detail"]
    assert (answer.status_code, error["loc"], error["type"]) == (422, ["query", "year"], code)


NEW_YEAR = datetime(2026, 12, 31, 20, tzinfo=UTC)  # already the next year in Tokyo


@pytest.fixture
async def in_tokyo(alice: Person, database: Database) -> Person:
    """Alice lives in Tokyo, and paid on the last days of 2024 and on each day around the new year of 2027."""
    clock.move(NEW_YEAR - clock.now())
    assert (await alice.patch("/v1/me", json={"timezone": "Asia/Tokyo"})).status_code == 200
    domain_id = await add(alice, "harbour.com")
    paid = {"2024-12-31": "1.00", "2025-01-01": "2.00", "2026-12-31": "4.00", "2027-01-01": "8.00"}
    entries = [entry(domain_id, each, occurred_on=date.fromisoformat(day)) for day, each in paid.items()]
    await post(database, alice.account.id, *entries, entry(domain_id, "16.00", occurred_on=date(2027, 1, 2)))
    return alice


@pytest.mark.parametrize(
    ("query", "period", "cost"),
    [
        ({"from": "2024-12-31", "to": "2025-01-01"}, ["2024-12-31", "2025-01-01"], "3.00"),
        ({"from": "2025-01-01", "to": "2025-01-01"}, ["2025-01-01", "2025-01-01"], "2.00"),
        ({"from": "2026-12-31"}, ["2026-12-31", "2027-01-01"], "12.00"),
        ({"from": "2026-12-31", "to": "2030-01-01"}, ["2026-12-31", "2027-01-01"], "12.00"),
        ({"to": "2025-12-31"}, ["2025-01-01", "2025-12-31"], "2.00"),
        ({"to": "2024-02-29"}, ["2023-03-01", "2024-02-29"], "0.00"),
        ({"from": "2017-01-02"}, ["2017-01-02", "2027-01-01"], "15.00"),
        ({"year": 2027}, ["2027-01-01", "2027-01-01"], "8.00"),
        ({"year": 2024}, ["2024-01-01", "2024-12-31"], "1.00"),
        ({"months": 1}, ["2027-01-01", "2027-01-01"], "8.00"),
    ],
)
async def test_a_period_has_days_of_the_account(
    in_tokyo: Person, query: dict[str, Any], period: list[str], cost: str
) -> None:
    found = await read(in_tokyo, **query)
    assert [found["since"], found["until"]] == period
    assert found["totals"]["cost"] == usd(cost)
    assert [found["months"][at]["month"] for at in (0, -1)] == [day[:7] for day in period]


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({"from": "2026-01-02", "to": "2026-01-01"}, (["query", "to"], "date_range")),
        ({"from": "2027-01-02"}, (["query", "from"], "date_in_future")),
        ({"from": "2017-01-01"}, (["query", "from"], "too_many_days")),
        ({"from": "1980-01-01", "to": "2199-12-31"}, (["query", "from"], "too_many_days")),
        ({"from": "1979-12-31"}, (["query", "from"], "date_range")),
        ({"from": "2026-01-01", "year": 2026}, (["query", "from"], "several_periods")),
        ({"to": "2026-01-01", "months": 3}, (["query", "from"], "several_periods")),
        ({"from": "yesterday"}, (["query", "from"], "date_from_datetime_parsing")),
    ],
)
async def test_a_period_that_cannot_be_summed_is_refused(
    in_tokyo: Person, query: dict[str, Any], error: tuple[list[str], str]
) -> None:
    answer = await in_tokyo.get(SUMMARY, params=query)
    [found] = answer.json()["detail"]
    assert (answer.status_code, found["loc"], found["type"]) == (422, *error)


TEN_YEARS = """
    INSERT INTO portfolio_ledger_entries (
        account_id, id, domain_id, kind, amount, currency, occurred_on, source, created_at, base_currency,
        awaits_rates
    ) SELECT %(account_id)s, gen_random_uuid(), gen_random_uuid(), 'tax', 1, 'USD', date '2024-12-31' - day,
        'manual', now(), 'USD', false
    FROM generate_series(1, 3650) AS day
"""


async def test_a_period_is_read_from_an_index(conn: Conn) -> None:
    query = store.SummaryQuery(
        account_id=ids.NIL,
        filters=ALL_DOMAINS,
        base_currency="USD",
        since=date(2024, 1, 1),
        until=date(2024, 12, 31),
        today=Today(clock.now()),
    )
    row = query.parameters()
    async with conn.transaction(force_rollback=True):
        await conn.execute("SET LOCAL enable_seqscan = off")  # of so small a table
        await conn.execute("SET LOCAL enable_bitmapscan = off")  # of rows that no vacuum has seen
        await conn.execute(TEN_YEARS, row)
        await conn.execute("ANALYZE portfolio_ledger_entries")
        plan = await (await conn.execute(f"EXPLAIN {store.SUM_BY_MONTH}", row)).fetchall()
    assert any("portfolio_ledger_entries_period" in line for (line,) in plan), plan
