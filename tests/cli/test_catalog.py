import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.catalog.make import csv_of, fresh
from tests.cli.conftest import Cli
from tests.kit.sheets.workbook_files import rows_of, xlsx

COUNTS = ("rows", "created", "updated", "unchanged", "is_written")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file with two valid rows and an invalid one between them, on line 3."""
    path = tmp_path / "domains.csv"
    rows = [{"domain": fresh("one")}, {"domain": "not a domain"}, {"domain": fresh("two")}]
    path.write_bytes(csv_of([{**row, "title": "Shop"} for row in rows]))
    return path


@pytest.fixture
def good(file: Path) -> Path:
    """Return a file with the two valid rows."""
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], lines[1], lines[3], ""]))
    return file


def loaded(conninfo: str, file: Path) -> int:
    """Return how many domains of the file are in the catalog."""
    domains = [line.partition(",")[0] for line in file.read_text().splitlines()[1:]]
    with psycopg.connect(conninfo) as conn:
        row = conn.execute("SELECT count(*) FROM catalog_domains WHERE domain = ANY(%s)", [domains]).fetchone()
    assert row is not None
    return int(row[0])


def report(stdout: str) -> dict[str, Any]:
    """Return the counts of a JSON report."""
    found = json.loads(stdout)
    return {name: found[name] for name in COUNTS}


def test_loading_a_valid_file_is_idempotent(builders: Cli, good: Path, conninfo: str) -> None:
    first = builders("catalog", "load", good, "--json")
    second = builders("catalog", "load", good, "--json")

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert report(first.stdout) == {"rows": 2, "created": 2, "updated": 0, "unchanged": 0, "is_written": True}
    assert report(second.stdout) == {"rows": 2, "created": 0, "updated": 0, "unchanged": 2, "is_written": True}
    assert loaded(conninfo, good) == 2


def test_an_invalid_row_stops_the_load(builders: Cli, file: Path, conninfo: str) -> None:
    result = builders("catalog", "load", file)

    assert result.exit_code == 1
    assert result.stdout.startswith("error: line 3, domain: ")
    assert result.stdout.endswith(
        "3 rows: 0 new, 0 changed, 0 unchanged; 1 error, 1 warning. Nothing was written.\n"
    )
    assert loaded(conninfo, file) == 0


def test_a_warning_does_not_stop_the_load(builders: Cli, tmp_path: Path) -> None:
    path = tmp_path / "domains.csv"
    path.write_bytes(
        csv_of([{"domain": fresh("one"), "title": "Shop", "price_amount": "9.00", "logo": "none.png"}])
    )

    result = builders("catalog", "load", path, "--dry-run")

    assert result.exit_code == 0
    assert result.stdout == (
        "warning: line 2, logo: There is no such file. (image_missing)\n"
        "1 row: 1 new, 0 changed, 0 unchanged; 0 errors, 1 warning. Nothing was written.\n"
    )


def test_partial_loads_the_valid_rows(builders: Cli, file: Path, conninfo: str) -> None:
    result = builders("catalog", "load", file, "--partial", "--json")

    assert result.exit_code == 0
    assert report(result.stdout) == {"rows": 3, "created": 2, "updated": 0, "unchanged": 0, "is_written": True}
    assert [(each["line"], each["column"]) for each in json.loads(result.stdout)["errors"]] == [(3, "domain")]
    assert loaded(conninfo, file) == 2


@pytest.mark.parametrize(("words", "status"), [([], 1), (["--partial"], 0)])
def test_a_dry_run_has_the_same_status_and_writes_nothing(
    builders: Cli, file: Path, conninfo: str, words: list[str], status: int
) -> None:
    result = builders("catalog", "load", file, "--dry-run", *words)

    assert result.exit_code == status
    assert "line 3, domain: " in result.stdout
    assert "Nothing was written." in result.stdout
    assert loaded(conninfo, file) == 0


def test_a_dry_run_counts_the_changes(builders: Cli, good: Path, conninfo: str) -> None:
    result = builders("catalog", "load", good, "--dry-run", "--json")

    assert report(result.stdout) == {"rows": 2, "created": 2, "updated": 0, "unchanged": 0, "is_written": False}
    assert loaded(conninfo, good) == 0


@pytest.mark.parametrize("content", [b"", b"colour\nred\n", b"\xff\xfe\x00"])
@pytest.mark.parametrize("words", [[], ["--partial"], ["--dry-run"], ["--partial", "--dry-run"]])
def test_an_invalid_file_is_refused(builders: Cli, tmp_path: Path, content: bytes, words: list[str]) -> None:
    (tmp_path / "bad.csv").write_bytes(content)

    result = builders("catalog", "load", tmp_path / "bad.csv", *words)

    assert result.exit_code == 1
    assert result.stdout.startswith("error: line 1")


def test_a_missing_file_is_refused(builders: Cli, tmp_path: Path) -> None:
    result = builders("catalog", "load", tmp_path / "none.csv")

    assert result.exit_code == 2
    assert "none.csv: No such file or directory." in result.stderr


def test_a_file_that_cannot_be_read_is_refused_with_the_reason(builders: Cli, tmp_path: Path) -> None:
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    result = builders("catalog", "load", loop)

    assert result.exit_code == 2
    assert "loop.csv: Too many levels of symbolic links." in result.stderr


def test_control_characters_of_a_file_are_not_printed(builders: Cli, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(csv_of([{"domain": "\x1b[2Jforged.example", "title": "x"}]))

    result = builders("catalog", "load", path)

    assert result.exit_code == 1
    assert all(line.isprintable() for line in result.stdout.splitlines())


INSERT_EVENTS = """
    INSERT INTO catalog_events (id, created_at, occurred_at, kind, domain, session_id, utm, metadata,
                                is_machine, agent)
    SELECT gen_random_uuid(), now(), now(), %s, %s, 'session-' || n, '{}', '{}', n > 3, 'browser'
    FROM generate_series(1, 4) AS n
