"""Rows with domains as drafts: defaults, purchases, sales, and parts of a source that are read later."""

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pytest

from builders.kit.http import slices
from builders.kit.sheets.sources import SentTable, Source
from builders.kit.sheets.tables import Reading, opening
from builders.portfolio.domain_files import drafts
from builders.portfolio.domain_files.columns import DOMAINS, DomainRow
from builders.portfolio.domain_files.drafts import PART_CHARACTERS, Defaults, Draft, Options
from builders.portfolio.domains.fields import MAX_TAGS
from builders.portfolio.domains.records import ExpirySource, Ownership, PortfolioDomainStatus
from builders.portfolio.ledger.records import EntryKind, EntrySource

SALE = {"amount": "900.00", "currency": "EUR", "sold_on": "2024-05-06"}
ENTRY = {"amount": "9.00", "currency": "USD", "kind": "acquisition", "on": "2021-02-03"}


def open_source(content: bytes, options: Options, source: Source = Source.FILE) -> Reading[DomainRow]:
    sent = SentTable(source=source, content=content, options=options)
    return slices.run_at_once(opening(DOMAINS, sent))


def read_whole(reading: Reading[DomainRow], options: Options) -> Sequence[Draft]:
    return list(drafts.read_drafts(reading.reader, reading.table.read(), options))


def read_parts(reading: Reading[DomainRow], options: Options) -> Sequence[Draft]:
    return [draft for _, part in drafts.cut(reading) for draft in drafts.read_part(part, options)]


def draft_of(row: Mapping[str, Any], options: Options | None = None) -> Draft:
    """The draft of one row of JSON."""
    options = options or Options()
    content = json.dumps([{"domain": "harbour.com", **row}]).encode()
    [draft] = read_whole(open_source(content, options, Source.ROWS), options)
    return draft


def codes(draft: Draft) -> list[str]:
    return [each.code for each in (*draft.errors, *draft.warnings)]


def file_of(header: str, *rows: str) -> bytes:
    return "\n".join((header, *rows, "")).encode()


def numbered(count: int, cell: str = "") -> bytes:
    return file_of("domain,notes", *(f"harbour-{at}.com,{cell}" for at in range(count)))


PURCHASES = file_of(
    "domain,tags,expires,purchase date,cost,sold,sold for,auto renew",
    'harbour.com,"port, sea",2027-01-31,2020-01-02,9.50,,,yes',
    "lantern.com,,,,12.00,,,",
    "anchor.com,,,2021-03-04,1.00 EUR,2024-05-06,900,no",
    "not a domain,,,,,,,",
    "buoy.com,,never,,x,,,maybe",
)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(PURCHASES, id="purchases, sales and refused rows"),
        pytest.param(numbered(2_500), id="several parts"),
        pytest.param(file_of("domain,notes", "harbour.com,'=1+1"), id="an escaped formula"),
        pytest.param(file_of("domain,notes", "harbour.com,fine", 'lantern.com,"open'), id="an open quote"),
        pytest.param(file_of("domain;cost", "harbour.com;9,50"), id="another delimiter"),
        pytest.param("domain,notes\nharbour.com,Grüße\n".encode("utf-16"), id="another encoding"),
    ],
)
def test_the_parts_give_the_drafts_of_the_whole(content: bytes) -> None:
    options = Options(defaults=Defaults(registrar="Gandi", tags=["new"]))
    reading = open_source(content, options)
    assert read_parts(reading, options) == read_whole(reading, options)


def test_a_part_of_rows_of_json_gives_their_drafts() -> None:
    rows = [{"domain": "harbour.com", "entries": [ENTRY]}, {"domain": "lantern.com", "notes": "'=1+1"}]
    reading = open_source(json.dumps(rows).encode(), Options(), Source.ROWS)
    assert read_parts(reading, Options()) == read_whole(reading, Options())


def test_a_part_has_at_most_a_thousand_rows() -> None:
    parts = list(drafts.cut(open_source(numbered(2_500), Options())))
    sizes = [len(drafts.read_part(content, Options())) for _, content in parts]
    assert sizes == [1_000, 1_000, 500]


def test_a_part_begins_with_the_number_of_its_first_row() -> None:
    parts = drafts.cut(open_source(numbered(2_500), Options()))
    assert [first for first, _ in parts] == [0, 1_000, 2_000]


def test_a_part_has_at_most_its_characters() -> None:
    reading = open_source(numbered(600, "n" * 2_000), Options())
    sizes = [
        sum(len(cell) for _, cells in json.loads(content)["rows"] for cell in cells)
        for _, content in drafts.cut(reading)
    ]
    assert (len(sizes), max(sizes) <= PART_CHARACTERS) == (3, True)


