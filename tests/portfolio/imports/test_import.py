"""Imports of files, rows and names."""

import json
from typing import Any

from builders.identity.records import Preset
from builders.kit.sheets.sources import MAX_LINES
from builders.portfolio.runs.records import WorkKind
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.heavy import held_connections
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.imports.make import EXPORT, IMPORT, IMPORTS, JSON_EXPORT, Json, counts, load, ok
from tests.portfolio.imports.test_jobs import work_on
from tests.portfolio.team.make import code, join, of

UNSEEN: Json = {  # what the file below does not have
    **{each: [] for each in ("likely_encodings", "omitted_sheets", "hidden_sheets", "merged_cells", "warnings")},
    **{each: {} for each in ("time_zones", "currency_symbols")},
    **dict.fromkeys(("sheet", "assumed_currency")),
    "merged_rows": 0,
}


async def test_a_file_adds_domains_and_says_what_it_found(alice: Person) -> None:
    text = (
        "Domain;Expires;Price;Password;Traffik;Notess\nharbour.com;31/12/2027;1.499,00;x;5;a\nlantern.com;;;;;\n"
    )
    imported = await load(alice, text, defaults={"currency": "EUR", "tags": ["Ports"], "registrar": "Gandi"})
    assert counts(imported) == {"created": 2}
    assert imported["detected"] == {
        **UNSEEN,
        "format": "generic",
        "file_type": "csv",
        "encoding": "utf-8",
        "delimiter": ";",
        "header_line": 1,
        "mapping": {"domain": "Domain", "expires_at": "Expires", "asking_price": "Price"},
        "unmapped_columns": [
            {"column": "Traffik", "did_you_mean": None},
            {"column": "Notess", "did_you_mean": "notes"},
        ],
        "dropped_columns": ["Password"],
        "date_order": "dmy",
        "dates_ambiguous": False,
        "decimal_mark": "comma",
        "numbers_ambiguous": False,
    }
    [first, second] = imported["results"]
    assert (first["line"], first["domain"], first["index"], second["line"]) == (2, "harbour.com", None, 3)
    domain = ok(await alice.get(f"{DOMAINS}/harbour.com"))
    assert (domain["id"], domain["expires_at"], domain["expiry_source"]) == (
        *(first["id"], "2027-12-31T00:00:00Z", "manual"),
    )
    assert (domain["asking_price"], domain["tags"], domain["registrar"]) == (
        *({"amount": "1499.00", "currency": "EUR"}, ["ports"], "Gandi"),
    )
    assert (imported["rows_total"], imported["rows_done"], imported["state"]) == (2, 2, "completed")
    assert imported["undo_until"] is not None


async def test_rows_names_and_text(alice: Person) -> None:
    rows: list[Json] = [
        {"name": "harbour.com", "renewal_price": {"amount": "9.00", "currency": "EUR"}, "tags": ["a", "b"]},
        {"domain": "Bücher.de", "auto_renew": True, "cost": 12.5, "bought": "2024-02-29"},
        {"domain": None},
    ]
    imported = await load(alice, rows)
    assert [(each["index"], each["outcome"], each["domain"]) for each in imported["results"]] == [
        *((0, "created", "harbour.com"), (1, "created", "xn--bcher-kva.de"), (2, "error", None)),
    ]
    named = ok(await alice.post(IMPORT, json={"domains": ["lantern.com", "www.lantern.com", "HARBOUR.com."]}))
    assert [(each["index"], each["outcome"]) for each in named["results"]] == [
        *((0, "created"), (1, "error"), (2, "unchanged")),
    ]
    assert named["results"][1]["errors"][0]["did_you_mean"] == "lantern.com"
    written = ok(await alice.post(IMPORT, json={"text": "My names:\n- anchor.com, bridge.com;\n\n* ferry.com."}))
    assert [(each["line"], each["outcome"], each["domain"]) for each in written["results"]] == [
        *((1, "error", "My"), (1, "error", "names:"), (2, "created", "anchor.com")),
        *((2, "created", "bridge.com"), (4, "created", "ferry.com")),
    ]
    assert written["detected"]["format"] == "list"


