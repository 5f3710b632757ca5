import json
from typing import Any

import psycopg
import pytest

from tests.cast import Client
from tests.cli.conftest import Cli

USED = "UPDATE identity_grants SET redeemed_at = created_at WHERE id = %s"
OLD = "UPDATE identity_grants SET expires_at = created_at WHERE id = %s"
REASON = "Ticket 4711: an alias does not deliver"


def granted(builders: Cli, account: str, *words: str) -> dict[str, Any]:
    """Return a grant of the JSON output."""
    usual = ("--account", account, "--operator", "grace", "--reason", REASON)
    result = builders("login-as", "grant", *usual, *words, "--json")
    assert result.exit_code == 0, result.stderr
    grant: dict[str, Any] = json.loads(result.stdout)
    return grant


def test_the_text_output_is_the_grant_alone(builders: Cli, account: str) -> None:
    result = builders("login-as", "grant", "--account", account, "--operator", "g", "--reason", REASON)

    assert result.exit_code == 0
    assert result.stdout.startswith("svc_grant_")
    assert result.stdout.count("\n") == 1


@pytest.mark.parametrize(("words", "may_write"), [((), False), (("--write",), True)])
def test_a_grant_is_read_only_by_default(
    builders: Cli, account: str, words: tuple[str, ...], *, may_write: bool
) -> None:
    grant = granted(builders, account, *words)

    assert grant["may_write"] is may_write
    assert (grant["operator"], grant["reason"]) == ("grace", REASON)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--reason", "why"),
        ("--reason", " four "),
        ("--reason", "x" * 501),
        ("--reason", "two\nlines"),
        ("--operator", " "),
        ("--operator", "x" * 121),
        ("--operator", "\x1b[2J"),
    ],
)
def test_operator_and_reason_have_bounds(builders: Cli, account: str, option: str, value: str) -> None:
    usual = {"--operator": "grace", "--reason": REASON} | {option: value}

    words = [word for pair in usual.items() for word in pair]
    result = builders("login-as", "grant", "--account", account, *words)

    assert result.exit_code == 2
    assert option in result.stderr


@pytest.mark.parametrize("missing", ["--operator", "--reason", "--account"])
def test_operator_and_reason_are_required(builders: Cli, account: str, missing: str) -> None:
    given = {"--operator": "grace", "--reason": REASON, "--account": account}
    del given[missing]

    result = builders("login-as", "grant", *[word for pair in given.items() for word in pair])

    assert result.exit_code == 2
    assert missing in result.stderr


def test_an_unknown_account_is_refused(builders: Cli, email: str) -> None:
    words = ("--account", email, "--operator", "grace", "--reason", REASON)
    for command in (("grant", *words), ("list", "--account", email)):
        result = builders("login-as", *command)
        assert result.exit_code == 1
        assert email in result.stderr


def test_grants_are_listed_newest_first_without_their_texts(builders: Cli, account: str) -> None:
    first, second = granted(builders, account), granted(builders, account, "--write")

    listed = builders("login-as", "list", "--account", account, "--json")
    for_people = builders("login-as", "list", "--account", account).stdout

    assert [each["id"] for each in json.loads(listed.stdout)] == [second["id"], first["id"]]
    for grant in (first, second):
        assert grant["grant"] not in listed.stdout + for_people
    assert [line.split("  ")[2] for line in for_people.splitlines()[1:]] == ["read and write", "read only"]
    assert for_people.count("open until") == 2


def test_a_grant_is_revoked_by_its_id(builders: Cli, account: str) -> None:
    grant = granted(builders, account)

    for _ in range(2):
        assert builders("login-as", "revoke", grant["id"]).exit_code == 0

    assert "  revoked " in builders("login-as", "list", "--account", account).stdout


@pytest.mark.parametrize("grant_id", ["x", "0193a1b2-0000-7000-8000-000000000001"])
def test_an_unknown_grant_is_refused(builders: Cli, grant_id: str) -> None:
    result = builders("login-as", "revoke", grant_id)

    assert result.exit_code == 1
    assert "no such grant" in result.stderr


def test_the_state_of_a_grant_is_shown(builders: Cli, account: str, conninfo: str) -> None:
    used, old = granted(builders, account), granted(builders, account)
    with psycopg.connect(conninfo) as conn:
        conn.execute(USED, [used["id"]])
        conn.execute(OLD, [old["id"]])

    shown = builders("login-as", "list", "--account", account).stdout.splitlines()[1:]

    assert [line.split("  ")[1].partition(" ")[0] for line in shown] == ["expired", "redeemed"]


@pytest.fixture
def grant(builders: Cli, account: str) -> dict[str, Any]:
    """Create the grant outside a loop, because the command runs its own."""
    return granted(builders, account)


async def test_the_grant_of_the_command_line_opens_a_session(
    grant: dict[str, Any], account: str, anyone: Client
) -> None:
    first, second = [await anyone.post("/v1/auth/login-as", json={"grant": grant["grant"]}) for _ in range(2)]

    assert (first.status_code, second.status_code) == (200, 400)
    assert first.json()["account"]["email"] == account
    assert first.json()["impersonation"]["grant_id"] == grant["id"]
