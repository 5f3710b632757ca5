"""What holds for any entries: totals are sums, a void restores, order and repetition change nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from random import Random

from hypothesis import given, strategies as st

from builders.kit.db.connections import Conn
from builders.kit.values import clock, ids
from builders.kit.values.money import decimals_of
from builders.portfolio.domains.filters import ALL_DOMAINS
from builders.portfolio.domains.today import Today
from builders.portfolio.finance import store
from builders.portfolio.finance.summary import add_up
from builders.portfolio.ledger.records import Entry, EntryGroup, EntryKind, EntrySource, NewEntry, Totals, group_of
from tests.portfolio.ledger.make import FRIDAY, NEWEST, RATES, Books, entry
from tests.random_cases import cases

CURRENCIES = ("USD", "EUR", "GBP", "JPY", "BTC")
FIRST, LAST = FRIDAY - timedelta(days=2), NEWEST + timedelta(days=2)
DATES = st.dates(FIRST, LAST)
DOMAIN = ids.new()


@st.composite
def new_entries(draw: st.DrawFn) -> NewEntry:
    currency = draw(st.sampled_from(CURRENCIES))
    places = decimals_of(currency)
    amount = Decimal(draw(st.integers(0, 10**9))).scaleb(-places)
    return entry(
        DOMAIN,
        str(amount),
        currency,
        kind=draw(st.sampled_from(EntryKind)),
        occurred_on=draw(DATES),
        source=draw(st.sampled_from(EntrySource)),
    )


ENTRIES = st.lists(new_entries(), max_size=12)


@dataclass
class Model:
    """The totals as a program without a database computes them."""

    base_currency: str

    def convert(self, new: NewEntry) -> Decimal | None:
        """Return the amount in the base currency."""
        rate = self._rate(new.money.currency, new.occurred_on)
        step = Decimal(1).scaleb(-decimals_of(self.base_currency))
        return None if rate is None else (new.money.amount * rate).quantize(step, ROUND_HALF_EVEN)

    def _rate(self, currency: str, on: date) -> Decimal | None:
        if currency == self.base_currency:
            return Decimal(1)
        days = [day for day in RATES if day <= on]
        quoted = {**RATES[max(days)], "EUR": "1"} if days else {}
        if currency not in quoted or self.base_currency not in quoted:
            return None
        return round(Decimal(quoted[self.base_currency]) / Decimal(quoted[currency]), 12)

    def totals(self, entries: Sequence[NewEntry]) -> Totals:
        """Return the totals of entries of a domain."""
        sums = dict.fromkeys(EntryGroup, Decimal(0))
        amounts = [(each, self.convert(each)) for each in entries]
        for each, amount in amounts:
            sums[group_of(each.kind, each.source)] += (amount or 0) * (1 if each.kind.is_income else -1)
        return Totals(
            base_currency=self.base_currency,
            cost=-sums[EntryGroup.COST],
            income=sums[EntryGroup.INCOME],
            sale=sums[EntryGroup.SALE],
            entries=len(entries),
            unconverted=sum(amount is None for _, amount in amounts),
        )


def own(books: Books) -> Books:
    """Return an empty portfolio."""
    return replace(books, account_id=ids.new(), domain_id=DOMAIN)


def signed_sum(entries: Sequence[Entry]) -> Decimal:
    counted = [each for each in entries if not each.is_void]
    return sum(
        ((each.base_amount or Decimal(0)) * (1 if each.kind.is_income else -1) for each in counted), Decimal(0)
    )


async def check_sums(one: Books, kept: Sequence[NewEntry], expected: Totals) -> None:
    """Check the totals of the portfolio by currency."""
    async with one.database.connection() as conn:
        query = store.SummaryQuery(
            account_id=one.account_id,
            filters=ALL_DOMAINS,
            base_currency=expected.base_currency,
            since=FIRST,
            until=LAST,
            today=Today(clock.now()),
        )
        found = await store.sum_by_month(conn, query=query)
    assert add_up(found, query.base_currency) == expected
    dollars = [each for each in kept if each.money.currency == "USD"]
    in_dollars = add_up([each for each in found if each.currency == "USD"], "USD", paid=True)
    assert replace(in_dollars, unconverted=0) == Model("USD").totals(dollars)


@cases(10)
@given(
    kept=ENTRIES,
    voided=ENTRIES,
    base_currency=st.sampled_from(CURRENCIES[:4]),
    order=st.randoms(use_true_random=False),
)
async def test_totals_are_the_sums_of_the_entries(
    books: Books, kept: list[NewEntry], voided: list[NewEntry], base_currency: str, order: Random
) -> None:
    numbered = [
        replace(each, reference=f"{at}") if each.source in {EntrySource.MANUAL, EntrySource.IMPORT} else each
        for at, each in enumerate(kept)
        if each.source is not EntrySource.PARKING
    ]
    kept = numbered
    one, other = own(books), own(books)
    await one.post(*numbered)
    before = await one.totals()
    assert before == Model("USD").totals(kept)

    gone = await one.post(*voided)
    assert await one.totals() == Model("USD").totals([*kept, *voided])
    await one.void(*gone)
    assert await one.totals() == before  # a void restores

    assert not any(each.is_new for each in await one.post(*numbered))
    assert await one.totals() == before  # repetition changes nothing

    shuffled = order.sample(numbered, len(numbered))
    await other.set_base_currency(base_currency)
    await other.post(*shuffled)
    await one.set_base_currency(base_currency)
    expected = Model(base_currency).totals(kept)
    assert [await one.totals(), await other.totals()] == [expected, expected]  # order changes nothing

    await check_sums(one, kept, expected)

    for each in (one, other):
        listed = await each.entries()
        assert signed_sum(listed) == expected.net_position.amount
        assert [(line.occurred_on, line.id) for line in listed] == sorted(
            (line.occurred_on, line.id) for line in listed
        )


@cases(5)
@given(
    amounts=st.lists(
        st.tuples(st.decimals(-(10**18), 10**18, places=16), st.integers(0, 4))
        | st.tuples(st.integers(-(10**6), 10**6).map(lambda halves: Decimal(halves) / 2000), st.integers(0, 3)),
        max_size=300,
    )
)
async def test_a_half_is_rounded_to_the_even_neighbour(conn: Conn, amounts: list[tuple[Decimal, int]]) -> None:
    found = await conn.execute(
        "SELECT portfolio_ledger_round(amount, places)"
        " FROM unnest(%s::numeric[], %s::int[]) WITH ORDINALITY AS each (amount, places, at) ORDER BY at",
        [[amount for amount, _ in amounts], [places for _, places in amounts]],
    )
    expected = [amount.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN) for amount, places in amounts]
    assert [each for (each,) in await found.fetchall()] == expected


async def test_an_amount_of_any_size_is_converted(books: Books) -> None:
    largest = "9" * 15
    await books.post(books.entry(largest, "GBP"), books.entry(largest, "JPY"), entry(books.domain_id, largest))
    await books.set_base_currency("JPY")
    assert len({each.base_amount for each in await books.entries()}) == 3