async def test_sources_and_options_that_are_wrong_are_422(alice: Person) -> None:
    async def refusal(body: Any, **query: str) -> tuple[list[Any], str]:
        answer = await alice.post(IMPORT, json=body, params=query)
        assert answer.status_code == 422, answer.text
        first = answer.json()["detail"][0]
        return first["loc"], first["type"]

    assert await refusal({}) == (["body"], "source_count")
    assert await refusal({"csv": "", "text": "a"}) == (["body"], "source_count")
    assert await refusal({"csv": "domain\n", "format": "excel"}) == (["body", "format"], "format_unknown")
    assert (await refusal({"csv": "domain\n"}, format="excel"))[0] == ["query", "format"]
    assert (await refusal({"csv": "domain\n", "mapping": {"price": "x"}}))[0][:2] == ["body", "mapping"]
    assert await refusal({"csv": "domain\n", "mapping": {"folder": "x"}}) == (
        *(["body", "mapping", "folder"], "mapping_invalid"),
    )
    assert await refusal({"csv": "expires,price\n1,2\n"}) == (["body", "mapping"], "column_missing")
    assert await refusal({"csv": "domain\n"}, mapping="x") == (["query", "mapping"], "mapping_invalid")
    twice = '{"domain": "A", "domain": "B"}'
    assert await refusal({"csv": "domain\n"}, mapping=twice) == (["query", "mapping"], "mapping_invalid")
    assert await refusal({"csv": "domain\n"}, mapping='{"fodler": "x"}') == (
        *(["query", "mapping", "fodler"], "column_unknown"),
    )
    assert (await refusal({"csv": "domain\n", "defaults": {"currency": "dollars"}}))[0] == (
        ["body", "defaults", "currency"]
    )
    assert (await refusal({"csv": "domain\n", "on_conflict": "explode"}))[0] == ["body", "on_conflict"]
    wide = ",".join(f"c{each}" for each in range(600))
    assert await refusal({"csv": f"domain,{wide}\n"}) == (["body"], "too_many_columns")
    assert counts(await load(alice, "")) == {}
    assert counts(await load(alice, "domain\n\n \n")) == {}
    assert counts(await load(alice, [])) == {}


async def test_a_mapping_and_the_order_of_dates(alice: Person) -> None:
    text = "Adresse,Bis,Preis\nharbour.com,05/06/2027,5\n"
    mapping = {"domain": "adresse", "expires_at": "Bis", "asking_price": "Preis"}
    imported = await load(alice, text, mapping=mapping)
    assert (imported["detected"]["dates_ambiguous"], imported["detected"]["date_order"]) == (True, "mdy")
    imported = await load(alice, text, mapping=mapping, date_order="dmy")
    assert (imported["detected"]["dates_ambiguous"], counts(imported)) == (False, {"updated": 1})
    assert ok(await alice.get(f"{DOMAINS}/harbour.com"))["expires_at"] == "2027-06-05T00:00:00Z"


async def test_a_mapping_in_the_query(alice: Person) -> None:
    content = "Adresse;Preis;Nutzung\nbuecher.de;5;für später\n".encode("cp1252")
    imported = await load(alice, content, mapping='{"domain": "Adresse", "asking_price": "Preis"}', dry_run="true")
    assert imported["detected"]["mapping"] == {"domain": "Adresse", "asking_price": "Preis"}
    assert counts(imported) == {"created": 1}


