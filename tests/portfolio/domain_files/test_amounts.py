"""Cells with the entries, sales, parking and decision of a domain in JSON, as exports write them."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from builders.kit.sheets.cells import CellRefused
from builders.kit.values.days import FIRST_YEAR, LAST_YEAR
from builders.kit.values.money import Money
from builders.portfolio.domain_files import amounts
from builders.portfolio.domain_files.amounts import (
    PortfolioExportDecision,
    PortfolioExportEntry,
    PortfolioExportPayment,
    PortfolioExportRevenue,
    PortfolioExportSale,
    read_decisions,
    read_entries,
    read_parking,
    read_sales,
)
from builders.portfolio.domains.records import RenewalDecision
from builders.portfolio.ledger.records import (
    FEE_KINDS,
    MAX_TERMS,
    MAX_YEARS,
    EntryFields,
    EntryKind,
    EntrySource,
    Installment,
    SaleFee,
    SaleTerms,
)

Row = Mapping[str, Any]
CHARGE = "0123456789abcdef" * 4
VOIDED = {"voided_at": "2025-02-01T10:00:00Z", "void_reason": "twice"}
ENTRY: Row = {"kind": "renewal", "amount": "9.00", "currency": "USD", "on": "2025-01-01"}
SALE: Row = {"amount": "900.00", "currency": "EUR", "sold_on": "2024-05-06"}
FEE: Row = {"amount": "20.00", "currency": "EUR", "kind": "escrow_fee", "on": "2024-05-07"}
INSTALMENT: Row = {"amount": "300.00", "currency": "EUR", "on": "2024-06-06"}
DAY: Row = {"amount": "0.5", "currency": "USD", "on": "2025-01-01", "provider": "Bodis"}
DECISION: Row = {"decision": "renew", "decided_at": "2026-01-02T00:00:00Z"}


def cell(*rows: Row) -> str:
    return json.dumps(rows)


def entry(**members: Any) -> EntryFields:
    [read] = read_entries(cell({**ENTRY, **members}))
    return read.fields


def terms(**members: Any) -> SaleTerms:
    [read] = read_sales(cell({**SALE, **members}))
    return read.terms


def refusal(read: Callable[[str], object], text: str) -> str:
    with pytest.raises(CellRefused) as raised:
        read(text)
    assert raised.value.code.endswith("_invalid")
    return str(raised.value)


def test_an_entry_is_read() -> None:
    assert entry() == EntryFields(
        kind=EntryKind.RENEWAL,
        money=Money.of("9.00", "USD"),
        occurred_on=date(2025, 1, 1),
        source=EntrySource.IMPORT,
    )


def test_the_texts_of_an_entry_have_no_space_around() -> None:
    read = entry(registrar=" Gandi ", memo=" fine ", order_ref=" A-1 ")
    assert (read.registrar, read.memo, read.order_ref) == ("Gandi", "fine", "A-1")


@pytest.mark.parametrize("member", ["registrar", "memo", "reference", "order_ref"])
def test_a_blank_text_of_an_entry_is_none(member: str) -> None:
    assert getattr(entry(**{member: " "}), member) is None


@pytest.mark.parametrize(
    ("source", "read"),
    [(EntrySource.MANUAL, EntrySource.MANUAL), (EntrySource.IMPORT, EntrySource.IMPORT)],
)
def test_an_entry_keeps_its_source(source: EntrySource, read: EntrySource) -> None:
    assert entry(source=source.value).source is read


def test_an_entry_of_a_charge_is_one_of_the_import_with_its_reference() -> None:
    read = entry(source="sync", charge=CHARGE)
    assert (read.source, read.charge_key) == (EntrySource.IMPORT, bytes.fromhex(CHARGE))


def test_a_void_entry_of_a_sale_is_read() -> None:
    read = entry(kind="sale", source="sale", **VOIDED)
    assert (read.voided_at, read.void_reason) == (datetime(2025, 2, 1, 10, tzinfo=UTC), "twice")


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"amount": "-9.00"}, "amount"),
        ({"amount": "9.00001"}, "amount"),
        ({"amount": "9.001"}, "USD has 2 decimals"),
        ({"amount": 9}, "amount"),
        ({"currency": "usd"}, "currency"),
        ({"on": "1979-12-31"}, "on"),
        ({"on": "2200-01-01"}, "on"),
        ({"years": 0}, "years"),
        ({"years": MAX_YEARS + 1}, "years"),
        ({"memo": "m" * 501}, "memo"),
        ({"memo": "two\nlines"}, "memo"),
        ({"reference": "r" * 201}, "reference"),
        ({"charge": CHARGE[1:]}, "charge"),
        ({"charge": CHARGE.upper()}, "charge"),
        ({"kind": "gift"}, "kind"),
        ({"source": "bank"}, "source"),
        ({"reference": "A", "order_ref": "B"}, "`reference` or `order_ref`"),
        ({"kind": "sale"}, "`sales`"),
        ({"source": "sale"}, "`sales`"),
        ({"source": "parking"}, "`parking`"),
        ({"voided_at": VOIDED["voided_at"]}, "`void_reason`"),
        ({"void_reason": "twice"}, "`voided_at`"),
    ],
)
def test_an_entry_is_refused(members: Row, reason: str) -> None:
    assert reason in refusal(read_entries, cell({**ENTRY, **members}))


@pytest.mark.parametrize("member", ENTRY)
def test_an_entry_without_a_required_member_is_refused(member: str) -> None:
    row = {name: value for name, value in ENTRY.items() if name != member}
    assert f"0.{member}: Field required" in refusal(read_entries, cell(row))


def test_a_refusal_names_the_position_of_the_entry() -> None:
    assert refusal(read_entries, cell(ENTRY, {**ENTRY, "years": 0})).startswith("1.years: ")


@pytest.mark.parametrize("text", ["", "[", "{}", "5", "null", '["9.00"]'])
@pytest.mark.parametrize("read", [read_entries, read_sales, read_parking, read_decisions])
def test_a_cell_that_is_no_list_of_objects_is_refused(read: Callable[[str], object], text: str) -> None:
    assert refusal(read, text).endswith("Write JSON as the export does.")


@pytest.mark.parametrize(
    ("read", "code"),
    [
        (read_entries, "entries_invalid"),
        (read_sales, "sales_invalid"),
        (read_parking, "parking_invalid"),
        (read_decisions, "renewal_decisions_invalid"),
    ],
)
def test_a_refusal_has_the_code_of_its_column(read: Callable[[str], object], code: str) -> None:
    with pytest.raises(CellRefused) as raised:
        read("[")
    assert raised.value.code == code


@pytest.mark.parametrize(("read", "row"), [(read_entries, ENTRY), (read_sales, SALE), (read_parking, DAY)])
def test_a_cell_has_at_most_the_maximum_of_rows(read: Callable[[str], Sequence[object]], row: Row) -> None:
    assert len(read(cell(*[row] * amounts.MAX_ENTRIES))) == amounts.MAX_ENTRIES
    assert "at most 10000 items" in refusal(read, cell(*[row] * (amounts.MAX_ENTRIES + 1)))


def test_an_empty_list_is_read() -> None:
    assert [each("[]") for each in (read_entries, read_sales, read_parking, read_decisions)] == [[]] * 4


def test_a_sale_is_read() -> None:
    assert terms() == SaleTerms(
        gross=Money.of("900.00", "EUR"), sold_on=date(2024, 5, 6), fees=[], installments=[]
    )


def test_a_sale_has_its_terms() -> None:
    read = terms(
        commission={"amount": "90.00", "currency": "EUR"}, fees=[FEE], installments=[INSTALMENT], venue=" Sedo "
    )
    assert (read.commission, read.venue) == (Money.of("90.00", "EUR"), "Sedo")
    assert read.fees == [SaleFee(kind=EntryKind.ESCROW_FEE, money=Money.of("20.00", "EUR"), on=date(2024, 5, 7))]
    assert read.installments == [Installment(money=Money.of("300.00", "EUR"), on=date(2024, 6, 6))]


def test_a_fee_without_a_day_has_that_of_the_sale() -> None:
    [fee] = terms(fees=[{**FEE, "on": None}]).fees
    assert fee.on is None


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"amount": "-900.00"}, "amount"),
        ({"currency": "JPY"}, "JPY has no decimals"),
        ({"sold_on": None}, "sold_on"),
        ({"commission": {"amount": "-1.00", "currency": "EUR"}}, "A commission is zero or more"),
        ({"commission_rate": "1.1"}, "commission_rate"),
        ({"commission_rate": "0.1234567"}, "commission_rate"),
        ({"own_share": "-0.1"}, "own_share"),
        ({"fees": [{**FEE, "kind": None}]}, "A fee is one of"),
        ({"fees": [{**FEE, "kind": "renewal"}]}, "A fee is one of"),
        ({"installments": [{**INSTALMENT, "on": None}]}, "An instalment has a day"),
        ({"fees": [FEE] * (MAX_TERMS + 1)}, "at most 100 fees"),
        ({"installments": [INSTALMENT] * (MAX_TERMS + 1)}, "at most 100 fees"),
        ({"venue": "v" * 201}, "venue"),
        ({"buyer_ref": "a\u202eb"}, "buyer_ref"),
    ],
)
def test_a_sale_is_refused(members: Row, reason: str) -> None:
    assert reason in refusal(read_sales, cell({**SALE, **members}))


def test_a_day_of_parking_is_read() -> None:
    [day] = read_parking(cell({**DAY, "visits": 5, "clicks": 0, "reference": " "}))
    assert (day.money, day.on, day.provider) == (Money.of("0.50", "USD"), date(2025, 1, 1), "bodis")
    assert (day.visits, day.clicks, day.reference) == (5, 0, None)


@pytest.mark.parametrize(
    "members",
    [
        {"provider": " "},
        {"provider": "p" * 51},
        {"visits": -1},
        {"clicks": amounts.MAX_COUNT + 1},
        {"visits": 1.5},
        {"reference": "r" * 101},
        {"amount": "0.123456789"},
        {"on": "yesterday"},
    ],
)
def test_a_day_of_parking_is_refused(members: Row) -> None:
    refusal(read_parking, cell({**DAY, **members}))


def test_a_decision_is_read() -> None:
    [decision] = read_decisions(cell({**DECISION, "years": 2, "note": " keep "}))
    assert (decision.decision, decision.years, decision.note) == (RenewalDecision.RENEW, 2, "keep")


@pytest.mark.parametrize(
    "members",
    [{"decision": "maybe"}, {"years": 11}, {"years": 0}, {"note": "n" * 501}, {"snooze_until": "0001-01-01"}],
)
def test_a_decision_is_refused(members: Row) -> None:
    refusal(read_decisions, cell({**DECISION, **members}))


def test_a_domain_has_one_decision() -> None:
    refusal(read_decisions, cell(DECISION, DECISION))


def test_an_unknown_member_is_ignored() -> None:
    """An export of a later version can have more members."""
    assert entry(shipping="sea") == entry()


texts = st.none() | st.text("abcé 1", min_size=1, max_size=50).map(str.strip).map(lambda text: text or None)
days = st.dates(date(FIRST_YEAR, 1, 1), date(LAST_YEAR, 12, 31))
monies = st.builds(
    lambda units, currency: Money(Decimal(units).scaleb(-2), currency),
    st.integers(0, 10**17 - 1),
    st.sampled_from(["USD", "EUR"]),
)
times = st.integers(400_000_000, 4_000_000_000).map(lambda second: datetime.fromtimestamp(second, tz=UTC))
parts = st.none() | st.decimals(0, 1, places=6)
entries = st.builds(
    EntryFields,
    kind=st.sampled_from(sorted(set(EntryKind) - {EntryKind.SALE})),
    money=monies,
    occurred_on=days,
    source=st.sampled_from([EntrySource.MANUAL, EntrySource.IMPORT]),
    years=st.none() | st.integers(1, MAX_YEARS),
    registrar=texts,
    memo=texts,
    order_ref=texts,
    charge_key=st.none() | st.binary(min_size=32, max_size=32),
)
sales = st.builds(
    SaleTerms,
    gross=monies,
    sold_on=days,
    commission=st.none() | monies,
    commission_rate=parts,
    fees=st.lists(
        st.builds(SaleFee, kind=st.sampled_from(sorted(FEE_KINDS)), money=monies, on=st.none() | days), max_size=3
    ),
    installments=st.lists(st.builds(Installment, money=monies, on=days, received_on=st.none() | days), max_size=3),
    venue=texts,
    buyer_ref=texts,
)


def listed(*models: BaseModel) -> str:
    """The cell of an export."""
    return f"[{','.join(each.model_dump_json(exclude_none=True) for each in models)}]"


@given(entries)
def test_an_exported_entry_is_read_as_it_was(record: EntryFields) -> None:
    names = ("kind", "source", "years", "registrar", "memo", "order_ref")
    exported = PortfolioExportEntry.of(
        record.money,
        on=record.occurred_on,
        charge=record.charge_key and record.charge_key.hex(),
        **{name: getattr(record, name) for name in names},
    )
    assert [each.fields for each in read_entries(listed(exported))] == [record]


@given(sales)
def test_an_exported_sale_is_read_as_it_was(record: SaleTerms) -> None:
    names = ("sold_on", "commission", "commission_rate", "venue", "buyer_ref")
    exported = PortfolioExportSale.of(
        record.gross,
        fees=[PortfolioExportPayment.of(each.money, kind=each.kind, on=each.on) for each in record.fees],
        installments=[
            PortfolioExportPayment.of(each.money, on=each.on, received_on=each.received_on)
            for each in record.installments
        ],
        **{name: getattr(record, name) for name in names},
    )
    assert [each.terms for each in read_sales(listed(exported))] == [record]


@given(monies, days, st.none() | st.integers(0, amounts.MAX_COUNT), texts)
def test_an_exported_day_of_parking_is_read_as_it_was(
    money: Money, day: date, visits: int | None, reference: str | None
) -> None:
    exported = PortfolioExportRevenue.of(money, on=day, provider="bodis", visits=visits, reference=reference)
    [read] = read_parking(listed(exported))
    assert (read.money, read.on, read.visits, read.reference) == (money, day, visits, reference)


@given(st.sampled_from(RenewalDecision), st.none() | st.integers(1, 10), texts, st.none() | days, times)
def test_an_exported_decision_is_read_as_it_was(
    decision: RenewalDecision, years: int | None, note: str | None, snooze_until: date | None, at: datetime
) -> None:
    exported = PortfolioExportDecision(
        decision=decision, years=years, note=note, snooze_until=snooze_until, decided_at=at, expires_at=at
    )
    assert read_decisions(listed(exported)) == [exported]
