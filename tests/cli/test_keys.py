import hashlib
import json
from typing import Any

import psycopg
import pytest

from builders.cli import session
from builders.identity import keys
from builders.identity.records import KeyKind, Preset
from tests.cli.conftest import Cli

MANY = """
    INSERT INTO identity_keys
        (account_id, id, digest, label, kind, preset, prefix, last4, created_at, created_by)
    SELECT id, gen_random_uuid(), uuid_send(gen_random_uuid()), 'key ' || nth,
           'live', 'developer_full', 'svc_live_0', '0000', created_at, 'test'
    FROM identity_accounts, generate_series(1, 1001) AS nth WHERE email = %s AND sandbox_of IS NULL
"""
DIGEST = "SELECT digest FROM identity_keys WHERE account_id = %s AND prefix = %s"


def created(builders: Cli, account: str, *words: str) -> dict[str, Any]:
    """Return a key of the JSON output."""
    usual = ("--account", account, "--kind", "live", "--preset", "developer_full")
    result = builders("keys", "create", *usual, *words, "--json")
    assert result.exit_code == 0, result.stderr
    key: dict[str, Any] = json.loads(result.stdout)
    return key


@pytest.mark.parametrize("kind", KeyKind)
@pytest.mark.parametrize("preset", Preset)
def test_a_key_of_each_kind_and_preset_is_created(
    builders: Cli, account: str, conninfo: str, kind: KeyKind, preset: Preset
) -> None:
    key = created(builders, account, "--kind", kind, "--preset", preset, "--label", " ci ")

    assert (key["key_kind"], key["preset"], key["label"]) == (kind, preset, "ci")
    text = keys.parse_secret(key["secret"])
    assert text is not None
    assert text.prefix == key["prefix"]
    with psycopg.connect(conninfo) as conn:
        found = conn.execute(DIGEST, [text.account_id, text.prefix]).fetchone()
    assert found == (hashlib.sha256(text.text.encode()).digest(),)


def test_a_key_is_created_with_limits(builders: Cli, account: str) -> None:
    words = ("--expires-at", "2099-01-31T01:00:00+01:00", "--allow-ip", "192.0.2.7", "--allow-ip", "2001:db8::/48")
    key = created(builders, account, *words)

    assert (key["expires_at"], key["allowed_ips"]) == ("2099-01-31T00:00:00Z", ["192.0.2.7/32", "2001:db8::/48"])
    [item] = json.loads(builders("keys", "list", "--account", account, "--json").stdout)
    assert (item["expires_at"], item["allowed_ips"]) == (key["expires_at"], key["allowed_ips"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--expires-at", "2099-01-31T00:00:00"), "write a time with an offset"),
        (("--expires-at", "soon"), "write a time with an offset"),
        (("--expires-at", "2020-01-31T00:00:00Z"), "The expiry of a key must be in the future."),
        (("--expires-at", "9999-12-31T23:59:59-12:00"), "in the year 9999"),
        (("--allow-ip", "192.0.2.1/24"), "did you mean 192.0.2.0/24?"),
        (("--allow-ip", ""), "Not a network in CIDR notation"),
        (("--allow-ip", "192.0.2.1") * 51, "A key has 1 to 50 networks"),
    ],
)
def test_an_invalid_limit_is_refused(builders: Cli, account: str, words: tuple[str, ...], said: str) -> None:
    usual = ("--account", account, "--kind", "live", "--preset", "developer_full")
    result = builders("keys", "create", *usual, *words)

    assert result.exit_code in {1, 2}
    assert said in result.stderr
    assert json.loads(builders("keys", "list", "--account", account, "--json").stdout) == []


def test_the_text_output_is_the_secret_alone(builders: Cli, account: str) -> None:
    result = builders("keys", "create", "--account", account, "--kind", "test", "--preset", "developer_full")

    assert keys.parse_secret(result.stdout.strip()) is not None
    assert result.stdout.count("\n") == 1


def test_keys_are_listed_newest_first_without_their_secrets(builders: Cli, account: str) -> None:
    first, second = created(builders, account), created(builders, account)

    result = builders("keys", "list", "--account", account, "--json")

    items = json.loads(result.stdout)
    assert [item["id"] for item in items] == [second["id"], first["id"]]
    assert items[1] == {name: first[name] for name in items[1]}
    assert first["secret"] not in result.stdout


