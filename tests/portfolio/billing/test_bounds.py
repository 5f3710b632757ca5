"""What an import of charges computes is bounded by its columns, and not by its rows times their members."""

import sys
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import UUID

import pytest

from builders.kit.db.connections import Conn
from builders.kit.sheets.csv_files import MAX_COLUMNS
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from builders.portfolio.billing import bill_text
from builders.portfolio.billing.bills import record_lines
from builders.portfolio.billing.matches import Earlier, Recorded, find_refunded
from builders.portfolio.billing.records import Booking, Charge, ChargeSource, ChargeState
from builders.portfolio.domains.records import PortfolioDomainStatus
from builders.portfolio.ledger.records import Entry, EntryKind, EntrySource, NewEntry
from builders.portfolio.registrars.records import ChargeKind
from tests.cast import Person
from tests.portfolio.billing.make import IMPORT, add_domains, line, origin
from tests.portfolio.reads import add_entries, traced
from tests.portfolio.team.make import code

ROW = {"date": "2026-03-01", "domain": "harbour.com", "amount": "10.98"}


@pytest.mark.parametrize("count", [MAX_COLUMNS - len(ROW), 20_000])
async def test_the_different_members_of_all_rows_are_limited(alice: Person, count: int) -> None:
    await add_domains(alice, "harbour.com")
    rows = [{**ROW, f"note{at}": "x"} for at in range(count)][:10_000]
    rows[0] |= {f"note{at}": "x" for at in range(len(rows), count)}
    answer = await alice.post(IMPORT, json={"rows": rows, "dry_run": True})
    if count + len(ROW) <= MAX_COLUMNS:
        assert answer.status_code == 200, answer.text
    else:
        assert code(answer) == (422, "too_many_columns")


async def test_the_columns_of_a_file_are_limited(alice: Person) -> None:
    header = ",".join([*ROW, *(f"note{at}" for at in range(MAX_COLUMNS))])
    answer = await alice.post(IMPORT, json={"csv": f"{header}\n2026-03-01,harbour.com,10.98\n"})
    assert code(answer) == (422, "too_many_columns")


async def test_the_charges_of_all_rows_are_limited(alice: Person) -> None:
    listed = ", ".join(f"harbour-{at}.com" for at in range(99))
    rows = [{"date": "2026-03-01", "description": listed, "amount": "10.98"}] * 102
    answer = await alice.post(IMPORT, json={"rows": rows, "template": "generic", "dry_run": True})
    assert code(answer) == (422, "too_many_charges")


def test_a_text_with_more_names_than_a_line_has_lists_none() -> None:
    listed = [f"h{at}.com" for at in range(bill_text.MAX_NAMES + 1)]
    assert bill_text.list_names(" ".join(listed)) == ()
    assert len(bill_text.list_names(" ".join(listed[1:]))) == bill_text.MAX_NAMES
    assert bill_text.split_field(" ".join([*listed, "quay.com"])) == [" ".join([*listed, "quay.com"])]


def test_the_charges_that_refunds_reverse_are_found_in_linear_time() -> None:
    one, two = (count_calls(find_all, count) for count in (100, 200))
    assert two < 2.5 * one


def test_the_entries_of_charges_are_found_in_linear_time() -> None:
    one, two = (count_calls(link_all, count) for count in (100, 200))
    assert two < 2.5 * one


def link_all(count: int) -> None:
    """Link as many charges with as many entries, all of one domain and day."""
    recorded = Recorded(recorded_entry(at) for at in range(count))
    paid = NewEntry(
        domain_id=ids.NIL,
        kind=EntryKind.RENEWAL,
        money=Money(Decimal("10.00"), "USD"),
        occurred_on=date(2026, 3, 2),
        source=EntrySource.SYNC,
        charge_id=ids.NIL,
    )
    assert len({recorded.take(paid) for _ in range(count)} - {None}) == count
    assert recorded.take(paid) is None


def recorded_entry(at: int) -> Entry:
    return Entry(
        id=UUID(int=at + 1),
        domain_id=ids.NIL,
        kind=EntryKind.RENEWAL,
        amount=Decimal("10.10"),
        currency="USD",
        occurred_on=date(2026, 3, 1),
        years=1,
        registrar=None,
        memo=None,
        source=EntrySource.MANUAL,
        reference=None,
        created_by=None,
        created_at=clock.now(),
        base_currency="USD",
        fx_rate=None,
        fx_date=None,
        base_amount=None,
        voided_at=None,
        voided_by=None,
        void_reason=None,
    )


async def test_only_entries_that_charges_can_be_linked_with_are_read(
    alice: Person, conn: Conn, tmp_path: Path
) -> None:
    await add_domains(alice, "harbour.com", "pier.com", status=PortfolioDomainStatus.SOLD)
    for name in ("harbour.com", "pier.com"):
        await add_entries(conn, account_id=alice.account.id, domain=name, count=1_000)
    long_ago = clock.now().date() - timedelta(days=990)
    lines = [line("10.00", "harbour.com"), line("10.00", "pier.com", line_id="2", charged_on=long_ago)]
    booking = Booking()
    with traced(conn, tmp_path) as read:
        async with conn.transaction():
            await record_lines(conn, account_id=alice.account.id, lines=lines, origin=origin(), booking=booking)
    assert read.rows < 50


def find_all(count: int) -> None:
    """Find the charges of as many refunds, all of one order and one domain."""
    paid = [charge(at, "10.00") for at in range(count)]
    earlier = Earlier(paid)
    for at in range(count):
        assert find_refunded(charge(at, "-10.00", kind=ChargeKind.REFUND), earlier) == paid[0]
        other = charge(at, "-10.00", kind=ChargeKind.REFUND, order_id="2")
        assert find_refunded(other, earlier) == paid[-1]


def charge(at: int, total: str, **more: Any) -> Charge:
    values: dict[str, Any] = {"order_id": "1", "kind": ChargeKind.RENEWAL, "domain": "pier.com"} | more
    return Charge(
        id=UUID(int=at + 1),
        key=b"%d" % at,
        provider="namesilo",
        connection_id=None,
        line_id=str(at),
        charged_on=date(2026, 3, 1),
        description="",
        total=Decimal(total),
        currency="USD",
        source=ChargeSource.IMPORT,
        run_id=UUID(int=0),
        imported_at=clock.now(),
        refund_of=None,
        domain_id=None,
        confidence=None,
        method=None,
        candidates=(),
        applied_at=None,
        entry_id=None,
        is_linked=False,
        is_ignored=False,
        state=ChargeState.UNMATCHED,
        **values,
    )


def count_calls(work: Callable[[int], None], count: int) -> int:
    calls = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(note)
    try:
        work(count)
    finally:
        sys.setprofile(None)
    return calls