def test_a_row_above_the_characters_is_a_part_alone() -> None:
    long = json.dumps([{**ENTRY, "memo": "m" * 480}] * 1_000)
    rows = [{"domain": f"harbour-{at}.com", "entries": long if at == 1 else None} for at in range(3)]
    reading = open_source(json.dumps(rows).encode(), Options(), Source.ROWS)
    assert len(long) > PART_CHARACTERS
    assert [first for first, _ in drafts.cut(reading)] == [0, 1, 2]


def test_a_date_of_the_first_part_decides_the_order_of_a_date_in_the_last_one() -> None:
    rows = [f"harbour-{at}.com,{'31/01/2020' if at == 0 else '02/03/2020'}" for at in range(drafts.part_rows + 1)]
    reading = open_source(file_of("domain,registered", *rows), Options())
    assert read_parts(reading, Options())[-1].values["registered_on"] == date(2020, 3, 2)


def test_a_purchase_without_a_date_is_no_entry() -> None:
    draft = draft_of({"purchase_amount": "9.00"})
    assert (codes(draft), draft.entries) == (["purchase_undated"], [])


@pytest.mark.parametrize(
    ("dates", "paid_on"),
    [
        ({"purchase_date": "2021-01-01", "acquired_on": "2021-01-02"}, date(2021, 1, 1)),
        ({"acquired_on": "2021-01-02", "registered_on": "2021-01-03"}, date(2021, 1, 2)),
        ({"registered_on": "2021-01-03"}, date(2021, 1, 3)),
    ],
    ids=["its own", "the acquisition", "the registration"],
)
def test_a_purchase_has_the_best_date_of_the_row(dates: Mapping[str, str], paid_on: date) -> None:
    [entry] = draft_of({"purchase_amount": "9.00", **dates}).entries
    assert entry.occurred_on == paid_on


def test_a_purchase_is_an_acquisition_of_the_import() -> None:
    [entry] = draft_of({"purchase_amount": "9.00 EUR", "purchase_date": "2021-01-01"}).entries
    assert (entry.kind, entry.source, str(entry.money)) == (EntryKind.ACQUISITION, EntrySource.IMPORT, "9.00 EUR")


def test_a_purchase_has_the_kind_and_years_of_the_row() -> None:
    row = {"purchase_amount": "9.00", "purchase_date": "2021-01-01", "purchase_kind": "hand reg", "years": "2"}
    [entry] = draft_of(row).entries
    assert (entry.kind, entry.years) == (EntryKind.REGISTRATION, 2)


def test_an_acquisition_gives_the_domain_its_date() -> None:
    draft = draft_of({"purchase_amount": "9.00", "purchase_date": "2021-01-01"})
    assert (draft.values["acquired_on"], "acquired_on" in draft.defaulted) == (date(2021, 1, 1), True)


def test_a_date_of_purchase_without_a_price_is_that_of_the_acquisition() -> None:
    draft = draft_of({"purchase_date": "2021-01-01"})
    assert (draft.values["acquired_on"], draft.entries) == (date(2021, 1, 1), [])


def test_a_date_of_registration_without_a_price_is_not_that_of_an_acquisition() -> None:
    draft = draft_of({"purchase_date": "2021-01-01", "purchase_kind": "registration"})
    assert "acquired_on" not in draft.values


def test_a_registration_gives_the_domain_no_date_of_acquisition() -> None:
    draft = draft_of({"purchase_amount": "9.00", "purchase_date": "2021-01-01", "purchase_kind": "registration"})
    assert "acquired_on" not in draft.values


def test_listed_entries_replace_the_purchase_of_the_row() -> None:
    draft = draft_of({"entries": [ENTRY], "purchase_amount": "5.00", "purchase_date": "2020-01-01"})
    assert [str(each.money) for each in draft.entries] == ["9.00 USD"]


def test_listed_entries_give_the_domain_no_date_of_acquisition() -> None:
    assert "acquired_on" not in draft_of({"entries": [ENTRY]}).values


def test_a_sale_without_a_date_is_not_recorded() -> None:
    draft = draft_of({"sale_amount": "900"})
    assert (codes(draft), draft.sales) == (["sale_undated"], [])


def test_a_domain_with_a_sale_without_a_date_is_sold() -> None:
    assert draft_of({"sale_amount": "900"}).values["status"] is PortfolioDomainStatus.SOLD


def test_a_sale_has_the_amount_and_date_of_the_row() -> None:
    [(terms, own_share)] = draft_of({"sale_amount": "900 EUR", "sale_date": "2024-05-06"}).sales
    assert (str(terms.gross), terms.sold_on, own_share) == ("900.00 EUR", date(2024, 5, 6), None)


def test_a_sale_decides_the_status_before_its_column() -> None:
    draft = draft_of({"sale_amount": "900", "sale_date": "2024-05-06", "status": "owned"})
    assert draft.values["status"] is PortfolioDomainStatus.SOLD


