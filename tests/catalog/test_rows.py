"""The rows of a catalog file, without a database: values and errors."""

import io

import pytest
from hypothesis import given, strategies as st

from builders.catalog.catalog_file.cells import Json
from builders.catalog.catalog_file.loader import COLUMNS, CatalogSheet, FileRefused, Row
from builders.catalog.records import ReportLine
from tests.catalog.make import csv_of

CATEGORIES = ["music", "food", "short"]


def sheet(raw: bytes) -> CatalogSheet:
    file = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8-sig", errors="surrogateescape", newline="")
    return CatalogSheet(file, categories=CATEGORIES)


def values_of(**cells: str) -> dict[str, Json]:
    """Return the values of a row with these cells."""
    (row,) = sheet(csv_of([{"domain": "a.example", **cells}]))
    assert isinstance(row, Row), row
    return row.values


def faults_of(**cells: str) -> list[tuple[str | None, str]]:
    """Return column and code of each error of a row with these cells."""
    (row,) = sheet(csv_of([{"domain": "a.example", **cells}]))
    assert isinstance(row, list), row
    return [(line.column, line.code) for line in row]


def test_a_full_row_is_read() -> None:
    values = values_of(
        title=" Harbour ",
        description="Line one\r\nline two",
        categories="Food|music||food",
        tags="Sea|CALM",
        status="coming_soon",
        mail_mode="alias",
        catch_all="yes",
        price_amount="24.5",
        price_currency="eur",
        price_interval="month",
        price_tier="plus",
        short_name_prices="3:60|2:120.00",
        min_local_length="2",
        separator_policy="distinct",
        featured="TRUE",
        rank="-5",
        logo=" a.png ",
    )
    assert values == {
        "domain": "a.example",
        "title": "Harbour",
        "description": "Line one\nline two",
        "categories": ["food", "music"],
        "tags": ["sea", "calm"],
        "status": "coming_soon",
        "mail_mode": "alias",
        "catch_all": True,
        "price_amount": "24.50",
        "price_currency": "EUR",
        "price_interval": "month",
        "price_tier": "plus",
        "short_name_prices": [{"max_len": 2, "amount": "120.00"}, {"max_len": 3, "amount": "60.00"}],
        "min_local_length": 2,
        "separator_policy": "distinct",
        "featured": True,
        "rank": -5,
        "logo": "a.png",
    }


def test_a_blank_cell_has_the_default() -> None:
    blank = values_of(**dict.fromkeys(COLUMNS - {"domain"}, ""))
    assert blank["status"] == "live"
    assert blank["price_amount"] == "0.00"
    assert blank["price_currency"] == "USD"
    assert blank["categories"] == []
    assert blank["min_local_length"] == 1


def test_absent_columns_have_no_value() -> None:
    assert values_of() == {"domain": "a.example"}


@pytest.mark.parametrize(
    ("column", "cell", "code"),
    [
        ("domain", "localhost", "domain_invalid"),
        ("title", "x" * 81, "too_long"),
        ("title", "a\x07b", "character_invalid"),
        ("tagline", "x" * 141, "too_long"),
        ("description", "x" * 2001, "too_long"),
        ("categories", "food|muzic", "category_unknown"),
        ("categories", "a|b|c|d|e|f", "too_many"),
        ("tags", "|".join(map(str, range(21))), "too_many"),
        ("tags", "x" * 31, "too_long"),
        ("status", "alive", "value_unknown"),
        ("catch_all", "perhaps", "not_a_boolean"),
        ("price_amount", "12,50", "amount_invalid"),
        ("price_amount", "1.005", "amount_invalid"),
        ("price_amount", "-1", "amount_invalid"),
        ("price_amount", "1e9", "amount_invalid"),
        ("price_amount", "100000000", "amount_invalid"),
        ("min_local_length", "0", "number_invalid"),
        ("min_local_length", "11", "number_invalid"),
        ("rank", "1.5", "number_invalid"),
        ("rank", "٣", "number_invalid"),
        ("rank", "9" * 5000, "number_invalid"),
    ],
)
def test_an_invalid_cell_is_reported(column: str, cell: str, code: str) -> None:
    assert faults_of(**{column: cell}) == [(column, code)]


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        ({"price_currency": "dollars"}, ("price_currency", "currency_invalid")),
        ({"price_currency": "JPY", "price_amount": "1.50"}, ("price_amount", "amount_invalid")),
        ({"short_name_prices": "3"}, ("short_name_prices", "band_invalid")),
        ({"short_name_prices": "3:1|3:2"}, ("short_name_prices", "band_invalid")),
        ({"short_name_prices": "x:1"}, ("short_name_prices", "number_invalid")),
    ],
)
def test_an_invalid_price_is_reported(cells: dict[str, str], fault: tuple[str, str]) -> None:
    assert faults_of(**{"price_amount": "1.00", **cells}) == [fault]


