import csv
import json
from pathlib import Path

import psycopg
import pytest
from psycopg.types.json import Jsonb

from builders.kit.values import clock, ids
from builders.mail.records import VENDOR
from tests.cli.conftest import Cli

LEAD = """
    INSERT INTO leads_leads (account_id, id, email, status, changed_at, created_at)
    VALUES (%(account_id)s, %(id)s, %(email)s, %(status)s, %(now)s, %(now)s)
"""
REQUEST = """
    INSERT INTO leads_requests (account_id, id, email, lead_id, source, interest, marketing, details, created_at)
    VALUES (%(account_id)s, %(request_id)s, %(email)s, %(id)s, %(source)s, %(interest)s, true, %(details)s,
            %(now)s)
"""


@pytest.fixture
def source() -> str:
    """Return a source of this test alone."""
    return f"s-{ids.new().hex}"[:40]


@pytest.fixture
def emails(conninfo: str, source: str) -> list[str]:
    """Return the addresses of a confirmed and a pending lead of that source."""
    found = [f"{name}-{ids.new().hex}@example.net" for name in ("ada", "bob")]
    with psycopg.connect(conninfo, autocommit=True) as conn:
        for email, status, interest in zip(found, ("confirmed", "pending"), ("alias", "mailbox"), strict=True):
            row = {
                "account_id": VENDOR,
                "id": ids.new(),
                "request_id": ids.new(),
                "email": email,
                "status": status,
                "source": source,
                "interest": interest,
                "details": Jsonb({"name": "=1+1"}),
                "now": clock.now(),
            }
            conn.execute(LEAD, row)
            conn.execute(REQUEST, row)
    return found


def test_leads_are_listed_newest_first(builders: Cli, source: str, emails: list[str]) -> None:
    lines = builders("leads", "list", "--source", source).stdout.splitlines()[1:]
    assert [line.split()[-1] for line in lines] == emails[::-1]
    found = json.loads(builders("leads", "list", "--source", source, "--json").stdout)
    assert [(each["email"], each["status"]) for each in found] == [
        (emails[1], "pending"),
        (emails[0], "confirmed"),
    ]


@pytest.mark.parametrize(
    ("words", "which"),
    [
        (["--status", "confirmed"], [0]),
        (["--interest", "mailbox"], [1]),
        (["--interest", "alias", "--status", "pending"], []),
        (["--since", "2020-01-01"], [1, 0]),
        (["--since", "2100-01-01T00:00:00"], []),
        (["--limit", "1"], [1]),
    ],
)
def test_leads_are_filtered(
    builders: Cli, source: str, emails: list[str], words: list[str], which: list[int]
) -> None:
    found = json.loads(builders("leads", "list", "--source", source, "--json", *words).stdout)
    assert [each["email"] for each in found] == [emails[n] for n in which]


def test_an_empty_list(builders: Cli) -> None:
    assert builders("leads", "list", "--source", "nowhere").stdout == "No leads.\n"
    assert builders("leads", "list", "--status", "lost").exit_code == 2


def test_the_csv_export_has_no_formula(builders: Cli, source: str, emails: list[str]) -> None:
    rows = list(csv.DictReader(builders("leads", "export", "--source", source).stdout.splitlines()))
    assert [row["email"] for row in rows] == emails[::-1]
    assert {row["name"] for row in rows} == {"'=1+1"}
    assert all("/v1/mail/unsubscribe/" in row["unsubscribe_url"] for row in rows)


def test_a_missing_base_url_is_reported(builders: Cli, source: str, plain_environment: pytest.MonkeyPatch) -> None:
    words = ("leads", "export", "--source", source)
    assert "http://127.0.0.1:0; set BUILDERS_BASE_URL" in builders(*words).stderr
    assert builders(*words, "--json").stderr == ""
    plain_environment.setenv("BUILDERS_BASE_URL", "https://api.builders.example")
    assert builders(*words).stderr == ""


def test_the_file_is_complete_and_private(builders: Cli, source: str, emails: list[str], tmp_path: Path) -> None:
    file = tmp_path / "leads.csv"
    result = builders("leads", "export", "--source", source, "--status", "confirmed", "--output", file)

    assert (result.stdout, result.stderr.splitlines()[-1]) == ("", f"1 lead is in {file}.")
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.glob("*leads*")] == ["leads.csv"]
    with file.open(newline="", encoding="utf-8") as opened:
        assert [row["email"] for row in csv.DictReader(opened)] == [emails[0]]
    refused = builders("leads", "export", "--output", tmp_path / "none" / "x.csv")
    assert (refused.exit_code, "Cannot write" in refused.stderr) == (1, True)


def test_the_json_export(builders: Cli, source: str, emails: list[str]) -> None:
    found = json.loads(builders("leads", "export", "--source", source, "--json").stdout)
    assert [(each["email"], each["details"]) for each in found] == [
        (email, {"name": "=1+1"}) for email in emails[::-1]
    ]


def test_an_address_is_erased(builders: Cli, source: str, emails: list[str]) -> None:
    said = builders("leads", "erase", emails[0].upper())
    assert said.stdout == "Erased 1 request; the address is suppressed.\n"
    found = json.loads(builders("leads", "list", "--source", source, "--json").stdout)
    assert [each["email"] for each in found] == [emails[1]]
    again = json.loads(builders("leads", "erase", emails[0], "--json").stdout)
    assert again == {"leads": 0, "requests": 0}
    assert builders("leads", "erase", "nobody").exit_code == 2
