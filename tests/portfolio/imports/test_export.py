"""Exports, which an import reads again without loss."""

import csv
import io
from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders.kit.sheets.cells import RISKY
from builders.portfolio.domains.records import FIELDS, REPORTED
from builders.portfolio.imports import export
from tests.cast import Person
from tests.portfolio.domains.make import add
from tests.portfolio.imports.make import EXPORT, JSON_EXPORT, counts, load, ok
from tests.portfolio.team.make import join, of
from tests.random_cases import cases

FULL: dict[str, Any] = {
    "status": "consigned",
    "ownership": "consigned",
    "counterparty": "=Ada",
    "revenue_share": "30.5",
    "registrar": "Gandi",
    "registered_on": "2001-02-03",
    "acquired_on": "2024-02-29",
    "expires_at": "2027-03-01T10:11:12.345678Z",
    "auto_renew": False,
    "locked": True,
    "privacy": False,
    "nameservers": ["ns1.harbour.net", "ns2.harbour.net"],
    "renewal_price": {"amount": "9.99", "currency": "USD"},
    "asking_price": {"amount": "1500", "currency": "JPY"},
    "min_offer": {"amount": "0.00", "currency": "EUR"},
    "estimated_value": {"amount": "12345.67", "currency": "EUR"},
    "tags": ["a b", "ümläut"],
    "folder": "none",
    "notes": '\'=1+1, "quoted"\n\n-second; line',
    "pinned": True,
}
ENTRIES = [
    {
        "kind": "acquisition",
        "amount": "5.00",
        "currency": "USD",
        "on": "2024-02-29",
        "memo": "=x",
        "source": "manual",
    },
    {
        "kind": "renewal",
        "amount": "10",
        "currency": "JPY",
        "on": "2025-02-01",
        "years": 1,
        "source": "import",
        "order_ref": "A-1",
    },
]
SALES: list[dict[str, Any]] = [
    {
        "amount": "1000.00",
        "currency": "USD",
        "sold_on": "2025-03-01",
        "commission_rate": "0.15",
        "fees": [{"kind": "escrow_fee", "amount": "5.00", "currency": "USD", "on": "2025-03-02"}],
        "installments": [
            {"amount": "300.01", "currency": "USD", "on": "2025-04-01", "received_on": "2025-04-03"},
            {"amount": "100.00", "currency": "USD", "on": "2025-05-01"},
        ],
        "venue": "Afternic",
        "buyer_ref": "B-7",
        "own_share": "0.3",
    },
    {
        "amount": "2000.00",
        "currency": "EUR",
        "sold_on": "2025-12-01",
        "commission": {"amount": "20.00", "currency": "EUR"},
        "fees": [],
        "installments": [],
        "own_share": "1",
    },
]
PARKING = [
    {"amount": "0.10", "currency": "EUR", "on": "2025-01-01", "provider": "sedo", "visits": 5, "clicks": 1},
    {"amount": "0.10", "currency": "EUR", "on": "2025-01-01", "provider": "sedo", "reference": "B", "visits": 5},
    {"amount": "0.00", "currency": "USD", "on": "2025-01-02", "provider": "bodis", "visits": 7},
]
BOOKS: dict[str, Any] = {"entries": ENTRIES, "sales": SALES, "parking": PARKING}


async def test_an_export_is_imported_again_without_loss(alice: Person, bob: Person) -> None:
    await add(alice, "bücher.de", **FULL)
    await add(alice, "harbour.com")
    rows = ok(await alice.get(JSON_EXPORT))["rows"]
    await load(alice, [rows[0], {**rows[1], **BOOKS}])
    csv_text = (await alice.get(EXPORT)).text
    json_body = ok(await alice.get(JSON_EXPORT))
    exported = {each["domain"]: each for each in json_body["rows"]}
    assert {name: exported["xn--bcher-kva.de"][name] for name in BOOKS} == BOOKS
    full = exported["xn--bcher-kva.de"]
    assert {*FIELDS} - REPORTED == FULL.keys() == FULL.keys() & full.keys()
    assert (full["notes"], full["folder"], full["expires_at"]) == (FULL["notes"], "none", FULL["expires_at"])

    for mode in ("merge", "overwrite", "skip"):
        assert set(counts(await load(alice, csv_text, on_conflict=mode))) <= {"unchanged", "skipped"}
        assert set(counts(await load(alice, json_body["rows"], on_conflict=mode))) <= {"unchanged", "skipped"}
    assert (await alice.get(EXPORT)).text == csv_text

    assert counts(await load(bob, csv_text.encode("utf-16"))) == {"created": 2}
    assert counts(await load(bob, csv_text)) == {"unchanged": 2}
    theirs = ok(await bob.get(JSON_EXPORT))["rows"]
    assert theirs == json_body["rows"]
    for path in ("domains/xn--bcher-kva.de/finance", "summary", "parking?days=365"):
        own, others = [ok(await each.get(f"/v1/portfolio/{path}")) for each in (alice, bob)]
        assert without_ids(own) == without_ids(others), path


def without_ids(found: Any) -> Any:
    """JSON without ids and times of creation."""
    if isinstance(found, dict):
        dropped = {"id", "domain_id", "sale_id", "unconverted", "created_at", "updated_at"}
        return {name: without_ids(value) for name, value in found.items() if name not in dropped}
    return [without_ids(each) for each in found] if isinstance(found, list) else found


