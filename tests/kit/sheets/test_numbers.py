"""Numbers as people write them: the file's own numbers show the decimal mark, and headers the currency."""

from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from builders.kit.http import slices
from builders.kit.sheets.cells import CellRefused
from builders.kit.sheets.kinds import Amount, Column, Count, Currency, Row, TableKind, list_kinds
from builders.kit.sheets.numbers import (
    AmountRules,
    DecimalMark,
    find_decimal_mark,
    is_ambiguous_number,
    read_amount,
    read_count,
)
from builders.kit.sheets.tables import DecimalNotation, Reading, SentTable, Source, TableOptions, opening


class TrafficRow(Row):
    """A row of a report."""

    domain = Column(read=str, required=True)
    revenue = Amount("einnahmen")
    currency = Currency()
    visits = Count("besucher", maximum=10**9)


TRAFFIC = TableKind(name="traffic of this test", row=TrafficRow)
POINT, COMMA = DecimalMark.POINT, DecimalMark.COMMA


def read(content: str, decimal_mark: DecimalNotation = DecimalNotation.AUTO) -> Reading[TrafficRow]:
    options = TableOptions(decimal_mark=decimal_mark)
    return slices.run_at_once(
        opening(TRAFFIC, SentTable(source=Source.FILE, content=content.encode(), options=options))
    )


def shown(
    content: str, decimal_mark: DecimalNotation = DecimalNotation.AUTO
) -> list[tuple[str, int | None, list[str]]]:
    return [
        (str(row.revenue), row.visits, [each.code for each in (*row.errors, *row.warnings)])
        for row in read(content, decimal_mark).rows()
    ]


@pytest.mark.parametrize(
    ("cell", "mark"),
    [
        *(("12.50", POINT), ("12,50", COMMA), ("1,499.00", POINT), ("1.499,00 €", COMMA), ("$1.5", POINT)),
        *(("1.234.567", COMMA), ("1,234,567", POINT), ("0.125", POINT), ("0,125", COMMA), ("1234.567", POINT)),
        *(("1.120", None), ("1,120", None), ("1120", None), ("", None), ("1.2.3", None), ("fr. 12", None)),
        *((".50", POINT), ("1 499,00", COMMA), ("(12.50)", POINT), ("1'499.00", POINT)),
    ],
)
def test_a_number_proves_a_decimal_mark(cell: str, mark: DecimalMark | None) -> None:
    assert find_decimal_mark(cell) is mark


def test_visits_of_thousands_are_read_as_the_other_numbers_say() -> None:
    german = "Domain;Besucher;Einnahmen\na.com;1.120;12,50\nb.com;980;1.234,00\n"
    assert shown(german) == [("12.50 USD", 1120, []), ("1234.00 USD", 980, [])]
    english = 'domain,visits,revenue\na.com,"1,120",12.50\nb.com,980.00,"1,234.00"\n'
    assert shown(english) == [("12.50 USD", 1120, []), ("1234.00 USD", 980, [])]
    assert read(german).detected.decimal_mark is COMMA
    assert read(english).detected.decimal_mark is POINT


def test_an_ambiguous_number_is_read_as_thousands_with_a_warning() -> None:
    content = "domain,visits,revenue\na.com,1.120,2.500\n"
    assert shown(content) == [("2500.00 USD", 1120, ["number_ambiguous", "number_ambiguous"])]
    assert read(content).detected.numbers_ambiguous
    [row] = read(content).rows()
    assert "read as 1,120" in row.warnings[1].message


def test_a_request_sets_the_decimal_mark() -> None:
    content = "domain,visits,revenue\na.com,1.120,2.500\n"
    assert shown(content, DecimalNotation.COMMA) == [("2500.00 USD", 1120, [])]
    assert shown(content, DecimalNotation.POINT) == [("2.50 USD", None, ["number_invalid"])]


def test_numbers_that_prove_both_marks_are_read_alone() -> None:
    content = "domain;visits;revenue\na.com;1.120;12,50\nb.com;1;12.50\n"
    assert shown(content) == [("12.50 USD", 1120, ["number_ambiguous"]), ("12.50 USD", 1, [])]


def test_a_currency_of_three_decimals_keeps_its_point() -> None:
    assert shown("domain,revenue,currency\na.com,1.120,KWD\n") == [("1.120 KWD", None, [])]