async def test_conflicts(alice: Person) -> None:
    await add(alice, "harbour.com", tags=["a"], folder="Old", notes="Mine", registrar="Gandi")
    text = "domain,folder,notes,tags,registrar\nharbour.com,New,,b,\nlantern.com,New,,b,\n"
    assert counts(await load(alice, text, on_conflict="skip")) == {"created": 1, "skipped": 1}
    assert ok(await alice.get(f"{DOMAINS}/harbour.com"))["folder"] == "Old"

    merged = await load(alice, text, defaults={"registrar": "Porkbun", "ownership": "leased"})
    assert counts(merged) == {"updated": 2}
    domain = ok(await alice.get(f"{DOMAINS}/harbour.com"))
    assert (domain["folder"], domain["notes"], domain["tags"]) == ("New", "Mine", ["a", "b"])
    assert (domain["registrar"], domain["ownership"]) == ("Gandi", "owned")  # defaults replace nothing

    assert counts(await load(alice, text, on_conflict="overwrite")) == {"updated": 2}
    domain = ok(await alice.get(f"{DOMAINS}/harbour.com"))
    assert (domain["notes"], domain["tags"], domain["registrar"], domain["ownership"]) == (
        None,
        ["b"],
        None,
        "owned",
    )
    assert counts(await load(alice, text, on_conflict="overwrite")) == {"unchanged": 2}


async def test_a_dry_run_reports_and_does_nothing(alice: Person) -> None:
    await add(alice, "harbour.com")
    text = "domain,folder,cost,bought\nharbour.com,F,5,2024-01-01\nlantern.com,F,,\nbad\n"
    before = (await alice.get(EXPORT)).text
    tried = await load(alice, text, dry_run=True)
    assert counts(tried) == {"created": 1, "updated": 1, "errors": 1}
    assert (tried["dry_run"], tried["undo_until"], tried["results"][1]["id"]) == (True, None, None)
    assert (await alice.get(EXPORT)).text == before
    assert code(await alice.post(f"{IMPORTS}/{tried['import_id']}/undo")) == (409, "import_final")
    assert counts(await load(alice, text)) == counts(tried)


async def test_rows_of_one_domain_are_merged_with_a_warning(alice: Person) -> None:
    text = (
        "domain,folder,tags,cost,bought\nharbour.com,A,x,5,2024-01-01\nHARBOUR.COM,,y,5,2024-01-01\n"
        "harbour.com,B,,6,2024-01-01\n"
    )
    imported = await load(alice, text)
    assert (counts(imported), imported["merged_duplicates"]) == ({"created": 1, "unchanged": 2}, 2)
    warnings = imported["results"][2]["warnings"]
    assert [each["code"] for each in warnings] == ["duplicate_row", "purchase_replaced"]
    assert warnings[0]["message"][:6] == "Line 2"
    domain = ok(await alice.get(f"{DOMAINS}/harbour.com"))
    assert (domain["folder"], domain["tags"]) == ("B", ["x", "y"])
    rows = ok(await alice.get(JSON_EXPORT))["rows"]
    assert [each["amount"] for each in rows[0]["entries"]] == ["6.00"]
    assert counts(await load(alice, text)) == {"unchanged": 3}


async def test_amounts_that_the_ledger_has_are_not_recorded_again(alice: Person) -> None:
    bought = {"amount": "5.00", "currency": "USD", "on": "2024-01-01"}
    await add(alice, "harbour.com", acquired_on="2024-01-01", purchase=bought)
    assert counts(await load(alice, "domain,cost,bought\nharbour.com,5,2024-01-01\n")) == {"unchanged": 1}
    undated = await load(alice, "domain,cost,sale price\nlantern.com,5,9\n")
    assert [each["code"] for each in undated["results"][0]["warnings"]] == ["purchase_undated", "sale_undated"]
    assert ok(await alice.get(f"{DOMAINS}/lantern.com"))["status"] == "sold"