def test_all_keys_are_listed(builders: Cli, account: str, conninfo: str) -> None:
    with psycopg.connect(conninfo) as conn:
        conn.execute(MANY, [account])

    items = json.loads(builders("keys", "list", "--account", account, "--json").stdout)

    assert len({item["id"] for item in items}) == len(items) == 1001


def test_the_text_output_has_the_state_of_a_key(builders: Cli, account: str) -> None:
    assert builders("keys", "list", "--account", account).stdout == "No keys.\n"
    gone, kept = created(builders, account), created(builders, account)
    builders("keys", "revoke", "--account", account, gone["id"])

    lines = builders("keys", "list", "--account", account.upper()).stdout.splitlines()[1:]

    assert [line.split("  ")[0] for line in lines] == [kept["id"], gone["id"]]
    assert "  active  " in lines[0]
    assert "  revoked " in lines[1]


def test_control_characters_of_a_label_are_not_printed(builders: Cli, account: str) -> None:
    label = "\x1b[2J\u202emoc\nforged line"
    created(builders, account, "--label", label)

    result = builders("keys", "list", "--account", account)

    head, line = result.stdout.splitlines()
    assert head.startswith("ID  ")
    assert line.isprintable()
    assert "forged line" in line


@pytest.mark.parametrize("label", ["", "  ", "x" * 121])
def test_an_invalid_label_is_refused(builders: Cli, account: str, label: str) -> None:
    result = builders(
        *("keys", "create", "--account", account, "--kind", "live", "--preset", "developer_full"),
        *("--label", label),
    )

    assert result.exit_code == 2
    assert "1 to 120 characters" in result.stderr


def test_revoking_is_idempotent(builders: Cli, account: str) -> None:
    key = created(builders, account)
    words = ("keys", "revoke", "--account", account, key["id"])

    first, second = builders(*words, "--json"), builders(*words, "--json")

    assert json.loads(first.stdout)["revoked_at"] > key["created_at"]
    assert second.stdout == first.stdout
    assert key["prefix"] in builders(*words).stdout


def test_all_machines_of_an_account_are_stopped(builders: Cli, account: str) -> None:
    created(builders, account)
    created(builders, account)

    assert json.loads(builders("keys", "stop", "--account", account, "--json").stdout) == {"revoked": 2}
    assert all(
        each["revoked_at"] for each in json.loads(builders("keys", "list", "--account", account, "--json").stdout)
    )


def test_a_key_of_another_account_is_not_revoked(builders: Cli, account: str) -> None:
    other = f"other-{account}"
    builders("accounts", "create", "--email", other)
    key = created(builders, account)

    answers = [builders("keys", "revoke", "--account", other, each) for each in (key["id"], "x")]

    refusal = f"Error: There is no such API key.\n{session.NEXT_COMMANDS['api_key_not_found']}\n"
    assert {(each.exit_code, each.stderr) for each in answers} == {(1, refusal)}
    assert json.loads(builders("keys", "list", "--account", account, "--json").stdout)[0]["revoked_at"] is None


@pytest.mark.parametrize(
    "words",
    [
        ("create", "--kind", "live", "--preset", "developer_full"),
        ("list",),
        ("revoke", "0193a1b2-0000-7000-8000-000000000001"),
    ],
)
def test_an_unknown_account_is_refused(builders: Cli, email: str, words: tuple[str, ...]) -> None:
    result = builders("keys", *words, "--account", email, "--json")

    assert (result.exit_code, result.stdout) == (1, "")
    assert json.loads(result.stderr)["error"]["detail"] == f"There is no account with the address {email}."


@pytest.mark.parametrize("wrong", [("--kind", "LIVE"), ("--kind", "prod"), ("--preset", "admin")])
def test_an_unknown_kind_or_preset_is_refused(builders: Cli, account: str, wrong: tuple[str, str]) -> None:
    result = builders(
        *("keys", "create", "--account", account, "--kind", "live", "--preset", "developer_full"), *wrong
    )

    assert result.exit_code == 2
    assert f"'{wrong[1]}' is not one of" in result.stderr
