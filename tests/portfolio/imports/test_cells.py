"""A bad cell is ignored with a warning, or refuses its row if rows need it; no other row is affected."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.portfolio.domain_files.columns import DomainRow
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS
from tests.portfolio.imports.make import IMPORT, IMPORTS, JSON_EXPORT, Json, counts, load, ok
from tests.random_cases import cases

INVENTORY = "/v1/portfolio/registrars/inventory/import"
CHARGES = "/v1/portfolio/registrars/billing/import"
REVENUE = "/v1/portfolio/parking/revenue"
ENTRY: Json = {"kind": "renewal", "amount": "9.00", "currency": "USD", "on": "2025-01-01"}
NUL, RIGHT_TO_LEFT = "a\0b", "a\u202eb"
REFUSED_ENTRIES = [
    pytest.param({"amount": "-5.00"}, id="a negative amount"),
    pytest.param({"amount": "1" * 16}, id="an amount of too many digits"),
    pytest.param({"currency": "usd"}, id="no currency"),
    *(
        pytest.param({member: text}, id=f"{name} in {member}")
        for member in ("memo", "reference", "registrar")
        for name, text in (("NUL", NUL), ("U+202E", RIGHT_TO_LEFT))
    ),
    pytest.param({"on": "0001-01-01"}, id="the year 1"),
    pytest.param({"on": "9999-12-31"}, id="the year 9999"),
    pytest.param({"years": 0}, id="no years"),
    pytest.param({"source": "sale"}, id="an entry of a sale"),
    pytest.param({"source": "parking"}, id="an entry of parking"),
    pytest.param({"kind": "sale"}, id="a sale"),
    pytest.param({"reference": "A", "order_ref": "B"}, id="a reference and a number of an order"),
]


def sheet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """The rows as a CSV file, in which a cell can contain NUL."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def refused_rows(imported: Json) -> list[Any]:
    """The lines or indexes of the rows that were refused."""
    return [each["line"] or each["index"] for each in imported["results"] if each["outcome"] == "error"]


def ignored(imported: Json) -> dict[int, str]:
    """The code of the first warning of each line."""
    return {each["line"]: each["warnings"][0]["code"] for each in imported["results"] if each["warnings"]}


@pytest.mark.parametrize("member", REFUSED_ENTRIES)
async def test_an_entry_obeys_the_rules_of_the_api(alice: Person, member: Json) -> None:
    rows = [
        {"domain": "harbour.com", "entries": json.dumps([ENTRY])},
        {"domain": "lantern.com", "entries": json.dumps([{**ENTRY, **member}])},
        {"domain": "anchor.com", "entries": json.dumps([ENTRY])},
    ]
    imported = await load(alice, sheet(rows))
    assert ignored(imported) == {3: "entries_invalid"}
    assert counts(imported) == {"created": 3}
    assert ok(await alice.get(f"{DOMAINS}/lantern.com/finance"))["entries"] == []


@pytest.mark.usefixtures("tenth")
async def test_a_job_refuses_only_the_bad_rows(alice: Person, database: Database, settings: Settings) -> None:
    rows: list[Json] = [{"domain": f"harbour-{at}.com", "entries": json.dumps([ENTRY])} for at in range(210)]
    rows[70]["domain"] = NUL
    rows[150]["domain"] = "harbour"
    imported = await load(alice, sheet(rows))
    assert imported["state"] == "queued"
    await queue.run_pending(database, settings)
    answer = await alice.get(f"{IMPORTS}/{imported['import_id']}", params={"outcome": "error"})
    done = ok(answer)
    assert (done["state"], counts(done)) == ("completed", {"created": 208, "errors": 2})
    assert refused_rows(done) == [72, 152]


async def test_what_the_database_refuses_is_one_row(alice: Person, conn: Conn) -> None:
    """A rule of the database that no check before it knows refuses only its row."""
    rule = "ALTER TABLE portfolio_domains ADD CONSTRAINT test_refused CHECK (folder <> 'refused') NOT VALID"
    rows = [{"domain": f"harbour-{at}.com", "folder": "refused" if at == 5 else None} for at in range(9)]
    await conn.execute(rule)
    try:
        imported = await load(alice, rows)
    finally:
        await conn.execute("ALTER TABLE portfolio_domains DROP CONSTRAINT test_refused")
    assert refused_rows(imported) == [5]
    assert imported["results"][5]["errors"][0]["code"] == "row_refused"
    assert counts(imported) == {"created": 8, "errors": 1}
    assert [each["index"] for each in imported["results"]] == list(range(9))
    assert len(ok(await alice.get(DOMAINS))["items"]) == 8