async def test_one_reference_of_several_domains_loses_no_amount(alice: Person) -> None:
    renewal = {"kind": "renewal", "amount": "10.00", "currency": "USD", "on": "2024-03-01", "reference": "INV-1"}
    rows = [
        {"domain": "harbour.com", "entries": [renewal]},
        {"domain": "lantern.com", "entries": [renewal, {**renewal, "kind": "privacy", "amount": "3.00"}]},
    ]
    assert counts(await load(alice, rows)) == {"created": 2}
    for _ in range(2):
        entries = [each["entries"] for each in ok(await alice.get(JSON_EXPORT))["rows"]]
        assert [sorted(each["amount"] for each in found) for found in entries] == [["10.00"], ["10.00", "3.00"]]
        assert counts(await load(alice, rows)) == {"unchanged": 2}
    rows[0]["entries"] = [{**renewal, "amount": "11.00"}]
    again = await load(alice, rows)
    assert counts(again) == {"unchanged": 2}
    assert [each["code"] for each in again["results"][0]["warnings"]] == ["reference_taken"]


async def test_a_body_of_csv_has_its_options_in_the_query(alice: Person) -> None:
    content = "Domain Name,Preis\nbücher.de,5\n".encode("cp1252")
    imported = await load(alice, content, currency="EUR", encoding="windows-1252", dry_run="true")
    assert (imported["detected"]["encoding"], imported["dry_run"], counts(imported)) == (
        "cp1252",
        True,
        {"created": 1},
    )
    wrong = await alice.post(IMPORT, content=b"domain\n", headers={"Content-Type": "application/xml"})
    assert wrong.status_code == 415
    headers = {"Idempotency-Key": "once"}
    named = {"encoding": "cp1252", "headers": headers}
    first = await load(alice, content, **named)
    assert (await load(alice, content, **named))["import_id"] == first["import_id"]
    other = await alice.post(IMPORT, content=b"domain\n", headers={**headers, "Content-Type": "text/csv"})
    assert other.status_code == 422


async def test_the_list_of_imports_and_their_results_by_outcome(alice: Person, bob: Person) -> None:
    first = await load(alice, "domain\nharbour.com\nbad\nworse\n")
    second = await load(alice, "domain\nharbour.com\n")
    listed = ok(await alice.get(IMPORTS, params={"limit": 1}))
    assert [each["import_id"] for each in listed["items"]] == [second["import_id"]]
    rest = ok(await alice.get(IMPORTS, params={"limit": 1, "cursor": listed["next_cursor"]}))
    assert [each["import_id"] for each in rest["items"]] == [first["import_id"]]
    path = f"{IMPORTS}/{first['import_id']}"
    page = ok(await alice.get(path, params={"outcome": "error", "limit": 1}))
    assert [each["line"] for each in page["results"]] == [3]
    page = ok(await alice.get(path, params={"outcome": "error", "limit": 1, "cursor": page["next_cursor"]}))
    assert ([each["line"] for each in page["results"]], page["next_cursor"]) == ([4], None)
    assert code(await bob.get(path)) == (404, "import_not_found")
    assert code(await bob.post(f"{path}/undo")) == (404, "import_not_found")
    assert code(await alice.test.get(path)) == (404, "import_not_found")
    assert code(await alice.get(f"{IMPORTS}/nonsense")) == (404, "import_not_found")
    assert ok(await bob.get(IMPORTS))["items"] == []


async def test_members_strangers_scopes_and_test_keys(
    alice: Person, bob: Person, charlie: Person, people: MakePerson, anyone: Client
) -> None:
    await join(alice, charlie, "manager")
    imported = await load(charlie, "domain\nharbour.com\n", headers=of(alice))
    assert imported["created_by"] == str(charlie.account.id)
    assert ok(await alice.get(f"{DOMAINS}/harbour.com"))["domain"] == "harbour.com"
    assert code(await bob.post(IMPORT, json={"text": "a.com"}, headers=of(alice))) == (404, "portfolio_not_found")
    assert code(await bob.get(EXPORT, headers=of(alice))) == (404, "portfolio_not_found")
    await load(alice.test, "domain\nlantern.com\n")
    assert "lantern.com" not in (await alice.get(EXPORT)).text
    assert "lantern.com" in (await alice.test.get(EXPORT)).text
    dana = await people("dana", Preset.DEVELOPER_FULL)
    for path, verb in ((IMPORT, "post"), (IMPORTS, "get"), (EXPORT, "get")):
        assert (await getattr(dana, verb)(path)).json()["code"] == "insufficient_scope"
        assert (await getattr(anyone, verb)(path)).status_code == 401