def test_listed_sales_replace_the_sale_of_the_row() -> None:
    draft = draft_of({"sales": [SALE], "sale_amount": "5.00", "sale_date": "2020-01-01"})
    assert [str(terms.gross) for terms, _ in draft.sales] == ["900.00 EUR"]


def test_listed_sales_leave_the_status_to_its_column() -> None:
    """A domain that was sold and bought back has a sale, and is owned."""
    draft = draft_of({"sales": [SALE], "sale_amount": "5.00", "status": "owned"})
    assert draft.values["status"] is PortfolioDomainStatus.OWNED


def test_an_unknown_currency_of_lists_is_one_warning() -> None:
    draft = draft_of({"entries": [{**ENTRY, "currency": "QQQ"}] * 2, "sales": [{**SALE, "currency": "QQQ"}]})
    assert codes(draft) == ["currency_unknown"]


def test_an_unknown_currency_of_a_cell_and_of_a_list_is_one_warning() -> None:
    draft = draft_of({"asking_price": "5 QQQ", "entries": [{**ENTRY, "currency": "QQQ"}]})
    assert codes(draft) == ["currency_unknown"]


@pytest.mark.parametrize(
    ("header", "default", "registrar"),
    [
        pytest.param("domain,notes", "Gandi", "Gandi", id="of the request"),
        pytest.param("Domain Name,Expiration Date,Auto-renew,Status", None, "GoDaddy", id="of the format"),
        pytest.param("Domain Name,Expiration Date,Auto-renew,Status", "Gandi", "Gandi", id="before the format"),
    ],
)
def test_a_row_without_a_registrar_has_the_default(header: str, default: str | None, registrar: str) -> None:
    options = Options(defaults=Defaults(registrar=default))
    [draft] = read_whole(open_source(file_of(header, "harbour.com,,,"), options), options)
    assert draft.values["registrar"] == registrar


def test_a_value_of_the_row_goes_before_the_default() -> None:
    draft = draft_of({"registrar": "Porkbun"}, Options(defaults=Defaults(registrar="Gandi")))
    assert (draft.values["registrar"], "registrar" in draft.defaulted) == ("Porkbun", False)


def test_a_default_is_named_as_one() -> None:
    draft = draft_of({"registrar": ""}, Options(defaults=Defaults(ownership=Ownership.LEASED)))
    assert (draft.values["ownership"], draft.defaulted) == (Ownership.LEASED, {"ownership"})


def test_a_blank_cell_of_a_field_is_named() -> None:
    assert "folder" in draft_of({"folder": ""}).blank


def test_a_blank_cell_with_a_default_is_not_named() -> None:
    draft = draft_of({"registrar": ""}, Options(defaults=Defaults(registrar="Gandi")))
    assert "registrar" not in draft.blank


def test_the_default_tags_follow_those_of_the_row_once() -> None:
    draft = draft_of({"tags": "sea, port"}, Options(defaults=Defaults(tags=["port", "new"])))
    assert draft.values["tags"] == ["sea", "port", "new"]


def test_a_row_keeps_the_maximum_of_tags() -> None:
    tags = [f"tag-{at}" for at in range(MAX_TAGS)]
    draft = draft_of({"tags": ", ".join(tags)}, Options(defaults=Defaults(tags=["new"])))
    assert draft.values["tags"] == tags


@pytest.mark.parametrize(
    ("header", "source"),
    [
        ("domain,expires", ExpirySource.MANUAL),
        ("Domain Name,Expiration Date,Auto-renew,Status", ExpirySource.REGISTRAR),
    ],
    ids=["a sheet", "a file of a registrar"],
)
def test_the_format_says_who_knows_the_expiry(header: str, source: ExpirySource) -> None:
    [draft] = read_whole(open_source(file_of(header, "harbour.com,2027-01-31,,"), Options()), Options())
    assert draft.expiry_source is source


def test_a_refused_domain_is_shown_printable_and_short() -> None:
    draft = draft_of({"domain": "a\u202eb " + "x" * 300})
    assert (draft.name, len(draft.written) <= drafts.MAX_WRITTEN, "\u202e" in draft.written) == (None, True, False)


def test_the_decision_of_a_row_is_the_one_of_its_list() -> None:
    decision = {"decision": "renew", "decided_at": "2026-01-02T00:00:00Z"}
    draft = draft_of({"renewal_decisions": [decision]})
    assert draft.decision is not None
    assert draft.decision.decision.value == "renew"


def test_a_part_of_a_file_refuses_a_name_in_a_guessed_encoding() -> None:
    reading = open_source("domain,notes\nbücher.de,für später\nharbour.com,\n".encode("cp1252"), Options())
    guessed, plain = read_parts(reading, Options())
    assert (codes(guessed), guessed.name, codes(plain)) == (["encoding_ambiguous"], None, [])