async def test_an_import_writes_only_its_own_source_and_that_of_members(alice: Person) -> None:
    given = [
        {**ENTRY, "source": each, "amount": f"{at}.00"} for at, each in enumerate(("sync", "import", "manual"))
    ]
    await load(alice, [{"domain": "harbour.com", "entries": given}])
    found = ok(await alice.get(f"{DOMAINS}/harbour.com/finance"))["entries"]
    assert [each["source"] for each in found] == ["import", "import", "manual"]


async def test_any_text_is_a_reference(alice: Person) -> None:
    """An entry with the reference of another domain or kind has it as the number of an order."""
    texts = ("renewal:1042", "acquisition/x", "x/1/price")
    given = [{**ENTRY, "reference": each, "amount": f"{at}.00"} for at, each in enumerate(texts)]
    rows = [{"domain": each, "entries": given} for each in ("harbour.com", "lantern.com")]
    await load(alice, rows)
    for row in rows:
        found = ok(await alice.get(f"{DOMAINS}/{row['domain']}/finance"))["entries"]
        assert [each["reference"] for each in found] == [*texts]
    assert counts(await load(alice, rows)) == {"unchanged": 2}


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("sales", {"amount": "-5", "currency": "USD", "sold_on": "2025-01-01"}),
        ("sales", {"amount": "5.00", "currency": "USD"}),
        ("sales", {"amount": "5.00", "currency": "USD", "sold_on": "2025-01-01", "commission_rate": "1.5"}),
        ("parking", {"amount": "5.00", "currency": "USD", "on": "2025-01-01"}),
        ("parking", {"amount": "5.00", "currency": "USD", "on": "2025-01-01", "provider": "sedo", "visits": -1}),
    ],
)
async def test_bad_sales_or_days_of_parking_are_left_out(alice: Person, cell: str, written: Json) -> None:
    imported = await load(alice, [{"domain": "harbour.com"}, {"domain": "lantern.com", cell: [written]}])
    assert [each["code"] for each in imported["results"][1]["warnings"]] == [f"{cell}_invalid"]


async def test_a_sale_whose_terms_do_not_fit_is_left_out_with_a_warning(alice: Person) -> None:
    sale = {
        "amount": "5.00",
        "currency": "USD",
        "sold_on": "2025-01-01",
        "installments": [{"amount": "6.00", "currency": "USD", "on": "2025-02-01"}],
    }
    imported = await load(alice, [{"domain": "harbour.com", "sales": [sale]}])
    [warned] = imported["results"][0]["warnings"]
    assert (warned["code"], warned["field"]) == ("installments_exceed_price", "sales")
    assert ok(await alice.get(f"{DOMAINS}/harbour.com/finance"))["sale"] is None


@pytest.mark.parametrize(
    "row", [{"cost": "5 ZZZ", "bought": "2026-01-01"}, {"renewal_price": "9", "currency": "ZZZ"}]
)
async def test_a_currency_that_iso_4217_lacks_is_announced(alice: Person, row: Json) -> None:
    imported = await load(alice, [{"domain": "harbour.com", **row}])
    [warned] = imported["results"][0]["warnings"]
    assert (warned["code"], warned["message"][:3]) == ("currency_unknown", "ZZZ")


NUMBERS = ["1" * 5_000, "000000001" + "9" * 5_000, "00000000199999999", "\u0663", "\u00b2", "-5"]
TEXT = st.sampled_from([NUL, RIGHT_TO_LEFT, *NUMBERS]) | st.text(max_size=60)
FIELDS = st.sampled_from([*DomainRow.columns])
MEMBERS = st.sampled_from([*ENTRY, "memo", "source", "reference", "registrar", "years"])
ENTRIES = st.lists(st.tuples(MEMBERS, TEXT).map(lambda odd: {**ENTRY, odd[0]: odd[1]}), max_size=2)
DATED = {"purchase_amount": "5", "purchase_date": "2024-01-01"}
FINITE = st.floats(allow_nan=False, allow_infinity=False)
VALUES = TEXT | st.integers() | FINITE | st.booleans() | st.lists(TEXT, max_size=3)
GOOD: Json = {"domain": "harbour.com", "entries": json.dumps([ENTRY])}
search = cases(8)


