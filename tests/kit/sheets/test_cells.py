"""Values of cells as vendors and people write them."""

import tomllib
from contextlib import suppress
from datetime import UTC, date, datetime
from importlib.resources import files

import pytest
from hypothesis import given, strategies as st

from builders.kit.sheets import cells, numbers
from builders.kit.sheets.cells import CellRefused, DateFormat
from builders.kit.sheets.numbers import AmountRules
from builders.kit.values.money import Money

DAY = date(2021, 11, 24)


@pytest.mark.parametrize(
    "cell",
    [
        *(
            "2021-11-24",
            "2021/11/24",
            "2021.11.24",
            "20211124",
            "11/24/2021",
            "11-24-2021",
            "24.11.2021",
            "24. Nov 2021",
        ),
        *("Nov 24 2021", "Nov 24, 2021", "November 24th, 2021", "24 Nov 2021", "24-Nov-2021", " 2021-11-24 "),
    ],
)
def test_dates_are_read(cell: str) -> None:
    assert cells.read_moment(cell, DateFormat.MDY) == DAY


@pytest.mark.parametrize(
    ("cell", "moment"),
    [
        ("2021/11/24 11:43 PST", datetime(2021, 11, 24, 19, 43, tzinfo=UTC)),
        ("2027/04/25 07:59 PRC", datetime(2027, 4, 24, 23, 59, tzinfo=UTC)),
        ("2027-12-04 00:00:00+02", datetime(2027, 12, 3, 22, tzinfo=UTC)),
        ("2027-12-04 00:00:00 -0330", datetime(2027, 12, 4, 3, 30, tzinfo=UTC)),
        ("2027-01-05 10:00 America/Los_Angeles", datetime(2027, 1, 5, 18, tzinfo=UTC)),
        ("2027-07-05 10:00 america/los_angeles", datetime(2027, 7, 5, 17, tzinfo=UTC)),
        ("2027-01-05 10:00 (JST)", datetime(2027, 1, 5, 1, tzinfo=UTC)),
        ("2027-01-05 10:00 UTC+8", datetime(2027, 1, 5, 2, tzinfo=UTC)),
        ("05.01.2027 10:00 MEZ", datetime(2027, 1, 5, 9, tzinfo=UTC)),
        ("11/24/2021 11:43 PM EST", datetime(2021, 11, 25, 4, 43, tzinfo=UTC)),
        (
            "2027-01-05 10:00 XYZ",
            datetime(2027, 1, 5, 10, tzinfo=UTC),
        ),  # unknown: UTC, with a warning of the table
        ("2021-11-24T11:43:05Z", datetime(2021, 11, 24, 11, 43, 5, tzinfo=UTC)),
        ("2021-11-24 11:43:05.250+01:00", datetime(2021, 11, 24, 10, 43, 5, 250_000, tzinfo=UTC)),
        ("11/24/2021 11:43 PM", datetime(2021, 11, 24, 23, 43, tzinfo=UTC)),
        ("1637783003123", datetime(2021, 11, 24, 19, 43, 23, tzinfo=UTC)),
        ("1637783003", datetime(2021, 11, 24, 19, 43, 23, tzinfo=UTC)),
    ],
)
def test_times_are_read_as_utc(cell: str, moment: datetime) -> None:
    assert cells.read_moment(cell, DateFormat.MDY) == moment
    assert cells.read_date(cell, DateFormat.MDY) == moment.date()


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("2023-02-29", "calendar"),
        ("13/13/2021", "calendar"),
        ("24/11/2021", "calendar"),
        ("11/24/21", "two digits"),
        ("soon", "not a date"),
        ("44524", "not a date"),
        ("Foo 24 2021", "not a date"),
        ("1021-11-24", "between"),
        ("2021-11-24 25:00", "calendar"),
        ("2021-11-24 10:00+25", "calendar"),
    ],
)
def test_dates_that_mean_nothing_are_refused_with_advice(cell: str, why: str) -> None:
    with pytest.raises(CellRefused, match=why) as refused:
        cells.read_moment(cell, DateFormat.MDY)
    assert "YYYY-MM-DD" in str(refused.value)


def test_the_order_of_day_and_month() -> None:
    assert cells.find_date_format("24/11/2021") is DateFormat.DMY
    assert cells.find_date_format("11/24/2021") is DateFormat.MDY
    assert cells.find_date_format("05/06/2021") is None
    assert cells.find_date_format("24.11.2021") is None  # a dot means day first already
    assert cells.is_ambiguous("05/06/2021")
    assert not cells.is_ambiguous("05/05/2021")
    assert cells.read_date("05/06/2021", DateFormat.DMY) == date(2021, 6, 5)
    assert cells.read_date("05/06/2021", DateFormat.MDY) == date(2021, 5, 6)
    assert cells.read_date("0000-00-00", DateFormat.MDY) is None


@pytest.mark.parametrize(
    ("cell", "currency", "amount"),
    [
        ("$ 18.99", None, "18.99 USD"),
        ("$18.99", "CAD", "18.99 CAD"),
        ("18.99", "EUR", "18.99 EUR"),
        ("18,99 €", None, "18.99 EUR"),
        ("1.234,50", "EUR", "1234.50 EUR"),
        ("1,234.50", None, "1234.50 USD"),
        ("1,234", None, "1234.00 USD"),
        ("1.234.567", "EUR", "1234567.00 EUR"),
        ("1'234.50 CHF", None, "1234.50 CHF"),
        ("US$ 5", "USD", "5.00 USD"),
        ("£.50", None, "0.50 GBP"),
        ("usd 18.9900", None, "18.99 USD"),
        ("¥1200", None, "1200 JPY"),
        ("1.234", "KWD", "1.234 KWD"),
    ],
)
def test_amounts_are_read(cell: str, currency: str | None, amount: str) -> None:
    found = numbers.read_amount(cell, AmountRules(currency=currency, default_currency="USD"))
    assert str(found) == amount


