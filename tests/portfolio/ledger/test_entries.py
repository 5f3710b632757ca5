"""Entries are recorded once, voided and never deleted."""

import asyncio
from datetime import date
from decimal import Decimal

import pytest

from builders.kit.values import ids
from builders.kit.values.money import Money
from builders.portfolio.ledger import entries
from builders.portfolio.ledger.records import EntryGroup, EntryKind, EntrySource, Totals, group_of
from tests.portfolio.ledger.make import MONDAY, Books, entry

ZERO = Decimal(0)
NOTHING = Totals(base_currency="USD", cost=ZERO, income=ZERO, sale=ZERO, entries=0, unconverted=0)


async def test_an_entry_is_listed_as_it_was_recorded(books: Books) -> None:
    author = ids.new()
    new = books.entry(
        "12.5", years=2, registrar="porkbun", memo="two years", reference="order-1", created_by=author
    )
    [posted] = await books.post(new)
    assert posted.is_new
    [listed] = await books.entries()
    assert listed == posted.entry
    assert str(listed.money) == "12.50 USD"
    assert str(listed.signed_amount) == "-12.50 USD"
    assert listed.base_money == listed.money
    assert (listed.fx_rate, listed.fx_date) == (Decimal(1), MONDAY)
    assert (listed.kind, listed.source, listed.years) == (EntryKind.RENEWAL, EntrySource.MANUAL, 2)
    assert (listed.registrar, listed.memo, listed.reference) == ("porkbun", "two years", "order-1")
    assert (listed.created_by, listed.is_void) == (author, False)


async def test_a_reference_is_recorded_once(books: Books) -> None:
    one = books.entry(reference="r1")
    [first] = await books.post(one)
    again = await books.post(books.entry("99", reference="r1"), books.entry("5"), one)
    assert [each.is_new for each in again] == [False, True, False]
    assert [again[0].entry, again[2].entry] == [first.entry, first.entry]
    twice = await books.post(books.entry(reference="r2"), books.entry(reference="r2"))
    assert [each.is_new for each in twice] == [True, False]
    assert twice[0].entry == twice[1].entry
    other = await books.post(books.entry(reference="r1", source=EntrySource.IMPORT))
    assert other[0].is_new
    unreferenced = await books.post(books.entry(), books.entry())
    assert [each.is_new for each in unreferenced] == [True, True]
    assert await books.post() == []


async def test_a_void_entry_counts_nowhere_and_frees_its_reference(books: Books) -> None:
    before = await books.totals()
    [posted] = await books.post(books.entry(reference="r1"))
    assert await books.void(posted) == [posted.entry.id]
    assert await books.void(posted) == []
    assert await books.totals() == before == NOTHING
    [listed] = await books.entries()
    assert listed.is_void
    assert listed.void_reason == "mistake"
    [again] = await books.post(books.entry(reference="r1"))
    assert again.is_new


async def test_the_entries_of_a_domain_are_voided_together(books: Books) -> None:
    other = ids.new()
    await books.post(books.entry(), books.entry(), entry(other))
    async with books.database.transaction() as conn:
        gone = await entries.void_entries(
            conn, account_id=books.account_id, domain_ids=[books.domain_id], reason="removed"
        )
    assert len(gone) == 2
    async with books.database.connection() as conn:
        totals = await entries.list_totals(
            conn, account_id=books.account_id, domain_ids=[books.domain_id, other, other], today=date.max
        )
    assert {domain_id: each.entries for domain_id, each in totals.items()} == {books.domain_id: 0, other: 1}


async def test_another_portfolio_sees_and_voids_nothing(books: Books) -> None:
    posted = await books.post(books.entry(reference="r1"))
    stranger = Books(books.database, account_id=ids.new(), domain_id=books.domain_id)
    assert await stranger.entries() == []
    assert await stranger.void(*posted) == []
    assert await stranger.totals() == NOTHING
    [own] = await stranger.post(stranger.entry(reference="r1"))
    assert own.is_new
    assert (await books.entries())[0].voided_at is None


async def test_a_charge_is_recorded_once(books: Books) -> None:
    charge = books.entry(source=EntrySource.SYNC, charge_id=ids.new())
    posted = await asyncio.gather(*(books.post(charge) for _ in range(4)))
    assert sum(each.is_new for [each] in posted) == 1
    assert len({each.entry.id for [each] in posted}) == 1


async def test_an_order_can_have_several_entries(books: Books) -> None:
    posted = await books.post(books.entry(order_ref="A-1042"), books.entry(order_ref="A-1042"))
    assert [(each.is_new, each.entry.order_ref) for each in posted] == [(True, "A-1042")] * 2


async def test_concurrent_posts_of_a_reference_make_one_entry(books: Books) -> None:
    references = [f"r{n}" for n in range(20)]
    calls = [references, references[::-1], references, references[::-1]]
    posted = await asyncio.gather(
        *(books.post(*(books.entry(reference=each) for each in order)) for order in calls)
    )
    assert sum(each.is_new for call in posted for each in call) == len(references)
    assert len({each.entry.id for call in posted for each in call}) == len(references)
    assert len(await books.entries()) == len(references)


@pytest.mark.parametrize(
    ("kind", "source", "group"),
    [
        pytest.param(EntryKind.ACQUISITION, EntrySource.MANUAL, EntryGroup.COST, id="an acquisition"),
        pytest.param(EntryKind.ESCROW_FEE, EntrySource.MANUAL, EntryGroup.COST, id="an escrow fee of a purchase"),
        pytest.param(EntryKind.ESCROW_FEE, EntrySource.SALE, EntryGroup.SALE, id="an escrow fee of a sale"),
        pytest.param(EntryKind.REFUND, EntrySource.SYNC, EntryGroup.COST, id="a refund of a registrar"),
        pytest.param(EntryKind.REFUND, EntrySource.SALE, EntryGroup.SALE, id="a refund of a sale"),
        pytest.param(EntryKind.BUYER_REFUND, EntrySource.MANUAL, EntryGroup.SALE, id="a refund to the buyer"),
        pytest.param(EntryKind.CHARGEBACK, EntrySource.IMPORT, EntryGroup.SALE, id="a chargeback"),
        pytest.param(EntryKind.COMMISSION, EntrySource.MANUAL, EntryGroup.SALE, id="a commission"),
        pytest.param(EntryKind.SALE, EntrySource.IMPORT, EntryGroup.SALE, id="a sale"),
        pytest.param(EntryKind.PARKING_REVENUE, EntrySource.PARKING, EntryGroup.INCOME, id="parking revenue"),
        pytest.param(EntryKind.OTHER_INCOME, EntrySource.SALE, EntryGroup.SALE, id="other income of a sale"),
    ],
)
async def test_each_entry_counts_in_one_sum(
    books: Books, kind: EntryKind, source: EntrySource, group: EntryGroup
) -> None:
    assert group_of(kind, source) == group
    [posted] = await books.post(books.entry("7.00", kind=kind, source=source))
    assert posted.entry.group == group
    totals = await books.totals()
    sign = 1 if kind.is_income else -1
    expected = {EntryGroup.COST: -totals.cost, EntryGroup.INCOME: totals.income, EntryGroup.SALE: totals.sale}
    assert expected.pop(group) == sign * Decimal(7)
    assert set(expected.values()) == {0}
    assert totals.net_position == sign * Money.of("7.00", "USD")


def test_an_amount_is_not_negative() -> None:
    with pytest.raises(ValueError, match="not negative"):
        entry(ids.new(), "-1")
    assert entry(ids.new(), "0").money == Money.zero("USD")
