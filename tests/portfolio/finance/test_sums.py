"""The summary of a portfolio: its parts are its whole, whatever is recorded when."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from builders.kit.db.connections import Database
from builders.kit.values import clock, ids
from builders.portfolio.finance import summary
from builders.portfolio.ledger import entries as ledger_entries
from tests.cast import Person
from tests.portfolio.finance.make import DOMAINS, Book, add_domain, usd
from tests.portfolio.finance.test_lists import write_copies
from tests.portfolio.ledger.make import entry
from tests.random_cases import cases

SUMMARY = "/v1/portfolio/summary"
SUMS = ("cost", "income", "sale", "net")


async def read(owner: Person, **query: Any) -> dict[str, Any]:
    answer = await owner.get(SUMMARY, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def recorded(kind: str, amount: str, currency: str, days_ago: int) -> dict[str, Any]:
    on = (clock.now() - timedelta(days=days_ago)).date().isoformat()
    return {"kind": kind, "amount": amount, "currency": currency, "occurred_on": on}


@pytest.fixture
async def several(book: Book) -> Person:
    """Alice has entries of each group in three currencies, spread over 14 months, of two domains."""
    other = await add_domain(book.owner, "pier.co.uk", tags=["geo"])
    kinds = ("renewal", "parking_revenue", "refund", "lease_income", "transfer_fee", "tax", "commission")
    add = [
        recorded(kind, f"{10 + at}.0{round_}", ("USD", "EUR", "GBP")[(at + round_) % 3], 61 * at + 9 * round_)
        for at, kind in enumerate(kinds)
        for round_ in range(3)
    ]
    await book.change(entries_add=add[::2])
    await other.change(entries_add=add[1::2], sale={"gross": usd("900.10"), "commission_rate": "0.15"})
    return book.owner


@pytest.mark.parametrize("months", [1, 3, 12, 15, 120])
async def test_the_parts_of_a_period_are_its_whole(several: Person, months: int) -> None:
    found = await read(several, months=months)

    for name in SUMS:
        whole = Decimal(found["totals"][name]["amount"])
        assert sum(Decimal(each[name]["amount"]) for each in found["months"]) == whole, name
        assert sum(Decimal(each[name]["amount"]) for each in found["by_tld"]) == whole, name
    for name in ("entries", "unconverted"):
        for parts in ("months", "by_tld", "by_currency"):
            assert sum(each[name] for each in found[parts]) == found["totals"][name], parts
    sums = [found["totals"], *found["months"], *found["by_tld"], *found["by_tag"], *found["by_currency"]]
    for each in sums:
        cost, income, sale, net = (Decimal(each[name]["amount"]) for name in SUMS)
        assert net == income + sale - cost
    assert len(found["months"]) == months


async def test_the_summary_of_years_is_what_the_domains_earned(several: Person) -> None:
    listed = (await several.get("/v1/portfolio/domains")).json()["items"]

    found = await read(several, months=120)

    total = sum(Decimal(each["finance"]["net_position"]["amount"]) for each in listed)
    assert Decimal(found["totals"]["net"]["amount"]) == total


async def test_a_void_entry_is_in_no_sum(book: Book) -> None:
    before = await read(book.owner)
    entry = (await book.change(entries_add=[recorded("renewal", "5", "USD", 0)]))["entries"][0]
    assert (await read(book.owner))["totals"]["cost"] == usd("5.00")

    await book.change(entries_void=[entry["id"]])

    assert await read(book.owner) == before


async def test_an_entry_of_tomorrow_is_summed_tomorrow(book: Book) -> None:
    await book.change(entries_add=[recorded("renewal", "5", "USD", -1)])
    assert (await read(book.owner, months=1))["totals"]["entries"] == 0

    with clock.moved(timedelta(days=1)):
        assert (await read(book.owner, months=2))["totals"]["cost"] == usd("5.00")


async def test_a_currency_without_decimals_is_summed_in_whole_units(book: Book) -> None:
    await book.change(entries_add=[recorded("renewal", "1500", "JPY", 0)] * 2)

    [yen] = (await read(book.owner))["by_currency"]

    assert (yen["currency"], yen["cost"]) == ("JPY", {"amount": "3000", "currency": "JPY"})


async def test_the_summary_is_in_the_base_currency(several: Person, book: Book) -> None:
    before = await read(several, months=120)

    await book.change(base_currency="EUR")

    after = await read(several, months=120)
    assert {after["totals"][name]["currency"] for name in SUMS} == {after["base_currency"]} == {"EUR"}
    assert [each["cost"] for each in after["by_currency"]] == [each["cost"] for each in before["by_currency"]]
    assert after["totals"]["entries"] == before["totals"]["entries"]


async def test_a_domain_with_several_tags_counts_for_each(book: Book) -> None:
    tagged = await add_domain(book.owner, "pier.com", tags=["geo", "brand"])
    await tagged.change(entries_add=[recorded("renewal", "5", "USD", 0)])

    found = await read(book.owner)

    assert [(each["tag"], each["domains"], each["cost"]) for each in found["by_tag"]] == [
        ("brand", 1, usd("5.00")),
        ("geo", 1, usd("5.00")),
    ]
    assert found["totals"]["cost"] == usd("5.00")


async def test_the_transaction_that_wrote_reads_its_entries(book: Book, database: Database) -> None:
    account_id, last_month = book.owner.account.id, clock.now().date().replace(day=1) - timedelta(days=5)
    await write_copies(database, book.owner)
    async with database.transaction() as conn:
        new = entry(UUID(book.domain_id), "7.00", occurred_on=last_month)
        await ledger_entries.post_entries(conn, account_id=account_id, entries=[new])
        found = await summary.get_summary(conn, account_id=account_id)
    assert (found.total.cost, [each.totals.cost for each in found.by_tld]) == (Decimal(7), [Decimal(7)])
    assert (await read(book.owner))["totals"]["cost"] == usd("7.00")


CURRENCIES = ("USD", "EUR", "GBP", "BTC")
KINDS = ("renewal", "tax", "refund", "lease_income", "commission", "parking_revenue", "buyer_refund")
TAGS = ("geo", "brand", "short")
ADDED = st.tuples(st.sampled_from(KINDS), st.integers(1, 500), st.sampled_from(CURRENCIES), st.integers(-3, 100))
CHANGES = st.one_of(
    st.tuples(st.just("add"), st.lists(ADDED, min_size=1, max_size=4)),
    st.tuples(st.just("tag"), st.lists(st.sampled_from(TAGS), unique=True)),
    st.tuples(st.just("base"), st.sampled_from(CURRENCIES[:3])),
    st.sampled_from([("void", None), ("sell", None), ("remove", None)]),
)
STEPS = st.lists(st.tuples(CHANGES, st.integers(0, 1), st.booleans()), min_size=2, max_size=8)


async def make_change(made: Book, change: str, given: Any, tld: str) -> Book:
    """Change a domain. Return it, or the new one of its place."""
    owner = made.owner
    if change == "remove":
        removed = await owner.delete(f"{DOMAINS}/{made.domain_id}", params={"history": "delete"})
        assert removed.status_code == 204, removed.text
        return await add_domain(owner, f"s{ids.new().hex}.{tld}", tags=["short"])
    if change == "tag":
        assert (await owner.patch(f"{DOMAINS}/{made.domain_id}", json={"tags": given})).status_code == 200
    elif change == "base":
        await made.change(base_currency=given)
    elif change == "sell":
        await made.change(sale={"gross": usd("900.10"), "commission_rate": "0.15"})
    elif change == "add":
        await made.change(entries_add=[recorded(kind, f"{amount}.07", *of) for kind, amount, *of in given])
    else:
        ids_ = [each["id"] for each in (await made.get())["entries"] if each["voided_at"] is None]
        await made.change(entries_void=ids_[:1])
    return made


async def check_parts(owner: Person, **query: Any) -> None:
    """Compare each net sum and each number of a summary with those of the entries."""
    found = await read(owner, **query)
    tags = {each["domain"]: each["tags"] for each in (await owner.get(DOMAINS)).json()["items"]}
    period = {"from": found["since"], "to": found["until"], "voided": "false", "limit": 500}
    entries = (await owner.get("/v1/portfolio/entries", params=period)).json()["items"]
    sums, paid, counts = Counter[Any](), Counter[str](), Counter[Any]()
    for each in entries:
        signed, base = Decimal(each["signed_amount"]["amount"]), each["base_amount"]
        parts = [each["occurred_on"][:7], f".{each['domain'].partition('.')[2]}", *tags[each["domain"]], None]
        currency = each["amount"]["currency"]
        paid[currency] += signed  # type: ignore[assignment]  # a Counter of amounts
        for part in parts:
            counts[part, base is None] += 1
            if base is not None and base["currency"] == found["base_currency"]:
                sums[part] += Decimal(base["amount"]).copy_sign(signed)  # type: ignore[assignment]  # as above
    shown = [(None, found["totals"]), *((each["month"], each) for each in found["months"])]
    shown += [(f".{each['tld']}", each) for each in found["by_tld"]]
    shown += [(each["tag"], each) for each in found["by_tag"]]
    for part, each in shown:
        assert Decimal(each["net"]["amount"]) == sums[part], part
        assert each["unconverted"] == counts[part, True], part
        assert each["entries"] == counts[part, True] + counts[part, False], part
    assert {each["currency"]: Decimal(each["net"]["amount"]) for each in found["by_currency"]} == paid


@cases(6)
@given(steps=STEPS)
async def test_random_changes_have_the_sums_of_their_entries(
    book: Book, database: Database, steps: Sequence[tuple[tuple[str, Any], int, bool]]
) -> None:
    """The copies of the months are written between any two changes, and each change outdates them."""
    owner, today = book.owner, clock.now().date()
    made = [await add_domain(owner, f"s{ids.new().hex}.{tld}", tags=["geo"]) for tld in ("com", "co.uk")]
    inside: tuple[date, date] = (today - timedelta(days=75), today - timedelta(days=20))
    for (change, value), at, are_copied in steps:
        if are_copied:
            await write_copies(database, owner)
        made[at] = await make_change(made[at], change, value, ("com", "co.uk")[at])
        await check_parts(owner, months=15)
    await write_copies(database, owner)
    await check_parts(owner, months=15)
    await check_parts(owner, **dict(zip(("from", "to"), map(str, inside), strict=True)))
