"""The undo of an import."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import httpx
import pytest

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.imports.make import EXPORT, IMPORTS, Json, counts, load, ok, undo, valid_rows
from tests.portfolio.team.make import code

TEXT = (
    "domain,folder,tags,expires,price,cost,bought\n"
    "harbour.com,New,b,2027-01-01,9,5,2024-01-01\nlantern.com,New,b,,,7,2024-01-02\n"
)


async def test_an_undo_restores_what_was_there(alice: Person) -> None:
    bought = {"amount": "5.00", "currency": "USD", "on": "2020-01-01"}
    await add(alice, "harbour.com", folder="Old", tags=["a"], expires_at="2026-12-24T00:00:00Z", purchase=bought)
    before = await valid_rows(alice)
    imported = await load(alice, TEXT)
    assert await valid_rows(alice) != before
    undone = await undo(alice, imported)
    assert (undone["state"], undone["undo"]) == ("undone", {"rows": 2, "removed": 1, "restored": 1, "kept": 0})
    assert await valid_rows(alice) == before
    assert (undone["kept_rows"], undone["before_row"]) == ([], None)
    again = await undo(alice, imported)
    assert again == undone


async def test_an_undo_of_the_ownership_alone_keeps_the_status(alice: Person) -> None:
    await add(alice, "harbour.com", status="leased")
    imported = await load(alice, [{"domain": "harbour.com", "ownership": "leased"}])
    await undo(alice, imported)
    domain = ok(await alice.get(f"{DOMAINS}/harbour.com"))
    assert (domain["ownership"], domain["status"]) == ("owned", "leased")


async def test_what_was_changed_since_is_kept(alice: Person) -> None:
    await add(alice, "harbour.com", folder="Old", tags=["a"])
    imported = await load(alice, TEXT)
    ok(await alice.patch(f"{DOMAINS}/harbour.com", json={"folder": "Newest"}))
    assert (await undo(alice, imported))["undo"] == {"rows": 2, "removed": 1, "restored": 0, "kept": 1}
    domain = ok(await alice.get(f"{DOMAINS}/harbour.com"))
    assert (domain["folder"], domain["tags"], domain["expires_at"]) == ("Newest", ["a"], None)


async def test_a_domain_that_was_removed_since_stays_away(alice: Person) -> None:
    imported = await load(alice, TEXT)
    assert (await alice.delete(f"{DOMAINS}/harbour.com?history=delete")).status_code == 204
    assert (await undo(alice, imported))["undo"]["removed"] == 1
    assert len((await alice.get(EXPORT)).text.splitlines()) == 1
    assert [each["outcome"] for each in (await load(alice, TEXT))["results"]] == ["created", "created"]


async def test_an_import_can_be_undone_for_a_day(alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = await load(alice, TEXT)
    late = clock.now() + timedelta(hours=24, seconds=1)
    monkeypatch.setattr(clock, "now", lambda: late)
    refused = await alice.post(f"{IMPORTS}/{imported['import_id']}/undo")
    assert code(refused) == (409, "import_final")


PATH = f"{DOMAINS}/lantern.com"  # which the import adds
BULK = "/v1/portfolio/renewals/bulk"
CHARGES = "/v1/portfolio/registrars/billing/import"
USD = {"currency": "USD"}


async def send(answer: Awaitable[httpx.Response]) -> None:
    found = await answer
    assert found.status_code in {200, 201, 202}, found.text


async def note(alice: Person, **body: Any) -> None:
    await send(alice.patch(PATH, json=body or {"notes": "Call Ada"}))


async def book(alice: Person, **body: Any) -> None:
    await send(alice.patch(f"{PATH}/finance", json=body))


async def decide(alice: Person) -> None:
    await send(alice.patch(BULK, json={"items": [{"domain_id": "lantern.com", "decision": "drop"}]}))


async def park(alice: Person, amount: str) -> None:
    body = {"domain": "lantern.com", "date": "2025-01-01", "amount": amount, **USD, "visits": 3}
    await send(alice.post("/v1/portfolio/parking/revenue", json=body))


async def bill(alice: Person, amount: str, *, apply: bool) -> None:
    row = {"date": "2024-01-02", "domain": "lantern.com", "amount": amount, **USD, "description": "Registration"}
    await send(alice.post(CHARGES, json={"rows": [row], "apply": apply}))


async def list_at_registrar(alice: Person) -> None:
    body = {"provider": "manual:corner", "domains": ["lantern.com"]}
    await send(alice.post("/v1/portfolio/registrars/inventory/import", json=body))


RENEWED: Json = {"entries_add": [{"kind": "renewal", "amount": "9", **USD}]}
SOLD: Json = {"sale": {"gross": {"amount": "300", **USD}}}
LATER: Mapping[str, tuple[Callable[[Person], Awaitable[None]], Json]] = {
    "a note": (note, {"kept_changed": "notes"}),
    "a tag": (partial(note, tags=["b", "c"]), {"kept_changed": "tags"}),
    "an entry": (partial(book, **RENEWED), {"kept_entries": None}),
    "a corrected purchase": (partial(book, acquisition={"amount": "8"}), {"kept_entries": None}),
    "a sale": (partial(book, **SOLD), {"kept_changed": "status", "kept_sale": None, "kept_entries": None}),
    "parking revenue": (partial(park, amount="1.00"), {"kept_entries": None, "kept_parking": None}),
    "visits without revenue": (partial(park, amount="0.00"), {"kept_parking": None}),
    "a decision": (decide, {"kept_decision": None}),
    "a charge that is not applied": (partial(bill, amount="50", apply=False), {"kept_charges": None}),
    "an applied charge": (partial(bill, amount="50", apply=True), {"kept_charges": None, "kept_entries": None}),
    "a charge of the imported entry": (partial(bill, amount="7", apply=True), {"kept_charges": None}),
    "an inventory": (list_at_registrar, {"kept_changed": "registrar", "kept_inventory": None}),
}


@pytest.mark.parametrize("later", LATER)
async def test_an_added_domain_with_later_work_is_kept_whole(alice: Person, later: str) -> None:
    work, reasons = LATER[later]
    imported = await load(alice, TEXT)
    await work(alice)
    before = (await alice.get(f"{PATH}/finance")).json()
    tried = await undo(alice, imported, dry_run=True)
    undone = await undo(alice, imported)
    assert (tried["state"], undone["state"], undone["dry_run"]) == ("completed", "undone", False)
    assert tried["undo"] == undone["undo"] == {"rows": 2, "removed": 1, "restored": 0, "kept": 1}
    [row] = undone["kept_rows"]
    assert tried["kept_rows"] == [row]
    assert (row["domain"], row["line"]) == ("lantern.com", 3)
    assert {each["code"]: each["field"] for each in row["warnings"]} == reasons
    assert (await alice.get(f"{PATH}/finance")).json() == before
    assert (await alice.get(f"{DOMAINS}/harbour.com")).status_code == 404
    listed = ok(await alice.get(f"{IMPORTS}/{imported['import_id']}", params={"kept": True}))
    assert listed["results"] == [row]


async def test_a_dry_run_changes_nothing(alice: Person) -> None:
    await add(alice, "harbour.com", folder="Old", tags=["a"])
    imported = await load(alice, TEXT)
    before = (await alice.get(EXPORT)).text
    tried = await undo(alice, imported, dry_run=True)
    assert (tried["dry_run"], tried["state"], tried["undo"]) == (
        *(True, "completed", {"rows": 2, "removed": 1, "restored": 1, "kept": 0}),
    )
    assert (await alice.get(EXPORT)).text == before
    assert ok(await alice.get(f"{IMPORTS}/{imported['import_id']}"))["undo"] is None


async def test_a_domain_that_a_later_import_has_is_kept_until_that_is_undone(alice: Person) -> None:
    first = await load(alice, TEXT)
    await load(alice, "domain\nlantern.com\n", dry_run=True)
    second = await load(alice, "domain\nlantern.com\n")
    tried = await undo(alice, first, dry_run=True)
    assert [each["code"] for each in tried["kept_rows"][0]["warnings"]] == ["kept_imported"]
    await undo(alice, second)
    assert (await undo(alice, first))["undo"] == {"rows": 2, "removed": 2, "restored": 0, "kept": 0}


async def test_data_of_the_registry_are_no_later_work(alice: Person, conn: Conn) -> None:
    """A query of the registry follows each import."""
    imported = await load(alice, "domain\nlantern.com\n")
    found = """
        UPDATE portfolio_domains SET registrar = 'Gandi', expires_at = '2027-01-01Z', expiry_source = 'rdap',
            epp_statuses = '{ok}', rdap_facts = '{"registrar": "Gandi"}', updated_at = updated_at + interval '1 s'
        WHERE id = %s
    """
    await conn.execute(found, (imported["results"][0]["id"],))
    assert (await undo(alice, imported))["undo"]["removed"] == 1


async def test_an_entry_that_a_charge_was_booked_with_is_kept(alice: Person) -> None:
    await add(alice, "lantern.com")
    imported = await load(alice, "domain,cost,bought\nlantern.com,7,2024-01-02\n")
    await bill(alice, "7", apply=True)
    undone = await undo(alice, imported)
    assert [each["code"] for each in undone["kept_rows"][0]["warnings"]] == ["kept_charges"]
    [entry] = ok(await alice.get(f"{PATH}/finance"))["entries"]
    assert entry["voided_at"] is None


async def test_others_undo_nothing(alice: Person, bob: Person) -> None:
    imported = await load(alice, TEXT)
    path = f"{IMPORTS}/{imported['import_id']}/undo"
    assert code(await bob.post(path, params={"dry_run": True})) == (404, "import_not_found")


async def test_an_unused_body_that_arrives_late_does_not_delay_the_undo(alice: Person) -> None:
    loops = set[asyncio.AbstractEventLoop]()

    async def content() -> AsyncIterator[bytes]:
        loops.add(asyncio.get_running_loop())
        yield b"{}"

    imported = await load(alice, TEXT)
    ok(await alice.post(f"{IMPORTS}/{imported['import_id']}/undo", content=content()))
    assert loops == {asyncio.get_running_loop()}  # on the other loop it would be waited for in vain


async def test_an_undo_takes_back_sales_and_parking(alice: Person) -> None:
    """Of a domain that the portfolio had before, too: also a day of visits without revenue."""
    await add(alice, "harbour.com")
    before = ok(await alice.get(f"{DOMAINS}/harbour.com/finance"))
    money = {"amount": "9.00", "currency": "USD"}
    row = {
        "sales": [{**money, "sold_on": "2025-01-01"}],
        "parking": [
            {**money, "on": "2024-12-01", "provider": "sedo"},
            {**money, "amount": "0.00", "on": "2024-12-02", "provider": "sedo", "visits": 3},
        ],
    }
    imported = await load(alice, [{"domain": each, **row} for each in ("harbour.com", "lantern.com")])
    assert counts(imported) == {"created": 1, "updated": 1}
    undone = await undo(alice, imported)
    assert undone["undo"] == {"rows": 2, "removed": 1, "restored": 0, "kept": 0}
    after = ok(await alice.get(f"{DOMAINS}/harbour.com/finance"))
    assert (after["sale"], after["net_position"]) == (None, before["net_position"])
    assert ok(await alice.get("/v1/portfolio/parking?days=365"))["totals"]["domains"] == 0
    assert counts(await load(alice, [{"domain": "harbour.com", **row}])) == {"updated": 1}


async def test_a_sale_that_was_changed_since_is_kept(alice: Person) -> None:
    sale = {"amount": "9.00", "currency": "USD", "sold_on": "2025-01-01"}
    imported = await load(alice, [{"domain": "lantern.com", "sales": [sale]}])
    await book(alice, sale={"venue": "Sedo"})
    undone = await undo(alice, imported)
    assert {each["code"] for each in undone["kept_rows"][0]["warnings"]} >= {"kept_sale"}


@pytest.mark.parametrize("change", [{"buyer_ref": "B-1"}, {"venue": "Sedo"}])
async def test_a_changed_sale_of_a_domain_from_before_keeps_its_money(alice: Person, change: Json) -> None:
    await add(alice, "lantern.com")
    sale = {"amount": "9.00", "currency": "USD", "sold_on": "2025-01-01"}
    imported = await load(alice, [{"domain": "lantern.com", "sales": [sale]}])
    await book(alice, sale=change)
    before = ok(await alice.get(f"{PATH}/finance"))
    tried, undone = await undo(alice, imported, dry_run=True), await undo(alice, imported)
    assert ok(await alice.get(f"{PATH}/finance")) == before
    assert [each["code"] for each in undone["kept_rows"][0]["warnings"]] == ["kept_sale"]
    assert tried["undo"] == undone["undo"] == {"rows": 1, "removed": 0, "restored": 0, "kept": 1}