DAYS = st.dates(date(2020, 1, 1), date(2025, 12, 31)).map(date.isoformat)


@st.composite
def sales_of_a_domain(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Sales as an export writes them, of which each fits."""
    sales = []
    for sold_on in sorted(draw(st.sets(DAYS, max_size=3))):
        parts = draw(st.lists(st.tuples(st.integers(1, 10**6), DAYS), max_size=3))
        rest = draw(st.integers(0 if parts else 1, 10**6))
        sale: dict[str, Any] = {
            "amount": cents(sum(part for part, _ in parts) + rest),
            "currency": "USD",
            "sold_on": sold_on,
            "fees": [],
            "installments": [
                {"amount": cents(part), "currency": "USD", "on": on}
                | ({"received_on": on} if draw(st.booleans()) else {})
                for part, on in sorted(parts, key=lambda each: each[1])
            ],
            "own_share": draw(st.sampled_from(["1", "0.3", "0.000001", "0"])),
        }
        commission = draw(st.sampled_from([{}, {"commission_rate": "0.15"}, {"commission_rate": "0.333333"}]))
        sales.append({**sale, **commission})
    return sales


def cents(amount: int) -> str:
    return f"{amount // 100}.{amount % 100:02}"


@cases(4)
@given(sales_of_a_domain())
async def test_sales_survive_an_import_and_an_export(alice: Person, sales: list[dict[str, Any]]) -> None:
    await load(alice, [{"domain": "harbour.com"}])
    assert (await alice.delete("/v1/portfolio/domains/harbour.com?history=delete")).status_code == 204
    await load(alice, [{"domain": "harbour.com", "sales": sales}])
    [row] = ok(await alice.get(JSON_EXPORT))["rows"]
    assert row["sales"] == sales
    assert counts(await load(alice, [row])) == {"unchanged": 1}


async def test_no_cell_is_a_formula(alice: Person) -> None:
    await add(alice, "harbour.com", notes="=HYPERLINK(1)", folder="+1", registrar="@x", tags=["-a"])
    for row in csv.DictReader(io.StringIO((await alice.get(EXPORT)).text)):
        assert not any(cell.startswith(RISKY) for cell in row.values())
        assert (row["notes"], row["folder"], row["tags"]) == ("'=HYPERLINK(1)", "'+1", "'-a")
    answer = await alice.get(EXPORT)
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="portfolio.csv"'


async def test_a_viewer_sees_no_money(alice: Person, charlie: Person) -> None:
    await add(alice, "harbour.com", **FULL, purchase={"amount": "5.55", "currency": "USD", "on": "2024-01-01"})
    await join(alice, charlie, "viewer")
    text = (await charlie.get(EXPORT, headers=of(alice))).text
    [row] = csv.DictReader(io.StringIO(text))
    shown = {name for name, cell in row.items() if cell}
    hidden = ("renewal_price", "asking_price", "min_offer", "estimated_value")
    assert shown.isdisjoint({*hidden, *(f"{each}_currency" for each in hidden), "entries", "revenue_share"})
    assert {"registrar", "notes", "counterparty"} <= shown
    body = ok(await charlie.get(JSON_EXPORT, headers=of(alice)))
    assert body["redacted"] == ["finance"]
    assert [body["rows"][0][name] for name in (*hidden, "entries", "sales", "parking", "revenue_share")] == [
        *[None] * 8
    ]


@cases(4)
@given(
    notes=st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], include_characters="\n"), max_size=40),
    folder=st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=20),
)
async def test_any_text_survives(alice: Person, notes: str, folder: str) -> None:
    await load(alice, [{"domain": "harbour.com", "notes": notes, "status": "owned"}])
    await load(alice, [{"domain": "harbour.com", "folder": folder}])  # refused without anything to see
    rows = ok(await alice.get(JSON_EXPORT))["rows"]
    text = (await alice.get(EXPORT)).text
    assert counts(await load(alice, text, on_conflict="overwrite")) == {"unchanged": 1}
    assert counts(await load(alice, rows, on_conflict="overwrite")) == {"unchanged": 1}


async def test_an_export_reads_the_entries_of_a_few_domains_at_a_time(alice: Person) -> None:
    spent = [
        {"kind": "renewal", "amount": f"{at}.00", "currency": "USD", "on": "2025-01-01"} for at in range(1, 4)
    ]
    rows = [{"domain": f"port-{at:02}.com", "entries": spent[: at % 3]} for at in range(export.FEW_DOMAINS + 3)]
    assert counts(await load(alice, rows)) == {"created": len(rows)}
    exported = ok(await alice.get(JSON_EXPORT))["rows"]
    assert [(row["domain"], len(row["entries"])) for row in exported] == [
        (row["domain"], len(row["entries"])) for row in rows
    ]


@pytest.mark.parametrize(
    ("size", "entries", "following"),
    [
        pytest.param(10, 0, 20, id="few entries: twice as many domains"),
        pytest.param(10, 4_000, 5, id="twice the limit: half as many domains"),
        pytest.param(1, 1_000_000, 1, id="at least one domain"),
    ],
)
def test_the_entries_read_decide_how_many_domains_follow(size: int, entries: int, following: int) -> None:
    """A year of parking revenue of each domain neither fills the memory nor blocks other requests."""
    assert export._next_size(size, entries=entries) == following
