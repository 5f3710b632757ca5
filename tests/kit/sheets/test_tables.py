"""One reader for every table that comes in: columns, formats, and what a bad cell does."""

from typing import Any

import pytest

from builders.kit.errors import Invalid
from builders.kit.http import slices
from builders.kit.sheets.cells import number, text
from builders.kit.sheets.columns import Amount, Column, Currency, Day, Row
from builders.kit.sheets.kinds import TableKind, list_kinds
from builders.kit.sheets.sources import DateNotation, SentTable, Source, TableOptions
from builders.kit.sheets.tables import Reading, opening
from tests.published import published

IMPORTS = (
    "/v1/portfolio/import",
    "/v1/portfolio/registrars/inventory/import",
    "/v1/portfolio/registrars/billing/import",
    "/v1/portfolio/parking/revenue",
)


class PaymentRow(Row):
    """A payment of a bank."""

    paid_on = Day("date", "datum", required=True)
    amount = Amount("betrag", required=True)
    currency = Currency("währung")
    payee = Column("empfänger", read=text(10))
    months = Column(read=number(12))


PAYMENTS = TableKind(name="payments of this test", row=PaymentRow, has_totals=True, requires_date_order=True)


def read(content: str, encoding: str = "utf-8", **options: Any) -> Reading[PaymentRow]:
    sent = SentTable(source=Source.FILE, content=content.encode(encoding), options=TableOptions(**options))
    return slices.run_at_once(opening(PAYMENTS, sent))


def codes(row: Row) -> tuple[list[str], list[str]]:
    return [each.code for each in row.errors], [each.code for each in row.warnings]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_columns_are_found_by_their_headers_in_any_encoding(encoding: str) -> None:
    reading = read("Datum;Betrag;Währung;Empfänger\n31.12.2026;1.234,50;EUR;Café\n", encoding)
    [row] = reading.rows()
    assert (str(row.paid_on), str(row.amount), row.payee) == ("2026-12-31", "1234.50 EUR", "Café")


def test_a_bad_optional_cell_is_a_warning_and_the_row_goes_in() -> None:
    [row] = read("date,amount,payee,months\n2026-01-02,5,A very long name,13\n").rows()
    assert codes(row) == ([], ["text_too_long", "number_invalid"])
    assert (str(row.amount), row.payee, row.months) == ("5.00 USD", None, None)


def test_a_bad_or_blank_required_cell_refuses_its_row_alone() -> None:
    rows = read("date,amount\n2026-01-02,much\n,5\n2026-01-02,5\n").rows()
    assert [codes(each)[0] for each in rows] == [["amount_invalid"], ["paid_on_missing"], []]


def test_an_amount_whose_currency_cannot_be_read_is_bad() -> None:
    [row] = read("date,amount,currency\n2026-01-02,5,taler\n").rows()
    assert codes(row) == (["currency_invalid"], ["currency_invalid"])


def test_a_sum_of_other_rows_is_no_row() -> None:
    _, row = read("date,amount\n2026-01-02,5\nTotal,5\n").rows()
    assert (row.is_total, codes(row)) == (True, ([], ["total_row"]))


def test_a_mapping_names_columns_that_are_not_recognized() -> None:
    detected = read("Tag,Betrag\n2026-01-02,5\n", mapping={"paid_on": "tag"}).detected
    assert detected.mapping == {"paid_on": "Tag", "amount": "Betrag"}


@pytest.mark.parametrize(
    ("content", "options", "code"),
    [
        ("date,payee\n2026-01-02,x\n", {}, "column_missing"),
        ("date,amount\n", {"mapping": {"payee": "whom"}}, "mapping_invalid"),
        ("date,amount\n", {"format": "bank"}, "format_unknown"),
        ("date,amount\n02/03/2026,5\n", {}, "dates_ambiguous"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(content: str, options: dict[str, Any], code: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(content, **options)
    assert refused.value.code == code


def test_a_date_proves_the_order_of_all() -> None:
    reading = read("date,amount\n02/03/2026,5\n31/03/2026,5\n")
    assert [str(each.paid_on) for each in reading.rows()] == ["2026-03-02", "2026-03-31"]
    [row] = read("date,amount\n02/03/2026,5\n", date_order=DateNotation.MDY).rows()
    assert str(row.paid_on) == "2026-02-03"


def test_each_format_names_columns_of_its_kind() -> None:
    for kind in list_kinds():
        for form in kind.formats.values():
            assert form.columns.keys() <= kind.row.columns.keys(), form.id
            assert {len(each) for each in form.sample} <= {len(form.headers)}, form.id


@pytest.mark.parametrize("path", IMPORTS)
def test_each_table_is_sent_in_the_same_way(path: str) -> None:
    document = published().document
    operation = document["paths"][path]["post"]
    assert operation["x-reads-raw"].keys() >= {"text/csv", "application/octet-stream"}
    named = document["components"]["parameters"]
    names = {
        (named[each["$ref"].rpartition("/")[2]] if "$ref" in each else each)["name"]
        for each in operation["parameters"]
    }
    assert names >= {"format", "mapping", "date_order", "dry_run"}
