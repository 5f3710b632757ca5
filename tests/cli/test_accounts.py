import json
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from tests.cli.conftest import Cli


def test_an_account_is_created_with_its_sandbox_account(builders: Cli, email: str, conninfo: str) -> None:
    result = builders("accounts", "create", "--email", email, "--name", "Ada Lovelace", "--json")

    account = json.loads(result.stdout)
    assert (result.exit_code, account["email"], account["name"]) == (0, email, "Ada Lovelace")
    assert account["email_verified_at"] == account["created_at"]
    with psycopg.connect(conninfo) as conn:
        rows = conn.execute(
            "SELECT id, sandbox_of FROM identity_accounts WHERE email = %s ORDER BY sandbox_of NULLS FIRST",
            [email],
        ).fetchall()
    real, sandbox = UUID(account["id"]), UUID(account["sandbox_id"])
    assert rows == [(real, None), (sandbox, real)]


def test_the_text_output_is_a_line(builders: Cli, email: str) -> None:
    result = builders("accounts", "create", "--email", email)

    assert result.stdout.endswith(f" for {email}.\n")
    assert result.stdout.count("\n") == 1


def test_the_default_name_is_the_local_part(builders: Cli, email: str) -> None:
    result = builders("accounts", "create", "--email", email, "--json")

    assert json.loads(result.stdout)["name"] == email.partition("@")[0]


def test_an_account_can_be_created_unverified(builders: Cli, email: str, conninfo: str) -> None:
    result = builders("accounts", "create", "--email", email, "--unverified", "--json")

    account = json.loads(result.stdout)
    assert account["email_verified_at"] is None
    with psycopg.connect(conninfo) as conn:
        jobs = conn.execute(
            "SELECT data FROM kit_outbox WHERE account_id = %s AND name = 'account.created'", [account["id"]]
        ).fetchall()
    assert jobs == [('{"verified":false}',)]


@pytest.mark.parametrize("again", [str, str.upper, "  {} ".format])
def test_an_address_has_one_account(builders: Cli, account: str, again: type[str]) -> None:
    result = builders("accounts", "create", "--email", again(account), "--json")

    assert result.exit_code == 1
    assert result.stdout == ""
    error = json.loads(result.stderr)["error"]
    assert (error["code"], error["detail"]) == (
        "email_taken",
        f"An account has the address {account} already.",
    )


@pytest.mark.parametrize("email", ["", "ada", "ada@", "@example.net", "a@b", "a b@example.net", "a@b@example.net"])
def test_an_invalid_address_is_refused(builders: Cli, email: str) -> None:
    result = builders("accounts", "create", "--email", email)

    assert result.exit_code == 2
    assert "Invalid value for '--email'" in result.stderr


def test_an_address_is_required(builders: Cli) -> None:
    assert "Missing option '--email'" in builders("accounts", "create").stderr


