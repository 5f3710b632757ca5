"""The figures in lists of domains: the same as in the finance of each domain, whatever their copies hold."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from builders.identity.records import Preset
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue, time_slices
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.portfolio.domains import figures as domain_figures, jobs
from builders.portfolio.domains.records import FIGURES
from builders.portfolio.ledger import currencies, entries as ledger_entries
from builders.portfolio.ledger.records import EntryKind
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.kit.db.locks import waiting
from tests.portfolio.finance.make import DOMAINS, Book, add_domain, usd
from tests.portfolio.finance.test_histories import AS_OF, PERIODS, period_of, set_own_rates
from tests.portfolio.ledger.make import FRIDAY, add_rates, entry
from tests.portfolio.team.make import code, join, of
from tests.random_cases import cases
from tests.worker import Worker

EXPORT = "/v1/portfolio/export"


async def read(owner: Client, **query: Any) -> list[dict[str, Any]]:
    answer = await owner.get(DOMAINS, params={"limit": 500, **query})
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def names(owner: Client, **query: Any) -> list[str]:
    return [each["domain"].partition(".")[0] for each in await read(owner, **query)]


async def write_copies(database: Database, owner: Person) -> None:
    async with database.transaction() as conn:
        while await domain_figures.refresh(conn, account_id=owner.account.id, limit=2):
            pass


def value(item: Mapping[str, Any], figure: str) -> Decimal | None:
    shown = item[figure]
    amount = shown["amount"] if isinstance(shown, Mapping) else shown
    return None if amount is None else Decimal(str(amount))


async def check(owner: Person) -> None:
    """Compare each item with the finance of its domain, and each order and filter with what the items show."""
    items = await read(owner)
    for item in items:
        finance = (await owner.get(f"{DOMAINS}/{item['id']}/finance")).json()
        income = sum(Decimal(each["amount"]) for each in finance["income"].values())
        wanted = [finance["roi"], finance["net_position"], finance["total_cost"]]
        assert [item["roi"], item["net"], item["cost"]] == wanted
        assert value(item, "income") == income
        assert item["finance"]["unconverted"] == len(finance["unconverted"])
    for figure in FIGURES:
        values = {each["domain"]: value(each, figure) for each in items}
        known = sorted(each for each in values.values() if each is not None)
        unknown = [None] * (len(values) - len(known))
        for sort, ordered in ((figure, known), (f"-{figure}", known[::-1])):
            found = await read(owner, sort=sort)
            assert [values[each["domain"]] for each in found] == [*ordered, *unknown]
        for bound in known[:: max(1, len(known) // 3)]:
            above = {each["domain"] for each in await read(owner, **{f"min_{figure}": str(bound)})}
            assert above == {name for name, each in values.items() if each is not None and each >= bound}
            below = {each["domain"] for each in await read(owner, **{f"max_{figure}": str(bound)}, sort=figure)}
            assert below == {name for name, each in values.items() if each is not None and each <= bound}


STEPS = st.tuples(PERIODS, st.booleans(), st.lists(st.booleans(), min_size=4, max_size=4))


@cases(3)
@given(histories=st.lists(STEPS, min_size=1, max_size=2), currency=st.sampled_from(["USD", "EUR"]))
async def test_random_histories_have_the_figures_of_their_finance(
    book: Book, database: Database, histories: list[Any], currency: str
) -> None:
    """The copies are written between any two changes, and the base currency changes at last."""
    owner = book.owner
    await set_own_rates(owner)
    for periods, is_held, copied in histories:
        made = await add_domain(owner, f"h{ids.new().hex}.com", renewal_price=usd("9.50"))
        for at, each in enumerate(periods):
            is_sold = at < len(periods) - 1 or not is_held
            body, _ = period_of(each, FRIDAY + timedelta(days=200 * at), is_sold=is_sold, consigned=Decimal(0))
            if copied[at]:
                await write_copies(database, owner)
            await made.change(**body)
    if copied[3]:
        await write_copies(database, owner)
    with clock.moved(AS_OF - clock.now().date()):
        await check(owner)
    await book.change(base_currency=currency)
    await check(owner)
    await write_copies(database, owner)
    await check(owner)


@pytest.fixture
async def owner(alice: Person, database: Database) -> Person:
    """Alice has a domain without costs, and four others."""
    await add_rates(database)
    await add_domain(alice, "none.com")
    for name, price, income, renewal in (
        ("worst", "100", "10", {"amount": "8", "currency": "GBP"}),
        ("bad", "50", "25", usd("12")),
        ("good", "10", "30", {"amount": "1", "currency": "BTC"}),
        ("best", "1", "30", {"amount": "9", "currency": "EUR"}),
    ):
        made = await add_domain(alice, f"{name}.com", renewal_price=renewal)
        lease = {"kind": "lease_income", "amount": income, "currency": "USD", "occurred_on": "2024-03-04"}
        await made.change(acquisition={**usd(price), "on": "2024-03-01"}, entries_add=[lease])
    return alice


async def test_the_worst_domains_by_roi_are_one_request(owner: Person) -> None:
    assert await names(owner, sort="roi", limit=3) == ["worst", "bad", "good"]
    [first, *_] = await read(owner, sort="roi")
    assert (first["roi"], first["net"], first["cost"]) == (-0.9, usd("-90.00"), usd("100.00"))
    assert (first["income"], first["renewal_price_base"]) == (usd("10.00"), usd("10.14"))


@pytest.mark.parametrize("are_copied", [False, True])
@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("roi", ["worst", "bad", "good", "best", "none"]),
        ("-roi", ["best", "good", "bad", "worst", "none"]),
        ("net", ["worst", "bad", "none", "good", "best"]),
        ("-cost", ["worst", "bad", "good", "best", "none"]),
        ("income", ["none", "worst", "bad", "good", "best"]),
        ("renewal_price_base", ["best", "worst", "bad", "none", "good"]),
        ("-renewal_price_base", ["bad", "worst", "best", "none", "good"]),
    ],
)
async def test_pages_of_an_order_have_each_domain_once_and_null_last(
    owner: Person, database: Database, sort: str, expected: Sequence[str], are_copied: bool
) -> None:
    if are_copied:
        await write_copies(database, owner)
    found: list[str] = []
    query: dict[str, Any] = {"sort": sort, "limit": 2}
    while query.get("cursor", "") is not None:
        page = (await owner.get(DOMAINS, params=query)).json()
        found += [each["domain"].partition(".")[0] for each in page["items"]]
        query["cursor"] = page["next_cursor"]
    assert found == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"max_roi": "-0.5"}, {"worst", "bad"}),
        ({"min_roi": "-0.5", "max_roi": "2"}, {"bad", "good"}),
        ({"min_net": "0"}, {"none", "good", "best"}),
        ({"max_cost": "10", "sort": "-net"}, {"none", "good", "best"}),
        ({"min_income": "30", "q": "best"}, {"best"}),
        ({"min_renewal_price_base": "0"}, {"worst", "bad", "best"}),
        ({"max_renewal_price_base": "10.14", "sort": "roi"}, {"worst", "best"}),
        ({"max_renewal_price_base": "10.13"}, {"best"}),
    ],
)
async def test_each_bound_selects_the_same_domains_in_list_total_and_export(
    owner: Person, query: dict[str, Any], expected: set[str]
) -> None:
    answer = (await owner.get(DOMAINS, params={**query, "include_total": "true", "limit": 1})).json()
    filters = {name: each for name, each in query.items() if name != "sort"}
    exported = (await owner.get(EXPORT, params=filters)).json()["rows"]
    assert set(await names(owner, **query)) == expected
    assert {each["domain"].partition(".")[0] for each in exported} == expected
    assert answer["total"] == len(expected)


@pytest.mark.parametrize("query", [{"min_roi": "much"}, {"max_net": "1e30"}, {"min_cost": "nan"}])
async def test_a_bound_is_a_number(alice: Person, query: dict[str, str]) -> None:
    for path in (DOMAINS, EXPORT):
        answer = await alice.get(path, params=query)
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", *query])


@pytest.mark.parametrize(
    "query", [{"sort": "roi"}, {"sort": "-cost"}, {"min_net": "1"}, {"max_renewal_price_base": "1"}]
)
async def test_a_role_without_finance_learns_no_figure(
    owner: Person, charlie: Person, people: MakePerson, query: dict[str, str]
) -> None:
    await join(owner, charlie, "viewer")
    assert code(await charlie.get(DOMAINS, params=query, headers=of(owner))) == (403, "forbidden_role")
    if "sort" not in query:
        assert code(await charlie.get(EXPORT, params=query, headers=of(owner))) == (403, "forbidden_role")
    [shown, *_] = (await charlie.get(DOMAINS, headers=of(owner))).json()["items"]
    assert {shown[name] for name in FIGURES} == {None}
    accountant = await people("ann", Preset.DOMAINER_FULL)
    await join(owner, accountant, "accountant")
    assert (await accountant.get(DOMAINS, params=query, headers=of(owner))).status_code == 200


async def test_a_stranger_sees_figures_of_own_domains_alone(
    owner: Person, bob: Person, database: Database
) -> None:
    await write_copies(database, owner)
    await add_domain(bob, "worst.com")
    [item] = await read(bob, sort="roi", include_total="true")
    assert (item["roi"], item["cost"]) == (None, usd("0.00"))
    assert code(await bob.get(DOMAINS, params={"sort": "roi"}, headers=of(owner))) == (404, "portfolio_not_found")


async def test_an_entry_counts_from_its_day_without_a_job(book: Book, database: Database) -> None:
    on = clock.now().date() + timedelta(days=3)
    await book.change(
        acquisition={**usd("10"), "on": "2024-03-01"},
        entries_add=[{"kind": "lease_income", "amount": "40", "currency": "USD", "occurred_on": str(on)}],
    )
    await write_copies(database, book.owner)
    assert await read(book.owner, min_roi="0") == []
    with clock.moved(timedelta(days=3)):
        [item] = await read(book.owner, min_roi="3", sort="roi")
        assert (item["roi"], item["net"]) == (3.0, usd("30.00"))


async def test_a_job_writes_the_copies_after_a_change_and_after_a_day(
    book: Book, database: Database, settings: Settings, conn: Conn
) -> None:
    account_id, on = book.owner.account.id, clock.now().date() + timedelta(days=3)
    worker = Worker(database, settings)

    async def is_outdated() -> bool:
        return account_id in await domain_figures.list_outdated(conn)

    async def work() -> None:
        await queue.defer(conn, jobs.refresh_figures, timestamp=0)
        await worker.work()

    await book.change(entries_add=[{**usd("40"), "kind": "renewal", "occurred_on": str(on)}])
    assert await is_outdated()
    await work()
    assert not await is_outdated()
    with clock.moved(timedelta(days=5)):
        assert await is_outdated()
        await work()
        assert not await is_outdated()


async def test_the_conversion_of_entries_ends_with_their_copies(
    book: Book, database: Database, settings: Settings, conn: Conn
) -> None:
    account_id = book.owner.account.id
    await book.change(acquisition={**usd("10"), "on": "2024-03-01"}, base_currency="EUR")
    assert account_id in await domain_figures.list_outdated(conn)

    await time_slices.defer(conn, currencies.CONVERT_ENTRIES, account_id=str(account_id))
    await Worker(database, settings).work()

    assert account_id not in await domain_figures.list_outdated(conn)


async def test_a_change_during_the_writing_of_the_copies_is_not_lost(book: Book, database: Database) -> None:
    account_id, domain_id = book.owner.account.id, UUID(book.domain_id)
    await book.change(acquisition={**usd("10"), "on": "2024-03-01"})
    async with database.transaction() as changing:
        new = entry(domain_id, "30.00", kind=EntryKind.LEASE_INCOME)
        await ledger_entries.post_entries(changing, account_id=account_id, entries=[new])
        await write_copies(database, book.owner)
        assert await read(book.owner, min_roi="0") == []
    [item] = await read(book.owner, min_roi="2")
    assert item["roi"] == 2.0
    await write_copies(database, book.owner)
    assert len(await read(book.owner, min_roi="2")) == 1


async def test_two_writers_of_copies_do_not_overtake_each_other(
    book: Book, database: Database, conn: Conn
) -> None:
    await book.change(acquisition={**usd("10"), "on": "2024-03-01"})
    async with database.transaction() as first:
        await domain_figures.refresh(first, account_id=book.owner.account.id)
        await book.change(entries_add=[{**usd("30"), "kind": "lease_income", "occurred_on": "2024-03-04"}])
        second = asyncio.ensure_future(write_copies(database, book.owner))
        async with asyncio.timeout(60):
            while not await waiting(conn):
                await asyncio.wait([second], timeout=0.01)
    await second
    assert len(await read(book.owner, min_roi="2", max_roi="2")) == 1


async def test_the_figures_of_a_removed_domain_are_removed(owner: Person, database: Database, conn: Conn) -> None:
    await write_copies(database, owner)
    assert (await owner.delete(f"{DOMAINS}/worst.com", params={"history": "delete"})).status_code == 204
    await write_copies(database, owner)
    of_owner = {"account_id": owner.account.id}
    count = "SELECT count(*) FROM portfolio_domains_figures WHERE account_id = %(account_id)s"
    assert await (await conn.execute(count, of_owner)).fetchone() == (3,)