async def test_the_event_counts_the_rows(alice: Person, conn: Any) -> None:
    imported = await load(alice, "domain\nharbour.com\nbad\n")
    found = await conn.execute(
        "SELECT name, data FROM kit_outbox WHERE account_id = %s ORDER BY id", (alice.account.id,)
    )
    events = {name: data if isinstance(data, dict) else json.loads(data) for name, data in await found.fetchall()}
    assert "portfolio.domain.added" not in events
    assert events["portfolio.import.completed"] == {
        "id": imported["import_id"],
        "state": "completed",
        "format": "generic",
        "created": 1,
        "updated": 0,
        "unchanged": 0,
        "skipped": 0,
        "errors": 1,
    }


async def test_hostile_cells_are_refused_or_ignored_at_once(alice: Person) -> None:
    long = "-" * 200_000
    rows: list[Json] = [
        {"domain": "harbour.com", "price": long},
        {"domain": "harbour.com", "expires": long},
        {"domain": "harbour.com", "folder": "a\u202eb"},
        {"domain": "harbour.com", "tags": ["a\u200b"]},
        {"domain": "harbour.com", "entries": [{"kind": "sale", "amount": "1", "currency": "USD", "on": "x"}]},
        {"domain": long},
        {"domain": {"nested": [1, {"deep": None}]}},
    ]
    imported = await load(alice, rows)
    assert [each["errors"][0]["code"] for each in imported["results"][5:]] == ["domain_invalid", "domain_missing"]
    assert [each["warnings"][0]["code"] for each in imported["results"][:5]] == [
        *("amount_invalid", "date_invalid", "text_form", "text_form", "entries_invalid"),
    ]


async def test_lines_are_counted_before_the_rows_are_read(alice: Person) -> None:
    for content in (b"\r" * 1_900_000, "domain\r\n".encode("utf-16") + b"\r\0" * (MAX_LINES + 1)):
        answer = await alice.post(f"{IMPORT}/preview", content=content, headers={"Content-Type": "text/csv"})
        assert (answer.status_code, answer.json()["detail"][0]["type"]) == (422, "too_many_rows")
    queued = ok(await alice.post(IMPORT, content=b"\r" * 1_900_000, headers={"Content-Type": "text/csv"}))
    await work_on(alice, WorkKind.IMPORT)
    done = ok(await alice.get(f"{IMPORTS}/{queued['import_id']}"))
    assert (done["state"], done["failure"]["code"]) == ("failed", "too_many_rows")


async def test_blank_lines_behind_the_last_row_do_not_count(alice: Person) -> None:
    content = b"domain,notes\nharbour.com,a\n" + b",\n" * 1_000 + b"lantern.com,b\n" + b",\n" * 120_000
    imported = ok(await alice.post(IMPORT, content=content, headers={"Content-Type": "text/csv"}))
    assert [each["line"] for each in imported["results"]] == [2, 1_003]


async def test_an_import_waits_five_seconds_for_a_connection(alice: Person) -> None:
    async with held_connections(alice.service):
        refused = await alice.post(IMPORT, json={"domains": ["lantern.com"]})
    assert code(refused) == (503, "database_busy")
    assert int(refused.headers["Retry-After"]) > 0
    ok(await alice.post(IMPORT, json={"domains": ["lantern.com"]}))
