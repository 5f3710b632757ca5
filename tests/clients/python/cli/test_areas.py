"""`bld portfolio`, `bld webhooks`, `bld invoices`."""

from pathlib import Path

import pytest

from tests.cast import Person
from tests.clients.python.cli.make import Bld
from tests.kit.sheets.workbook_files import rows_of, xlsx

CSV = "Domain Name,Expiration Date,Auto-renew\nharbour.com,2027-03-01,On\nquay.com,2026-12-01,Off\n"
HOOK = "https://93.184.215.14/hook"  # an IP address avoids DNS


@pytest.fixture
def owner(dana: Person, tmp_path: Path) -> Bld:
    """Return `bld` with the key of Dana, who runs a portfolio."""
    return Bld(dana.service, tmp_path, dana.key)


async def test_what_a_file_does_not_show_is_told_and_can_be_named(owner: Bld, tmp_path: Path) -> None:
    ambiguous = tmp_path / "dates.csv"
    ambiguous.write_text("domain,expires\nharbour.com,03/04/2027\nquay.com,05/06/2027\n", encoding="utf-8")
    done = await owner("portfolio", "import", str(ambiguous))
    assert done.code == 0
    assert "Warning: “03/04/2027” was read as 2027-03-04" in done.err
    assert "Warning" not in (await owner("portfolio", "import", str(ambiguous), "--date-order", "dmy")).err
    named = tmp_path / "cyrillic.csv"
    named.write_bytes("Domain,Price\nпримерab12.com,5\n".encode("cp1251"))  # noqa: RUF001 - another alphabet
    refused = await owner("portfolio", "import", str(named))
    assert (refused.code, "`encoding`" in refused.err) == (1, True)
    options = ("--encoding", "cp1251", "--currency", "EUR", "--decimal-mark", "point")
    done = await owner("portfolio", "import", str(named), *options)
    assert (done.code, "Warning" in done.err) == (0, False)


async def test_a_file_is_imported(owner: Bld, tmp_path: Path) -> None:
    (tmp_path / "domains.csv").write_text(CSV, encoding="utf-8")
    done = await owner("portfolio", "import", str(tmp_path / "domains.csv"), "--json", "state,summary.created")
    assert done.json == {"state": "completed", "summary.created": 2}


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
async def test_a_file_in_any_encoding_is_imported(owner: Bld, tmp_path: Path, encoding: str) -> None:
    (tmp_path / "domains.csv").write_text("Domain Name;Notes\nharbour.com;für später\n", encoding=encoding)
    done = await owner("portfolio", "import", str(tmp_path / "domains.csv"), "--json", "state,summary.created")
    assert (done.code, done.json) == (0, {"state": "completed", "summary.created": 1})
    exported = await owner("portfolio", "export", "--json")
    assert "für später" in exported.out


async def test_a_workbook_is_imported(owner: Bld, tmp_path: Path) -> None:
    book = xlsx({"Mine": rows_of(["Domain"], ["harbour.com"]), "Other": rows_of(["Domain"], ["quay.com"])})
    (tmp_path / "domains.xlsx").write_bytes(book)
    done = await owner("portfolio", "import", str(tmp_path / "domains.xlsx"))
    assert (done.code, "Warning: Only the sheet “Mine” was read" in done.err) == (0, True)
    done = await owner(
        "portfolio", "import", str(tmp_path / "domains.xlsx"), "--sheet", "Other", "--json", "detected"
    )
    assert (done.json["detected"]["sheet"], "Warning" in done.err) == ("Other", False)


async def test_a_text_with_names_is_imported(owner: Bld) -> None:
    done = await owner("portfolio", "import", "-", "--text", "--json", "summary.created", given="see harbour.com")
    assert done.json == {"summary.created": 1}