def test_links_are_listed_and_removed(
    builders: Cli, account: str, email: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = "https://login.example"
    monkeypatch.setenv("BUILDERS_OIDC_ISSUERS", json.dumps([{"issuer": issuer, "audience": "us"}]))
    named = ("--account", account, "--issuer", issuer, "--subject", email)
    builders("accounts", "link", *named)
    monkeypatch.delenv("BUILDERS_OIDC_ISSUERS")
    [listed] = json.loads(builders("accounts", "links", "--account", account, "--json").stdout)
    shown = builders("accounts", "links", "--account", account).stdout
    undone = builders("accounts", "unlink", *named)
    again = builders("accounts", "unlink", *named)

    assert (listed["issuer"], listed["subject"]) == (issuer, email)
    assert shown.endswith(f"Z  {issuer}  {email}\n")
    assert undone.stdout == f"The subject {email} is not linked to {account}.\n"
    assert (again.exit_code, "is not linked to this account.\n" in again.stderr) == (1, True)
    assert builders("accounts", "links", "--account", account).stdout == "No links.\n"


def test_accounts_are_listed_newest_first(builders: Cli, email: str) -> None:
    assert builders("accounts", "list", "--containing", email).stdout == "No accounts.\n"
    for name in ("first", "second"):
        builders("accounts", "create", "--email", f"{name}-{email}", "--unverified")
    said = builders("accounts", "list", "--containing", email.upper()).stdout.splitlines()
    found = json.loads(builders("accounts", "list", "--containing", email, "--json").stdout)
    newest = json.loads(builders("accounts", "list", "--limit", "1", "--json").stdout)

    assert said[0].split() == ["ID", "EMAIL", "NAME", "CONFIRMED", "CREATED"]
    assert [line.split()[1] for line in said[1:]] == [f"second-{email}", f"first-{email}"]
    assert [each["email"] for each in found] == [f"second-{email}", f"first-{email}"]
    assert len(newest) == 1


def test_an_account_is_shown(builders: Cli, account: str) -> None:
    found = json.loads(builders("accounts", "show", "--account", account, "--json").stdout)
    said = builders("accounts", "show", "--account", account).stdout

    assert found["email"] == account
    assert found["id"] in said
    assert found["sandbox_id"] in said


@pytest.mark.parametrize(
    ("words", "code", "status"),
    [
        (("accounts", "show", "--account", "nobody@example.net", "--json"), "account_not_found", 1),
        (("keys", "list", "--account", "nobody@example.net", "--json"), "account_not_found", 1),
        (("keys", "list", "--json"), "usage", 2),
        (("accounts", "create", "--json", "--email", "nobody"), "usage", 2),
        (("nothing", "--json"), "usage", 2),
    ],
)
def test_with_json_a_failure_is_json(builders: Cli, words: tuple[str, ...], code: str, status: int) -> None:
    result = builders(*words)

    assert (result.exit_code, result.stdout) == (status, "")
    assert json.loads(result.stderr)["error"]["code"] == code
    assert set(json.loads(result.stderr)["error"]) == {"code", "detail", "next_action"}
    plain = builders(*(word for word in words if word != "--json"))
    assert (plain.exit_code, plain.stderr.startswith(("Error: ", "Usage: "))) == (status, True)


def test_an_account_is_suspended_and_restored(builders: Cli, account: str) -> None:
    done = [
        builders("accounts", "suspend", "--account", account, "--reason", "Spam."),
        builders("accounts", "suspend", "--account", account, "--reason", "Spam."),
        builders("accounts", "show", "--account", account),
        builders("accounts", "restore", "--account", account),
        builders("accounts", "restore", "--account", account),
    ]

    assert [each.exit_code for each in done] == [0, 0, 0, 0, 0]
    assert [each.stdout.splitlines()[-1] for each in done] == [
        f"{account} is suspended.",
        f"{account} was suspended before.",
        "suspended        Spam.",
        f"{account} is restored.",
        f"{account} was not suspended.",
    ]


def test_an_account_is_erased_with_a_reason(builders: Cli, account: str, conninfo: str) -> None:
    shown = json.loads(builders("accounts", "show", "--account", account, "--json").stdout)
    assert builders("accounts", "erase", "--account", account).exit_code == 2
    result = builders("accounts", "erase", "--account", account, "--reason", "request 1712")

    assert (result.exit_code, result.stdout.splitlines()[-1][:30]) == (0, "The worker erases the account ")
    assert json.loads(builders("accounts", "show", "--account", account, "--json").stderr)["error"]["code"] == (
        "account_not_found"
    )
    with psycopg.connect(conninfo) as conn:
        found = conn.execute(
            "SELECT count(*) FROM procrastinate_jobs"
            " WHERE task_name = 'erasure.erase' AND args ->> 'account_id' = %(account_id)s",
            {"account_id": shown["id"]},
        ).fetchone()
    assert found == (1,)


def test_an_account_is_exported(builders: Cli, account: str, tmp_path: Path) -> None:
    path = tmp_path / "account.ndjson"
    result = builders("accounts", "export", "--account", account, "--output", path)

    assert result.exit_code == 0, result.stderr
    lines = [json.loads(each) for each in path.read_text().splitlines()]
    last = lines.pop()
    profile = next(each["item"] for each in lines if each["part"] == "profile_get")
    assert profile["email"] == account
    assert {"account_list_audit", "tables/identity_audit"} <= {each["part"] for each in lines}
    assert last["left_out"]["tables/identity_keys.digest"] == "hash"
    assert path.stat().st_mode & 0o777 == 0o600


def test_erasures_of_a_list_are_repeated(builders: Cli, account: str, tmp_path: Path) -> None:
    shown = json.loads(builders("accounts", "show", "--account", account, "--json").stdout)
    path = tmp_path / "erasures.txt"
    path.write_text(f"{shown['id']} 2026-11-26T10:00:00Z\n")

    result = builders("accounts", "erase", "--from-list", path)
    assert (result.exit_code, result.stdout) == (0, "1 account erased again.\n")
    assert builders("accounts", "erase", "--from-list", path).stdout == "0 accounts erased again.\n"
    path.write_text(f"\n{shown['id']} 2026-11-26T10:00:00Z\nada\n")
    refused = builders("accounts", "erase", "--from-list", path)
    assert refused.exit_code == 2
    assert "Line 3 does not begin with the id of an account." in refused.stderr