def test_each_error_of_a_row_is_reported_with_its_line() -> None:
    found = list(sheet(b'domain,description,rank\nok.example,"two\nlines",1\n-,t,x\n\nlast.example,t,2\n'))
    assert [[(line.line, line.column) for line in each] for each in found if isinstance(each, list)] == [
        [(4, "domain"), (4, "rank")],
    ]
    assert [each.line for each in found if isinstance(each, Row)] == [2, 6]


def test_a_misspelled_value_gets_a_suggestion() -> None:
    (row,) = sheet(csv_of([{"domain": "a.example", "categories": "musik", "status": "life"}]))
    assert isinstance(row, list)
    assert [line.message.partition("Did you mean ")[2] for line in row] == ["music?", "live?"]


def test_a_row_with_more_cells_than_columns_is_reported() -> None:
    (row,) = sheet(b"domain,title\na.example,one,two\n")
    assert isinstance(row, list)
    assert [line.code for line in row] == ["too_many_cells"]


def test_missing_cells_at_the_end_of_a_row_are_blank() -> None:
    (row,) = sheet(b"domain,title,rank\na.example\n")
    assert isinstance(row, Row)
    assert row.values == {"domain": "a.example", "title": "", "rank": 0}


def test_bytes_that_are_not_utf8_are_reported_and_other_rows_are_read() -> None:
    first, second = sheet(b"domain,title\na.example,caf\xe9\nb.example,tea\n")
    assert isinstance(first, list)
    assert [(line.column, line.code) for line in first] == [("title", "not_utf8")]
    assert isinstance(second, Row)


@pytest.mark.parametrize("spoilt", ['a.example,"open', 'a.example,"open"x', '"', 'a.example,"open ""', 'a"b,"'])
@pytest.mark.parametrize("later", ["", 'y.example,"', 'y.example,open"', '"y.example,z'])
def test_an_open_quote_is_an_error_of_its_own_line_only(spoilt: str, later: str) -> None:
    good = [f"good{n}.example,title" for n in range(300)]
    raw = "\n".join(["domain,title", *good[:5], spoilt, *good[5:9], later, *good[9:]])
    found = list(sheet(raw.encode()))
    assert {each.domain for each in found if isinstance(each, Row)} >= {line.partition(",")[0] for line in good}
    bad = [line for each in found if isinstance(each, list) for line in each]
    assert (bad[0].line, bad[0].code) == (7, "csv_malformed")
    assert len(bad) == (2 if later else 1)


def test_a_byte_order_mark_and_the_case_of_the_header_do_not_matter() -> None:
    (row,) = sheet("\ufeffDomain , RANK\r\na.example,3\r\n".encode())
    assert isinstance(row, Row)
    assert row.values == {"domain": "a.example", "rank": 3}


def test_an_unknown_column_is_a_warning_with_a_suggestion() -> None:
    opened = sheet(b"domain,titel\na.example,x\n")
    assert [(line.column, line.code) for line in opened.warnings] == [("titel", "column_unknown")]
    assert "title" in opened.warnings[0].message
    assert [isinstance(each, Row) for each in opened] == [True]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"a.example\nb.example\n",
        b"domain;title\na.example;x\n",
        b"domain,domain\n",
        b"domain,title,title\n",
        b"domain,price_currency\na.example,EUR\n",
        b"domain,short_name_prices\na.example,3:1\n",
        b'"domain\n',
        b"\xff\xfed\x00o\x00m\x00a\x00i\x00n\x00",
    ],
)
def test_a_file_with_an_invalid_header_is_refused(raw: bytes) -> None:
    with pytest.raises(FileRefused) as refused:
        sheet(raw)
    assert refused.value.line.line == 1


@given(st.binary(max_size=200))
def test_each_row_of_any_bytes_is_valid_or_reported(dirt: bytes) -> None:
    raw = b"domain,title,tags,price_amount,rank,logo\nfirst.example,,,,,\n" + dirt
    seen = list(sheet(raw))
    for each in seen:
        if isinstance(each, Row):
            assert each.values["domain"]
        else:
            assert each
            assert all(isinstance(line, ReportLine) and line.message.isprintable() for line in each)
    assert isinstance(seen[0], Row)


@given(st.lists(st.text(max_size=20), min_size=1, max_size=6))
def test_any_text_in_any_column_is_read_or_reported(cells: list[str]) -> None:
    columns = ["title", "categories", "tags", "status", "short_name_prices", "rank"]
    row = {"domain": "a.example", "price_amount": "1", **dict(zip(columns, cells, strict=False))}
    found = list(sheet(csv_of([row])))
    assert found
    assert len(found) == 1 or not isinstance(found[0], Row)