@pytest.mark.parametrize(
    ("cell", "currency", "code"),
    [
        ("¥1200.50", None, "amount_invalid"),
        ("1200.00", "JPY", "amount_invalid"),
        ("€5", "USD", "currency_conflict"),
        ("$5", "EUR", "currency_conflict"),
        ("-5", None, "amount_negative"),
        ("(5.00)", None, "amount_negative"),
        ("$-5", None, "amount_negative"),
        ("make offer", None, "amount_invalid"),
        ("1.2.3", None, "amount_invalid"),
        ("99999999999999999", None, "amount_invalid"),
    ],
)
def test_amounts_that_mean_nothing_are_refused(cell: str, currency: str | None, code: str) -> None:
    with pytest.raises(CellRefused) as refused:
        numbers.read_amount(cell, AmountRules(currency=currency, default_currency="USD"))
    assert refused.value.code == code


def test_blank_amounts_and_currencies() -> None:
    rules = AmountRules(currency=None, default_currency="EUR", zero_is_blank=True)
    assert [numbers.read_amount(each, rules) for each in ("", "-", "n/a", "0.00", "$0")] == [None] * 5
    assert numbers.read_amount("5", rules) == Money.of("5", "EUR")
    assert [numbers.read_currency(each) for each in ("usd", "€", "", "$")] == ["USD", "EUR", None, "USD"]
    with pytest.raises(CellRefused, match="ISO 4217"):
        numbers.read_currency("dollars")


def test_yes_and_no_are_known_in_the_languages_of_headers() -> None:
    words = tomllib.loads(files("builders.kit.sheets").joinpath("flags.toml").read_text(encoding="utf-8"))
    yes, no = ([each for found in words[name].values() for each in found] for name in ("yes", "no"))
    assert not {*yes} & {*no}
    assert (len({*yes}), len({*no})) == (len(yes), len(no))
    assert {cells.read_flag(each) for each in (*yes, *map(str.upper, yes))} == {True}
    assert {cells.read_flag(each) for each in (*no, *map(str.upper, no))} == {False}
    assert [cells.read_flag(each) for each in ("Tak", "Да", "Evet", "是", "HAYIR")] == [*[True] * 4, False]


def test_flags_and_numbers() -> None:
    assert [cells.read_flag(each) for each in ("On", "LOCKED", "auto renew", "Full Privacy", "x", "1")] == [
        True
    ] * 6
    assert [cells.read_flag(each) for each in ("Off", "Unlocked", "do not renew", "NOTPRESENT", "0")] == [
        False
    ] * 5
    assert cells.read_flag(" ") is None
    with pytest.raises(CellRefused, match="yes or no"):
        cells.read_flag("perhaps")
    assert cells.number(10)("3") == 3
    assert [cells.number(10**6)(each) for each in ("1,234", "12 345", "100000")] == [1_234, 12_345, 100_000]
    for each in ("1,0", "1 0", "0 1,2", "1,2345"):  # decimals, or two numbers
        with pytest.raises(CellRefused, match="whole number"):
            cells.number(10**6)(each)
    with pytest.raises(CellRefused, match="1 to 10"):
        cells.number(10)("11")
    assert str(cells.read_percent("12.5 %")) == "12.5"
    with pytest.raises(CellRefused, match="percentage"):
        cells.read_percent("120")


# A space, NBSP, controls, BOM, zero-width and bidirectional characters, fillers, joiner, selectors.
INVISIBLE = " \u00a0\t\x00\x7f\x85\ufeff\u200b\u200d\u2060\u202e\u2066\u2028\u3164\u2800\u034f\ufe0f\U000e0020"


@pytest.mark.parametrize("invisible", INVISIBLE, ids=ascii)
def test_a_formula_behind_invisible_characters_is_neutralized(invisible: str) -> None:
    for text in (f"{invisible}=1+1", f"{invisible * 9}@x", f"\u200b{invisible}-1"):
        assert cells.safe_cell(text) == f"'{text}"
        assert cells.original_text(cells.reversible_cell(text)) == text


@pytest.mark.parametrize("text", [" a=1", "\u200bharbour.com", "a-b", "1", "", " ", "\u200b'=1"], ids=ascii)
def test_a_text_that_is_no_formula_is_unchanged(text: str) -> None:
    assert cells.safe_cell(text) == cells.reversible_cell(text) == text


@given(st.text(max_size=20) | st.from_regex(r"'*[=+@-].{0,5}") | st.text(f"'=-{INVISIBLE}", max_size=9))
def test_escaped_cells_are_read_unchanged(text: str) -> None:
    written = cells.reversible_cell(text)
    assert not cells.is_formula(written)
    assert cells.original_text(written) == text


@given(st.text(max_size=30))
def test_no_cell_raises_anything_else(text: str) -> None:
    for read in (
        lambda: cells.read_moment(text, DateFormat.MDY),
        lambda: numbers.read_amount(text, AmountRules(currency=None, default_currency="USD")),
        lambda: cells.read_flag(text),
        lambda: cells.number(10)(text),
        lambda: cells.read_percent(text),
        lambda: numbers.read_currency(text),
    ):
        with suppress(CellRefused):
            read()
