"""Numbers as people write them: the file's own numbers show the decimal mark, and headers the currency."""

import tomllib
from decimal import Decimal
from importlib.resources import files

import pytest
from hypothesis import given, strategies as st

from builders.kit.http import slices
from builders.kit.sheets.cells import CellRefused
from builders.kit.sheets.columns import Amount, Column, Count, Currency, Row
from builders.kit.sheets.kinds import TableKind, list_kinds
from builders.kit.sheets.numbers import (
    AmountRules,
    DecimalMark,
    find_amount,
    find_decimal_mark,
    is_ambiguous_number,
    read_amount,
    read_count,
)
from builders.kit.sheets.sources import DecimalNotation, SentTable, Source, TableOptions
from builders.kit.sheets.tables import Reading, opening
from builders.kit.values.money import CURRENCIES


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


# Amounts of public price lists, exports and bills, and what people type: the currency of the row, that of the
# account, the amount, and the symbol that is said to be a guess.
WRITTEN = [
    *(("$1,234.56 USD", None, None, "1234.56 USD", None), ("1.250,00 kr", "DKK", None, "1250.00 DKK", None)),
    *(("Rp 150.000", "IDR", None, "150000.00 IDR", None), ("RM 45.90", None, None, "45.90 MYR", None)),
    *(("R 120.00", None, None, "120.00 ZAR", "R"), ("R 120.00", None, "ZAR", "120.00 ZAR", None)),
    *(("120 Kč", None, None, "120.00 CZK", None), ("69元", None, None, "69.00 CNY", "元")),
    *(("RMB 69.00", None, None, "69.00 CNY", None), ("SFr. 1'234.50", None, None, "1234.50 CHF", None)),
    *(("$12.00/yr", None, "USD", "12.00 USD", None), ("12.00*", None, None, "12.00 USD", None)),
    *(("$12.17 USD", None, None, "12.17 USD", None), ("$12.50", None, "CAD", "12.50 CAD", None)),
    *(("$12.50", None, "EUR", "12.50 USD", "$"), ("1,234.56 USD", None, None, "1234.56 USD", None)),
    *(("12,50 EUR", None, None, "12.50 EUR", None), ("€ 7", None, None, "7.00 EUR", None)),
    *(("120 ብር", None, None, "120.00 ETB", None), ("රු. 45", None, None, "45.00 LKR", None)),
    *(("3,00", None, None, "3.00 USD", None), ("Rs.500", "INR", None, "500.00 INR", None)),
    *(("₹1,23,456.00", None, None, "123456.00 INR", None), ("12,- €", None, None, "12.00 EUR", None)),
    *(("12.\u2013 CHF", None, None, "12.00 CHF", None), ("５００円", None, None, "500 JPY", None)),
    *(
        ("￥500", None, "CNY", "500.00 CNY", None),
        ("\u0661\u0662\u066b\u0665\u0660 د.إ", None, None, "12.50 AED", None),
    ),
    *(("US $12.50", "USD", None, "12.50 USD", None), ("CLP$ 1.200", None, None, "1200 CLP", None)),
    *(("12 kr.", None, "NOK", "12.00 NOK", None), ("£5", "EGP", None, "5.00 EGP", None)),
    *(("£5", None, None, "5.00 GBP", None), ("12 € p.a.", None, None, "12.00 EUR", None)),
    *(("S/.12", None, None, "12.00 PEN", None), ("1 234,50 zł", None, None, "1234.50 PLN", None)),
    *(("1\u2019234.50", "CHF", None, "1234.50 CHF", None), ("USD 12.00 / year*", None, None, "12.00 USD", None)),
    *(("69元/年", "CNY", None, "69.00 CNY", None), ("\u200e12.50 ₪", None, None, "12.50 ILS", None)),
]


# No separator of thousands stands so: a decimal comma with too many decimals, two numbers, or a typing error.
MISGROUPED = [
    "0,123",
    ",123",
    "1234,567",
    "12 50",
    "1 2 3",
    "0 500",
    "1 2345",
    "12'50",
    "1'234 567",
    "1.23.456",
    "1,,234",
]


def test_thousands_are_in_groups() -> None:
    rules = AmountRules(currency=None, default_currency="EUR", decimals=4)
    for text, amount in (("0,123", "0.123"), (",0375", "0.0375"), ("1 234,5678", "1234.5678"), ("0,500", "0.5")):
        found = read_amount(text, rules)
        assert found is not None, text
        assert found.amount == Decimal(amount), text
    for text in (*MISGROUPED, "12,5", "12,00"):
        with pytest.raises(CellRefused):
            read_count(text, 10**9, None)
    counts = ("1 234", "1'234'567", "1,23,456", "1,234.00")
    assert [read_count(each, 10**9, None) for each in counts] == [1234, 1_234_567, 123_456, 1234]


def test_amounts_of_public_files_are_read_and_a_guess_is_said() -> None:
    for cell, currency, home, amount, assumed in WRITTEN:
        found = find_amount(cell, AmountRules(currency, "USD", home_currency=home))
        assert found is not None, cell
        assert (str(found.money), found.assumed) == (amount, assumed), cell


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        *(("$12 EUR", "currency_conflict"), ("12 €/month", "amount_monthly"), ("12.00²", "amount_invalid")),
        *(("5*3", "amount_invalid"), ("12k", "amount_invalid"), ("12 / domain", "amount_invalid")),
        *(("1,234 567", "amount_invalid"), ("10, 20", "amount_invalid")),
        *((each, "amount_invalid") for each in MISGROUPED),
        *(("-$5", "amount_negative"), ("5 $-", "amount_invalid"), ("$", "amount_invalid")),
    ],
)
def test_what_is_no_single_amount_is_refused(cell: str, code: str) -> None:
    with pytest.raises(CellRefused) as refused:
        find_amount(cell, AmountRules(currency=None, default_currency="USD"))
    assert refused.value.code == code


def test_each_symbol_has_a_currency_of_iso_4217() -> None:
    table = tomllib.loads(files("builders.kit.sheets").joinpath("currency_symbols.toml").read_text("utf-8"))
    shared = {code for group in ("shared", "also") for codes in table[group].values() for code in codes}
    assert {*table["symbols"], *shared} <= CURRENCIES
    symbols = [each for group in table["symbols"].values() for each in group] + [*table["shared"]]
    assert {each for each in symbols if symbols.count(each) > 1} == set()
    assert [each for each in symbols if each != each.casefold().removesuffix(".")] == []


def test_a_symbol_in_the_column_of_currencies_counts_for_the_row() -> None:
    rows = read("domain,revenue,currency\na.com,12,$\nb.com,12 $,CAD\nc.com,12,元\n").rows()
    assert [str(each.revenue) for each in rows] == ["12.00 USD", "12.00 CAD", "12.00 CNY"]