"""


def insert_events(conninfo: str, domain: str) -> None:
    with psycopg.connect(conninfo) as conn:
        for kind in ("view", "claim"):
            conn.execute(INSERT_EVENTS, [kind, domain])


def test_the_funnel_includes_the_newest_events(builders: Cli, conninfo: str) -> None:
    domain = fresh("funnel")
    insert_events(conninfo, domain)

    shown = builders("funnel", "--domain", domain)
    assert shown.exit_code == 0
    head, row = shown.stdout.splitlines()
    assert head.split()[:3] == ["domain", "views", "checks"]
    assert row.split() == [domain, "3", "0", "0", "3", "0", "6", "2"]


def test_the_funnel_as_json(builders: Cli, conninfo: str) -> None:
    domain = fresh("funnel")
    insert_events(conninfo, domain)
    [line] = json.loads(builders("funnel", "--domain", domain.upper(), "--days", "1", "--json").stdout)
    assert (line["domain"], line["views"], line["claims"], line["machines"]) == (domain, 3, 3, 2)


def test_a_funnel_without_events(builders: Cli) -> None:
    assert builders("funnel", "--domain", fresh()).stdout == "No events.\n"


def test_a_funnel_of_an_invalid_domain_is_refused(builders: Cli) -> None:
    refused = builders("funnel", "--domain", "no domain")
    assert refused.exit_code == 1
    assert "not a domain name" in refused.stderr


def test_a_workbook_is_loaded_with_the_named_sheet(builders: Cli, tmp_path: Path) -> None:
    rows = {each: rows_of(["domain", "price_amount"], [fresh(each.lower()), 9.5]) for each in ("Mine", "Other")}
    (tmp_path / "domains.xlsx").write_bytes(xlsx(rows))

    first = builders("catalog", "load", tmp_path / "domains.xlsx", "--dry-run")
    named = builders("catalog", "load", tmp_path / "domains.xlsx", "--dry-run", "--sheet", "Other")

    assert "Only the sheet “Mine” was read" in first.stdout
    assert (named.exit_code, "sheets_omitted" in named.stdout) == (0, False)


def test_what_a_catalog_file_does_not_show_is_told_and_can_be_named(builders: Cli, tmp_path: Path) -> None:
    text = f"domain;title;price_amount;price_currency\n{fresh('one')};Łódź;1.120;\n"
    (tmp_path / "domains.csv").write_bytes(text.encode("cp1250"))

    first = builders("catalog", "load", tmp_path / "domains.csv", "--dry-run")
    options = (
        "--encoding",
        "windows-1250",
        "--decimal-mark",
        "comma",
        "--delimiter",
        "semicolon",
        "--header-line",
        "1",
    )
    named = builders("catalog", "load", tmp_path / "domains.csv", "--dry-run", *options)
    unknown = builders("catalog", "load", tmp_path / "domains.csv", "--encoding", "klingon")
    (tmp_path / "symbol.csv").write_text(f"domain,price_amount\n{fresh('two')},$12.00\n", encoding="utf-8")
    symbol = builders("catalog", "load", tmp_path / "symbol.csv", "--dry-run")

    assert all(each in first.stdout for each in ("encoding_guessed", "numbers_ambiguous"))
    assert (named.exit_code, named.stdout.count("warning: ")) == (0, 0), named.stdout
    assert "currency_guessed" in symbol.stdout
    assert (unknown.exit_code, "is not known" in unknown.stderr) == (2, True)