async def test_a_text_in_another_encoding_says_what_to_do(owner: Bld, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("hafen-für.com", encoding="cp1252")
    done = await owner("portfolio", "import", str(tmp_path / "names.txt"), "--text")
    assert (done.code, "Save it as UTF-8" in done.err) == (2, True)


async def test_a_refused_row_has_its_line_and_the_exit_code_1(owner: Bld) -> None:
    done = await owner("portfolio", "import", "-", given=f"{CSV}not a domain,2027-03-01,On\n")
    assert (done.code, "line 4" in done.err, "Next: " in done.err) == (1, True, True)


async def test_a_dry_run_changes_nothing(owner: Bld) -> None:
    assert (await owner("portfolio", "import", "-", "--dry-run", given=CSV)).code == 0
    assert "harbour.com" not in (await owner("portfolio", "export")).out


async def test_the_portfolio_is_read(owner: Bld) -> None:
    await owner("portfolio", "import", "-", given=CSV)
    renewals = await owner("portfolio", "renewals", "--within", "365", "--json", "domain")
    assert {"domain": "harbour.com"} in renewals.json
    assert (await owner("portfolio", "finance", "harbour.com", "--json", "domain")).json == {
        "domain": "harbour.com"
    }
    assert (await owner("portfolio", "report", "--json", "domains")).json == {"domains": 2}
    assert (await owner("portfolio", "report")).code == 0
    assert isinstance((await owner("portfolio", "reconcile", "--json")).json, list)


async def test_the_export_is_csv_or_json(owner: Bld, tmp_path: Path) -> None:
    await owner("portfolio", "import", "-", given=CSV)
    assert "harbour.com" in (await owner("portfolio", "export")).out
    assert "harbour.com" in (await owner("portfolio", "export", "--json")).out
    await owner("portfolio", "export", "--out", str(tmp_path / "all.csv"))
    assert "quay.com" in (tmp_path / "all.csv").read_text(encoding="utf-8")


async def test_a_domain_that_is_not_there_says_what_to_do(owner: Bld) -> None:
    done = await owner("portfolio", "finance", "absent.com")
    assert (done.code, "Next: " in done.err) == (1, True)


async def test_a_destination_lives_and_is_deleted(bld: Bld) -> None:
    made = (await bld("webhooks", "create", "--url", HOOK, "--event", "alias.*", "--json")).json
    assert made["signing_secret"].startswith("whsec_")
    changed = await bld("webhooks", "set", made["id"], "--disable", "--json", "enabled")
    assert changed.json == {"enabled": False}
    rotated = await bld("webhooks", "rotate-secret", made["id"], "--json", "signing_secret")
    assert rotated.json["signing_secret"] != made["signing_secret"]
    assert (await bld("webhooks", "delete", made["id"])).code == 2
    assert (await bld("webhooks", "delete", made["id"], "--yes")).code == 0
    assert (await bld("webhooks", "list", "--json")).json == []


async def test_a_stranger_cannot_change_the_destination(bld: Bld, stranger: Bld) -> None:
    made = (await bld("webhooks", "create", "--url", HOOK, "--event", "*", "--json")).json
    assert (await stranger("webhooks", "delete", made["id"], "--yes")).code == 1


async def test_a_replay_is_counted(bld: Bld) -> None:
    made = (await bld("webhooks", "create", "--url", HOOK, "--event", "*", "--json")).json
    done = await bld("webhooks", "replay", made["id"], "--since", "2026-01-05T00:00:00Z", "--json", "count")
    assert done.json == {"count": 0}


async def test_events_and_deliveries_are_listed(bld: Bld) -> None:
    assert "alias.created" in (await bld("webhooks", "events")).out
    assert (await bld("webhooks", "deliveries", "--json")).json == []


async def test_an_invoice_is_read_and_saved(bld: Bld, domain: str, tmp_path: Path) -> None:
    await bld("names", "claim", f"ada@{domain}", "--to", "ada@example.net", "--max-total", "12 USD", "--yes")
    [invoice] = (await bld("invoices", "list", "--json")).json
    assert (await bld("invoices", "show", invoice["id"], "--json", "id")).json == {"id": invoice["id"]}
    file = tmp_path / "invoice.pdf"
    assert (await bld("invoices", "pdf", invoice["id"], "--out", str(file))).code == 0
    assert file.read_bytes().startswith(b"%PDF")
