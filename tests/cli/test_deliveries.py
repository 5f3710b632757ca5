import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest

from builders.kit.values import ids
from tests.cli.conftest import Cli

FIND = "SELECT id, sandbox_of FROM identity_accounts WHERE email = %s AND (sandbox_of IS NOT NULL) = %s"
DESTINATION = """
    INSERT INTO webhooks_destinations
        (account_id, id, label, url, enabled, events, secret, secret_hint, created_at, updated_at, failures,
         failing_since, last_failure_status)
    VALUES (%s, %s, 'main', 'https://hooks.example.com/', true, '{*}', '\\x00', 'abcd', now(), now(), 3, now(),
            503)
"""
DELIVERY = """
    INSERT INTO webhooks_deliveries
        (account_id, id, created_at, destination_id, event_id, event, status, trigger, attempts, last_status,
         given_up_at)
    VALUES (%s, %s, now(), %s, %s, 'alias.created', 'failed', 'event', 10, 503, now())
"""
ATTEMPT = """
    INSERT INTO webhooks_attempts
        (account_id, delivery_id, created_at, destination_id, n, duration_ms, status, error, excerpt)
    VALUES (%s, %s, now(), %s, 10, 81, 503, 'http_status', E'no\\u009b[31m')
"""

LONG_AGO = datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC)
EVENT = """
    WITH event AS (
        INSERT INTO kit_outbox (id, created_at, account_id, name, version, data)
        VALUES (%(id)s, %(at)s, %(account_id)s, 'test.happened', 1, '{}')
    )
    INSERT INTO kit_outbox_pending (id, account_id, created_at) VALUES (%(id)s, %(account_id)s, %(at)s)
"""


@pytest.fixture
def failed(account: str, conninfo: str) -> UUID:
    """Return a failed delivery of the account."""
    delivery, destination = ids.new(), ids.new()
    with psycopg.connect(conninfo, autocommit=True) as conn:
        owner = (conn.execute(FIND, [account, False]).fetchone() or ())[0]
        conn.execute(DESTINATION, [owner, destination])
        conn.execute(DELIVERY, [owner, delivery, destination, ids.new()])
        conn.execute(ATTEMPT, [owner, delivery, destination])
    return delivery


def answered(result: Any) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_deliveries_are_listed(builders: Cli, account: str, failed: UUID) -> None:
    (item,) = answered(builders("deliveries", "list", "--account", account, "--json"))
    assert (item["id"], item["status"], item["attempt_count"]) == (str(failed), "failed", 10)
    said = builders("deliveries", "list", "--account", account, "--status", "failed").stdout
    assert f"{failed}  " in said
    assert said.splitlines()[0].split() == ["ID", "CREATED", "EVENT", "STATUS", "ATTEMPTS", "LAST"]
    assert said.split()[-4:] == ["alias.created", "failed", "10", "503"]


@pytest.mark.parametrize("words", [("--status", "succeeded"), ("--sandbox",), ("--webhook", "nonsense")])
def test_deliveries_are_filtered(builders: Cli, account: str, failed: UUID, words: tuple[str, ...]) -> None:
    said = builders("deliveries", "list", "--account", account, *words)
    assert (said.exit_code, said.stdout.strip()) == (0, "No deliveries.")
    assert str(failed) not in said.stdout


def test_a_delivery_is_shown_with_its_attempts(builders: Cli, account: str, failed: UUID) -> None:
    said = builders("deliveries", "show", "--account", account, str(failed)).stdout
    assert said.startswith("alias.created failed, 10 attempts\n")
    assert "81 ms  503  no\N{REPLACEMENT CHARACTER}[31m" in said
    found = answered(builders("deliveries", "show", "--account", account, str(failed), "--json"))
    assert found["attempts"][0]["status"] == 503


def test_a_delivery_is_retried(builders: Cli, account: str, failed: UUID) -> None:
    found = answered(builders("deliveries", "retry", "--account", account, str(failed), "--json"))
    assert (found["status"], found["trigger"]) == ("pending", "manual")
    assert found["next_attempt_at"] is not None


@pytest.mark.parametrize("verb", ["show", "retry"])
@pytest.mark.parametrize("wanted", ["nonsense", "0193a1b2-0000-7000-8000-00000000000f"])
def test_an_unknown_delivery_is_refused(builders: Cli, account: str, verb: str, wanted: str) -> None:
    result = builders("deliveries", verb, "--account", account, wanted)
    assert result.exit_code == 1
    assert "There is no such delivery." in result.stderr


def test_a_delivery_of_another_account_is_not_found(builders: Cli, failed: UUID) -> None:
    assert builders("accounts", "create", "--email", f"{failed.hex}@example.net").exit_code == 0
    result = builders("deliveries", "retry", "--account", f"{failed.hex}@example.net", str(failed))
    assert result.exit_code == 1


def test_the_oldest_undelivered_event_is_named(builders: Cli, account: str, conninfo: str) -> None:
    event, place = ids.lowest(LONG_AGO), "{} of {} ({}), since 2001-02-03T04:05:06Z"
    with psycopg.connect(conninfo, autocommit=True) as conn:
        owner = (conn.execute(FIND, [account, True]).fetchone() or ())[0]
        row = {"id": event, "account_id": owner, "at": LONG_AGO}
        conn.execute(EVENT, row)
        try:
            found = answered(builders("deliveries", "stuck", "--json"))
            said = builders("deliveries", "stuck").stdout
        finally:
            conn.execute("DELETE FROM kit_outbox_pending WHERE id = %(id)s", row)
            conn.execute("DELETE FROM kit_outbox WHERE account_id = %(account_id)s", row)
    assert found["oldest_event"] == {
        "id": str(event),
        "type": "test.happened",
        "account_id": str(owner),
        "email": account,
        "created_at": "2001-02-03T04:05:06Z",
    }
    assert said.startswith(f"oldest undelivered event: {found['outbox_s'] // 100}")
    assert place.format(event, account, owner) in said.splitlines()[0]


def test_the_backlog_is_shown(builders: Cli, failed: UUID) -> None:
    assert failed
    found = answered(builders("deliveries", "stuck", "--json"))
    assert {"outbox_s", "oldest_event", "due", "pending", "overdue_s", "troubled"} == found.keys()
    assert 3 in {each["failures"] for each in found["troubled"] if each["url"] == "https://hooks.example.com/"}
    said = builders("deliveries", "stuck").stdout
    assert "https://hooks.example.com/  3 failures since" in said
    assert "last 503" in said
