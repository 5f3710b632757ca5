import json
import os
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from builders.kit.process.secret_keys import generate_secret
from tests.cli.conftest import Cli
from tests.identity.token_forger import parts

AUDIT = """
    SELECT actor_type, about ->> 'kind' FROM identity_audit
    WHERE account_id = %s AND action = 'session.opened'
"""
ISSUER = "https://login.example"
ISSUERS = json.dumps([{"issuer": ISSUER, "audience": "builders"}])


def test_a_token_lasts_fifteen_minutes(builders: Cli, account: str, conninfo: str) -> None:
    result = builders("token", "--account", account)

    assert result.stdout.count("\n") == 1
    header, claims = parts(result.stdout.strip())
    assert header["typ"] == "at+jwt"
    assert claims["exp"] - claims["iat"] == 15 * 60
    with psycopg.connect(conninfo) as conn:
        assert conn.execute(AUDIT, [claims["sub"]]).fetchall() == [("operator", "token")]


def test_the_json_output_has_the_session(builders: Cli, account: str) -> None:
    said = json.loads(builders("token", "--account", account, "--minutes", "720", "--json").stdout)

    assert parts(said["token"])[1]["jti"] == said["id"]
    assert said["kind"] == "token"
    ends = datetime.fromisoformat(said["expires_at"])
    assert timedelta(hours=11) < ends - datetime.now(UTC) <= timedelta(hours=12)


@pytest.mark.parametrize("minutes", ["0", "721", "x", "-5"])
def test_a_token_is_short_lived(builders: Cli, account: str, minutes: str) -> None:
    assert builders("token", "--account", account, "--minutes", minutes).exit_code == 2


def test_an_unknown_account_is_refused(builders: Cli) -> None:
    result = builders("token", "--account", "nobody@example.net")

    assert (result.exit_code, result.stdout) == (1, "")
    assert "There is no account" in result.stderr


def test_weak_secret_keys_are_refused(builders: Cli, account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILDERS_SECRET_KEYS", "short")

    result = builders("token", "--account", account)

    assert result.exit_code == os.EX_CONFIG
    assert "secret key" in result.stderr


def test_the_token_is_signed_by_the_first_key(
    builders: Cli, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = generate_secret(), generate_secret()
    kids = []
    for keys in (first, f"{first},{second}", f"{second},{first}"):
        monkeypatch.setenv("BUILDERS_SECRET_KEYS", keys)
        kids.append(parts(builders("token", "--account", account).stdout.strip())[0]["kid"])

    assert kids[0] == kids[1] != kids[2]


def test_a_subject_is_linked_once(
    builders: Cli, account: str, email: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUILDERS_OIDC_ISSUERS", ISSUERS)
    words = ("accounts", "link", "--account", account, "--issuer", ISSUER, "--subject", email)

    first, again = builders(*words), builders(*words)

    assert first.stdout == f"The subject {email} is linked to {account}.\n"
    assert again.exit_code == 1
    assert "linked to an account already" in again.stderr


def test_only_trusted_issuers_are_linked(builders: Cli, account: str) -> None:
    result = builders("accounts", "link", "--account", account, "--issuer", ISSUER, "--subject", "x")

    assert result.exit_code == 1
    assert "BUILDERS_OIDC_ISSUERS has no issuer" in result.stderr