@pytest.mark.parametrize(
    ("header", "cell", "amount"),
    [
        *(
            ("Revenue (USD)", "5", "5.00 USD"),
            ("Revenue (€)", "5", "5.00 EUR"),
            ("Revenue [gbp]", "5", "5.00 GBP"),
        ),
        *(("Einnahmen (EUR, netto)", "5,50", "5.50 EUR"), ("Revenue (net)", "5", "5.00 USD")),
        *(("Revenue (EUR)", "5 €", "5.00 EUR"), ("Revenue", "£5", "5.00 GBP")),
    ],
)
def test_a_header_has_the_currency_of_its_amounts(header: str, cell: str, amount: str) -> None:
    assert shown(f'domain;"{header}"\na.com;{cell}\n') == [(amount, None, [])]


@pytest.mark.parametrize("row", ["a.com,$5,", "a.com,5,USD"])
def test_a_currency_that_differs_from_the_header_is_a_conflict(row: str) -> None:
    assert shown(f"domain,Revenue (EUR),currency\n{row}\n")[0] == ("None", None, ["currency_conflict"])


def test_amounts_in_several_currencies_are_not_mixed() -> None:
    reading = read("domain,Revenue (EUR),Revenue (USD)\na.com,,5\nb.com,4,5\n")
    assert [str(row.revenue) for row in reading.rows()] == ["None", "4.00 EUR"]
    assert [each.column for each in reading.detected.unmapped_columns] == ["Revenue (USD)"]


def test_a_stablecoin_is_named_in_a_cell_or_beside_it() -> None:
    found = shown("domain,einnahmen,currency\na.com,5 USDC,\nb.com,5,usdt\nc.com,5 USDX,\n")
    assert [each[0] for each in found] == ["5.00 USDC", "5.00 USDT", "None"]


def test_a_percentage_is_no_amount() -> None:
    detected = read("domain,visits,Revenue (%)\na.com,5,5\n").detected
    assert [each.column for each in detected.unmapped_columns] == ["Revenue (%)"]


def test_each_header_means_one_column() -> None:
    for kind in list_kinds():
        headers = [header for each in kind.row.columns.values() for header in each.headers]
        assert {each for each in headers if headers.count(each) > 1} == set(), kind.name


def test_each_format_names_its_source() -> None:
    for kind in list_kinds():
        for form in kind.formats.values():
            assert form.id == "generic" or (form.source and form.read_on), form.id


AMOUNTS = st.decimals(0, 10**9, places=2)


def written(amount: Decimal, mark: DecimalMark, *, grouped: bool) -> str:
    text = f"{amount:,.2f}" if grouped else f"{amount:.2f}"
    return text if mark is POINT else text.translate({ord(","): ".", ord("."): ","})


@given(AMOUNTS, st.sampled_from(DecimalMark), st.booleans())
def test_amounts_are_read_in_either_notation(amount: Decimal, mark: DecimalMark, grouped: bool) -> None:
    text = written(amount, mark, grouped=grouped)
    assert find_decimal_mark(text) is mark
    for known in (mark, None):
        money = read_amount(text, AmountRules(currency=None, default_currency="EUR", decimal_mark=known))
        assert money is not None
        assert money.amount == amount


@given(st.integers(0, 10**9), st.sampled_from(DecimalMark))
def test_counts_are_read_in_either_notation(count: int, mark: DecimalMark) -> None:
    text = written(Decimal(count), mark, grouped=True)[:-3]
    assert read_count(text, 10**9, mark) == count
    assert read_count(str(count), 10**9, mark) == count
    assert read_count(text, 10**9, None) == count


@given(st.text(alphabet="0123456789.,' -$€", max_size=12), st.sampled_from([None, POINT, COMMA]))
def test_no_number_raises_anything_else(text: str, mark: DecimalMark | None) -> None:
    rules = AmountRules(currency=None, default_currency="USD", decimal_mark=mark)
    find_decimal_mark(text)
    is_ambiguous_number(text)
    for read_cell in (lambda: read_count(text, 10**9, mark), lambda: read_amount(text, rules)):
        try:
            read_cell()
        except CellRefused:
            continue