@search
@given(cells=st.dictionaries(FIELDS, TEXT, max_size=6), entries=ENTRIES)
@example(
    cells={**DATED, "purchase_years": "00000000199999999"},
    entries=[],
)
@example(cells={"status": NUL, "domain": NUL}, entries=[])
@example(cells={}, entries=[{**ENTRY, "memo": NUL}])
async def test_any_text_in_a_cell_of_a_file_refuses_at_most_its_row(
    alice: Person, cells: dict[str, Any], entries: list[Any]
) -> None:
    bad = {"domain": "lantern.com", "entries": json.dumps(entries) if entries else "", **cells}
    await require_others(alice, await load(alice, sheet([GOOD, bad, {"domain": "anchor.com"}])))


@search
@given(cells=st.dictionaries(FIELDS | TEXT, VALUES, max_size=6))
async def test_any_value_of_a_row_refuses_at_most_its_row(alice: Person, cells: dict[str, Any]) -> None:
    written = json.dumps({"rows": [GOOD, {"domain": "lantern.com", **cells}, {"domain": "anchor.com"}]})
    # NUL is refused in any body, and a lone surrogate is no text.
    plain = re.sub(r"\\u(0000|d[89a-f][0-9a-f]{2})", "?", written)
    answer = await alice.post(IMPORT, content=plain, headers={"Content-Type": "application/json"})
    await require_others(alice, ok(answer))


async def require_others(alice: Person, imported: Json) -> None:
    """The first and the last row are in the portfolio, and each request about it is answered."""
    first, last = imported["results"][0], imported["results"][-1]
    assert {first["outcome"], last["outcome"]} <= {"created", "unchanged"}, imported
    names = [each["domain"] for each in ok(await alice.get(DOMAINS))["items"]]
    assert {"harbour.com", "anchor.com"} <= {*names}
    for name in names:
        ok(await alice.get(f"{DOMAINS}/{name}/finance"))
    ok(await alice.get(f"{IMPORTS}/{imported['import_id']}"))
    exported = ok(await alice.get(JSON_EXPORT))["rows"]
    assert set(counts(await load(alice, exported))) <= {"unchanged"}


@pytest.mark.parametrize("text", [RIGHT_TO_LEFT, "9" * 5_000, "9" * 15, "0001-01-01", "-5"])
async def test_any_text_in_a_row_of_charges_revenue_or_an_inventory_refuses_at_most_its_row(
    alice: Person, text: str
) -> None:
    """Each column has the text once."""
    ok(await alice.post(IMPORT, json={"domains": ["harbour.com"]}))
    charge = {
        "date": "2025-01-01",
        "domain": "harbour.com",
        "amount": "9.00",
        "order": "A-1",
        "description": "Renewal",
    }
    charge |= {"line": "1", "parent order": "A-0", "years": "1", "tax": "0", "currency": "USD"}
    held = {"domain": "harbour.com", "expires": "2027-01-01", "registrar": "X", "nameservers": "ns1.x.com"}
    earned = {"domain": "harbour.com", "date": "2025-01-01", "amount": "1.00", "provider": "p", "reference": "r"}
    for path, row, fixed in (
        (CHARGES, charge, {"provider": "manual:corner"}),
        (INVENTORY, held, {"provider": "manual:corner"}),
        (REVENUE, earned, {}),
    ):
        bad = [{**row, name: text} for name in row]
        answer = await alice.post(path, json={"rows": [row, *bad, row], **fixed})
        assert answer.status_code in {200, 201}, (path, answer.text)
        results = answer.json()["results"]
        assert len(results) == len(bad) + 2
        assert {results[0]["outcome"], results[-1]["outcome"]} <= {"created", "updated", "unchanged"}


async def test_a_sum_of_too_many_digits_refuses_its_row_of_a_bill(alice: Person) -> None:
    row = {"date": "2025-01-01", "domain": "harbour.com", "net": "1.00", "tax": "0", "currency": "USD"}
    rows = [row, {**row, "net": "9" * 15, "tax": "9" * 15}, {**row, "net": "2.00"}]
    answer = await alice.post(CHARGES, json={"rows": rows, "provider": "manual:corner"})
    assert answer.status_code in {200, 201}, answer.text
    assert [each["outcome"] for each in answer.json()["results"]] == ["created", "error", "created"]


async def test_a_long_number_of_visits_is_ignored(alice: Person) -> None:
    await load(alice, [{"domain": "harbour.com"}])
    number = "0" * 19 + "9" * 20
    text = f"domain,date,revenue,visits\nharbour.com,2025-01-01,1,{number}\nharbour.com,2025-01-02,1,3\n"
    answer = await alice.post(REVENUE, json={"csv": text, "currency": "USD"})
    assert answer.status_code in {200, 201}, answer.text
    assert [each["outcome"] for each in answer.json()["results"]] == ["created", "created"]
    assert [each["code"] for each in answer.json()["results"][0]["warnings"]] == ["number_invalid"]
