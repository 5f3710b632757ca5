import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import psycopg
import pytest

from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.values import ids
from builders.webhooks import signatures
from tests.cli.conftest import Cli

NEW = generate_secret()
DESTINATION = """
    INSERT INTO webhooks_destinations
        (account_id, id, label, url, enabled, events, secret, secret_hint, created_at, updated_at)
    VALUES (%s, %s, 'main', 'https://hooks.example.com/', true, '{*}', %s, 'abcd', %s, %s)
"""
OPTOUT = "INSERT INTO mail_optouts (hash, topic, address, created_at) VALUES (%s, 'news', %s, %s)"


@pytest.fixture
def old() -> str:
    """Return an old secret key."""
    return generate_secret()


@pytest.fixture
def sealed(account: str, conninfo: str, old: str) -> Iterator[UUID]:
    """Create a destination and two opt-outs with the old secret key."""
    destination, now, ring = ids.new(), datetime.now(UTC), Keyring([old])
    with psycopg.connect(conninfo, autocommit=True) as conn:
        query = "SELECT id FROM identity_accounts WHERE email = %s AND sandbox_of IS NULL"
        (owner,) = conn.execute(query, [account]).fetchone() or ()
        secret = signatures.seal_secret(ring, "a secret of old", account_id=owner, destination_id=destination)
        conn.execute(DESTINATION, [owner, destination, secret, now, now])
        for email in (account, f"x{account}"):
            digest = ring.hash_token("mail.optouts", f"news\n{email}")
            conn.execute(OPTOUT, [digest, ring.seal("mail.optouts", email.encode(), context=b"news"), now])
        yield destination
        conn.execute("DELETE FROM webhooks_destinations WHERE id = %s", [destination])


def test_stored_secrets_are_sealed_with_the_first_secret_key(
    builders: Cli, sealed: UUID, plain_environment: pytest.MonkeyPatch, conninfo: str, old: str
) -> None:
    plain_environment.setenv("BUILDERS_SECRET_KEYS", f"{NEW},{old}")
    for renewed in (
        {
            "webhook_secrets": 1,
            "registrar_credentials": 0,
            "mail_optouts": 2,
            "correspondents": 0,
            "domain_keys": 0,
        },
        {
            "webhook_secrets": 0,
            "registrar_credentials": 0,
            "mail_optouts": 0,
            "correspondents": 0,
            "domain_keys": 0,
        },
    ):
        result = builders("secrets", "reseal", "--json")
        assert result.exit_code == 0, result.stderr
        assert {name: each["renewed"] for name, each in json.loads(result.stdout).items()} == renewed

    with psycopg.connect(conninfo) as conn:
        query = "SELECT account_id, secret FROM webhooks_destinations WHERE id = %s"
        owner, secret = conn.execute(query, [sealed]).fetchone() or ()
    assert (
        signatures.unseal_secret(Keyring([NEW]), secret, account_id=owner, destination_id=sealed)
        == "a secret of old"
    )


@pytest.mark.usefixtures("sealed")
def test_the_text_output_has_a_line_each(builders: Cli, plain_environment: pytest.MonkeyPatch, old: str) -> None:
    plain_environment.setenv("BUILDERS_SECRET_KEYS", f"{NEW},{old}")
    lines = builders("secrets", "reseal").stdout.splitlines()
    assert lines[0].startswith("Signing secrets of webhooks: 1 sealed again")
    assert lines[2].startswith("Opt-outs of email: 2 sealed again")


@pytest.mark.usefixtures("sealed")
def test_secrets_of_a_missing_key_are_counted(builders: Cli, plain_environment: pytest.MonkeyPatch) -> None:
    plain_environment.setenv("BUILDERS_SECRET_KEYS", NEW)
    result = builders("secrets", "reseal")
    assert result.exit_code == 0
    assert "Signing secrets of webhooks: 0 sealed again, " in result.stdout
    assert "sealed by a missing secret key." in result.stdout


def test_an_invalid_secret_key_is_refused(builders: Cli, plain_environment: pytest.MonkeyPatch) -> None:
    plain_environment.setenv("BUILDERS_SECRET_KEYS", "short")
    result = builders("secrets", "reseal")
    assert result.exit_code == os.EX_CONFIG
    assert "too short" in result.stderr
