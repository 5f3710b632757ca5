"""The rows of a catalog file, without a database: values and errors."""

import pytest
from hypothesis import given, strategies as st

from builders.catalog.catalog_file.loader import CatalogRow, Json, open_file, values_of as values_of_row
from builders.kit.errors import Invalid
from tests.catalog.make import csv_of


def rows_of(raw: bytes) -> list[CatalogRow]:
    return list(open_file(raw).rows())


def row_of(**cells: str) -> CatalogRow:
    """Return a row with these cells."""
    (row,) = rows_of(csv_of([{"domain": "a.example", **cells}]))
    return row


def values_of(**cells: str) -> dict[str, Json]:
    """Return the values of a row with these cells."""
    row = row_of(**cells)
    assert not row.errors
    return values_of_row(row)


def errors_of(row: CatalogRow) -> list[tuple[str | None, str]]:
    """Return column and code of each error of a row."""
    return [(each.field, each.code) for each in row.errors]


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
    blank = values_of(**dict.fromkeys(CatalogRow.columns.keys() - {"domain"}, ""))
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
        ("status", "alive", "value_unknown"),
        ("catch_all", "perhaps", "flag_invalid"),
        ("price_amount", "1.0055", "amount_invalid"),
        ("price_amount", "-1", "amount_negative"),
        ("price_amount", "1e9", "amount_invalid"),
        ("price_amount", "100000000", "amount_invalid"),
        ("min_local_length", "0", "number_invalid"),
        ("min_local_length", "11", "number_invalid"),
        ("short_name_prices", "3", "band_invalid"),
        ("short_name_prices", "3:1|3:2", "band_invalid"),
        ("short_name_prices", "x:1", "number_invalid"),
    ],
)
def test_a_bad_cell_of_a_price_or_a_rule_refuses_its_row(column: str, cell: str, code: str) -> None:
    assert errors_of(row_of(**{"price_amount": "1.00", column: cell})) == [(column, code)]


@pytest.mark.parametrize(
    ("column", "cell", "code"),
    [
        ("title", "x" * 81, "text_too_long"),
        ("title", "a\x07b", "text_form"),
        ("tagline", "x" * 141, "text_too_long"),
        ("description", "x" * 2001, "text_too_long"),
        ("categories", "a|b|c|d|e|f", "too_many_words"),
        ("tags", "|".join(map(str, range(21))), "too_many_words"),
        ("tags", "x" * 31, "text_too_long"),
        ("rank", "1.5", "number_invalid"),
        ("rank", "٣", "number_invalid"),
        ("rank", "9" * 5000, "number_invalid"),
    ],
)
def test_another_bad_cell_is_ignored_with_a_warning(column: str, cell: str, code: str) -> None:
    row = row_of(**{column: cell})
    assert ([(each.field, each.code) for each in row.warnings], row.errors) == ([(column, code)], [])
    assert column not in values_of_row(row)


def test_a_price_in_a_currency_that_cannot_be_read_is_refused() -> None:
    assert errors_of(row_of(price_currency="dollars", price_amount="1.00")) == [
        ("price_currency", "currency_invalid"),
        ("price_amount", "currency_invalid"),
    ]
    assert errors_of(row_of(price_currency="JPY", price_amount="1.50")) == [("price_amount", "amount_invalid")]


def test_each_error_of_a_row_is_reported_with_its_line() -> None:
    found = rows_of(b'domain,description,status\nok.example,"two\nlines",live\n-x,t,x\n\nlast.example,t,live\n')
    assert [(each.position, errors_of(each)) for each in found] == [
        *((2, []), (4, [("domain", "domain_invalid"), ("status", "value_unknown")]), (6, [])),
    ]


def test_a_misspelled_value_gets_a_suggestion() -> None:
    assert row_of(status="life").errors[0].did_you_mean == "live"


def test_a_row_with_more_cells_than_columns_is_reported() -> None:
    (row,) = rows_of(b"domain,title\na.example,one,two\n")
    assert errors_of(row) == [(None, "too_many_cells")]


def test_missing_cells_at_the_end_of_a_row_are_blank() -> None:
    (row,) = rows_of(b"domain,title,rank\na.example\n")
    assert values_of_row(row) == {"domain": "a.example", "title": "", "rank": 0}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_file_of_any_encoding_and_delimiter_is_read(encoding: str) -> None:
    (row,) = rows_of("Domain ; TITLE\r\na.example;café\r\n".encode(encoding))
    assert values_of_row(row) == {"domain": "a.example", "title": "café"}


@pytest.mark.parametrize("spoilt", ['a.example,"open', 'a.example,"open"x', '"', 'a.example,"open ""', 'a"b,"'])
@pytest.mark.parametrize("later", ["", 'y.example,"', 'y.example,open"', '"y.example,z'])
def test_an_open_quote_is_an_error_of_its_own_line_only(spoilt: str, later: str) -> None:
    good = [f"good{n}.example,title" for n in range(300)]
    raw = "\n".join(["domain,title", *good[:5], spoilt, *good[5:9], later, *good[9:]])
    found = rows_of(raw.encode())
    assert {each.domain for each in found if not each.errors} >= {line.partition(",")[0] for line in good}
    bad = [each for each in found if each.errors]
    assert (bad[0].position, bad[0].errors[0].code) == (7, "csv_malformed")
    assert len(bad) == (2 if later else 1)


def test_an_unknown_column_gets_a_suggestion() -> None:
    [unmapped] = open_file(b"domain,titel\na.example,x\n").detected.unmapped_columns
    assert (unmapped.column, unmapped.did_you_mean) == ("titel", "title")


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "header_invalid"),
        (b"a.example\nb.example\n", "header_invalid"),
        (b"name,rank\na.example,1\n", "column_missing"),
        (b"title,rank\na.example,1\n", "column_missing"),
        (b"domain,price_currency\na.example,EUR\n", "header_invalid"),
        (b"domain,short_name_prices\na.example,3:1\n", "header_invalid"),
    ],
)
def test_a_file_with_an_invalid_header_is_refused(raw: bytes, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        open_file(raw)
    assert refused.value.code == code


@given(st.binary(max_size=200).map(lambda raw: raw.replace(b"\0", b"?")))  # many NULs are UTF-16
def test_each_row_of_any_bytes_is_valid_or_reported(dirt: bytes) -> None:
    first, *others = rows_of(b"domain,title,tags,price_amount,rank,logo\nfirst.example,,,,,\n" + dirt)
    assert not first.errors
    for each in (first, *others):
        assert each.errors or values_of_row(each)["domain"]


@given(st.lists(st.text(max_size=20), min_size=1, max_size=6))
def test_any_text_in_any_column_is_read_or_reported(cells: list[str]) -> None:
    columns = ["title", "categories", "tags", "status", "short_name_prices", "rank"]
    row = {"domain": "a.example", "price_amount": "1", **dict(zip(columns, cells, strict=False))}
    assert rows_of(csv_of([row]))
