"""Destinations, as their owners see and change them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row

from builders.kit.db.connections import Conn
from builders.webhooks.records import Destination, DisabledReason, LastFailure

INSERT = """
    INSERT INTO webhooks_destinations
        (account_id, id, label, url, enabled, events, secret, secret_hint, created_at, updated_at, disabled_at,
         disabled_reason)
    VALUES (%(account_id)s, %(id)s, %(label)s, %(url)s, %(enabled)s, %(events)s, %(secret)s, %(secret_hint)s,
            %(now)s, %(now)s, %(disabled_at)s, %(disabled_reason)s)
"""
# Who counts holds a lock of the account, so that two at once cannot both be the last one allowed.
COUNT = "SELECT count(*) FROM webhooks_destinations WHERE account_id = %(account_id)s"
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('webhooks_destinations ' || %(account_id)s::uuid, 0))"
COLUMNS = """
    account_id, id, label, url, enabled, events, secret_hint,
    CASE WHEN old_secret_until > %(now)s THEN old_secret_until END AS old_secret_until, version, created_at,
    updated_at, disabled_at, disabled_reason, failing_since, last_success_at, last_failure_at,
    last_failure_status, last_failure_error, waiting.pending, lately.success_rate_24h
"""
HEALTH = """
    CROSS JOIN LATERAL (
        SELECT count(*) AS pending FROM (
            SELECT FROM webhooks_due AS due
            WHERE due.account_id = destination.account_id AND due.destination_id = destination.id LIMIT 10000
        ) AS counted
    ) AS waiting
    CROSS JOIN LATERAL (
        SELECT round(avg((error IS NULL)::int), 3)::float AS success_rate_24h FROM (
            SELECT error FROM webhooks_attempts AS attempt
            WHERE attempt.account_id = destination.account_id AND attempt.destination_id = destination.id
              AND attempt.created_at > %(day_ago)s
            ORDER BY attempt.created_at DESC LIMIT 1000
        ) AS newest
    ) AS lately
"""
FIND = f"""
    SELECT {COLUMNS} FROM webhooks_destinations AS destination {HEALTH}
    WHERE account_id = %(account_id)s AND id = %(id)s
"""  # noqa: S608 - of constants
LIST = f"""
    SELECT {COLUMNS} FROM webhooks_destinations AS destination {HEALTH}
    WHERE account_id = %(account_id)s ORDER BY id
"""  # noqa: S608 - of constants
# Null leaves a column as it is. One that is enabled again starts with a clean slate; of the receiver at another
# URL nothing is known at all.
UPDATE = """
    UPDATE webhooks_destinations AS destination SET
        label = coalesce(%(label)s::text, label), url = coalesce(%(url)s::text, url),
        enabled = coalesce(%(enabled)s::boolean, enabled), events = coalesce(%(events)s::text[], events),
        version = version + 1, updated_at = %(now)s,
        disabled_at = CASE WHEN %(enabled)s::boolean THEN NULL
                           WHEN enabled AND NOT %(enabled)s::boolean THEN %(now)s ELSE disabled_at END,
        disabled_reason = CASE WHEN %(enabled)s::boolean THEN NULL
                               WHEN enabled AND NOT %(enabled)s::boolean THEN 'manual' ELSE disabled_reason END,
        failures = CASE WHEN anew THEN 0 ELSE failures END,
        openings = CASE WHEN anew THEN 0 ELSE openings END,
        open_until = CASE WHEN anew THEN NULL ELSE open_until END,
        failing_since = CASE WHEN anew THEN NULL ELSE failing_since END,
        last_duration_ms = CASE WHEN elsewhere THEN NULL ELSE last_duration_ms END,
        last_success_at = CASE WHEN elsewhere THEN NULL ELSE last_success_at END,
        last_failure_at = CASE WHEN elsewhere THEN NULL ELSE last_failure_at END,
        last_failure_status = CASE WHEN elsewhere THEN NULL ELSE last_failure_status END,
        last_failure_error = CASE WHEN elsewhere THEN NULL ELSE last_failure_error END
    FROM (
        SELECT account_id, id, %(url)s::text <> url AS elsewhere,
               %(url)s::text <> url OR %(enabled)s::boolean AND NOT enabled AS anew
        FROM webhooks_destinations WHERE account_id = %(account_id)s AND id = %(id)s
    ) AS before
    WHERE destination.account_id = before.account_id AND destination.id = before.id
"""
FIND_ENABLED = "SELECT enabled FROM webhooks_destinations WHERE account_id = %(account_id)s AND id = %(id)s"
LOCK_ONE = """
    SELECT FROM webhooks_destinations WHERE account_id = %(account_id)s AND id = %(id)s FOR NO KEY UPDATE
"""
ROTATE = """
    UPDATE webhooks_destinations SET
        old_secret = CASE WHEN %(old_secret_until)s::timestamptz > %(now)s THEN secret END,
        old_secret_until = CASE WHEN %(old_secret_until)s::timestamptz > %(now)s
                                THEN %(old_secret_until)s::timestamptz END,
        secret = %(secret)s, secret_hint = %(secret_hint)s, secret_unseen = false,
        version = version + 1, updated_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(id)s
"""
DELETE = "DELETE FROM webhooks_destinations WHERE account_id = %(account_id)s AND id = %(id)s"

_DAY = timedelta(days=1)


async def insert(
    conn: Conn,
    *,
    account_id: UUID,
    destination_id: UUID,
    label: str,
    url: str,
    enabled: bool,
    events: Sequence[str],
    secret: bytes,
    secret_hint: str,
    now: datetime,
) -> None:
    """A new destination; `secret` is sealed."""
    row = {"account_id": account_id, "id": destination_id, "label": label, "url": url, "enabled": enabled}
    disabled: dict[str, datetime | DisabledReason | None] = {"disabled_at": None, "disabled_reason": None}
    if not enabled:
        disabled = {"disabled_at": now, "disabled_reason": DisabledReason.MANUAL}
    sealed = {"secret": secret, "secret_hint": secret_hint}
    await conn.execute(INSERT, {**row, **disabled, **sealed, "events": list(events), "now": now})


async def lock_account(conn: Conn, *, account_id: UUID) -> None:
    """Lock the number of the account's destinations until the transaction ends."""
    await conn.execute(LOCK, {"account_id": account_id})


async def count(conn: Conn, *, account_id: UUID) -> int:
    """Return how many destinations the account has."""
    row = await (await conn.execute(COUNT, {"account_id": account_id})).fetchone()
    return 0 if row is None else int(row[0])


async def find(conn: Conn, *, account_id: UUID, destination_id: UUID, now: datetime) -> Destination | None:
    """One destination of the account."""
    row = {"account_id": account_id, "id": destination_id, "now": now, "day_ago": now - _DAY}
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(FIND, row)
        found = await cursor.fetchone()
    return None if found is None else _destination(found)


async def list_all(conn: Conn, *, account_id: UUID, now: datetime) -> list[Destination]:
    """All destinations of the account, oldest first."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(LIST, {"account_id": account_id, "now": now, "day_ago": now - _DAY})
        return [_destination(each) for each in await cursor.fetchall()]


async def find_enabled(conn: Conn, *, account_id: UUID, destination_id: UUID) -> bool | None:
    """Whether it is enabled; None when it is not there."""
    row = await (await conn.execute(FIND_ENABLED, {"account_id": account_id, "id": destination_id})).fetchone()
    return None if row is None else bool(row[0])


async def lock(conn: Conn, *, account_id: UUID, destination_id: UUID) -> None:
    """Until the transaction ends nobody else changes it."""
    await conn.execute(LOCK_ONE, {"account_id": account_id, "id": destination_id})


async def update(
    conn: Conn,
    *,
    account_id: UUID,
    destination_id: UUID,
    label: str | None,
    url: str | None,
    enabled: bool | None,
    events: Sequence[str] | None,
    now: datetime,
) -> None:
    """Changes what is given."""
    row = {"account_id": account_id, "id": destination_id, "now": now}
    wanted = None if events is None else list(events)
    changes = {"label": label, "url": url, "enabled": enabled, "events": wanted}
    await conn.execute(UPDATE, {**row, **changes})


async def rotate(
    conn: Conn,
    *,
    account_id: UUID,
    destination_id: UUID,
    secret: bytes,
    secret_hint: str,
    old_secret_until: datetime,
    now: datetime,
) -> None:
    """Puts a new sealed secret in place; the one before signs too until the time given."""
    row = {"account_id": account_id, "id": destination_id, "secret": secret, "secret_hint": secret_hint}
    await conn.execute(ROTATE, {**row, "old_secret_until": old_secret_until, "now": now})


async def delete(conn: Conn, *, account_id: UUID, destination_id: UUID) -> None:
    """Removes it. What is pending for it is cancelled by the sender."""
    await conn.execute(DELETE, {"account_id": account_id, "id": destination_id})


def _destination(row: dict[str, Any]) -> Destination:
    at, status, error = (row.pop(f"last_failure_{name}") for name in ("at", "status", "error"))
    reason = row.pop("disabled_reason")
    return Destination(
        **row,
        disabled_reason=None if reason is None else DisabledReason(reason),
        last_failure=None if at is None else LastFailure(at=at, status=status, error=error),
    )


CLEAR = """
    WITH due AS (
        DELETE FROM webhooks_due WHERE account_id = %(account_id)s
    ), attempt AS (
        DELETE FROM webhooks_attempts WHERE account_id = %(account_id)s
    ), payload AS (
        DELETE FROM webhooks_payloads WHERE account_id = %(account_id)s
    ), delivery AS (
        DELETE FROM webhooks_deliveries WHERE account_id = %(account_id)s RETURNING id
    ), destination AS (
        DELETE FROM webhooks_destinations WHERE account_id = %(account_id)s RETURNING id
    )
    SELECT (SELECT count(*) FROM destination), (SELECT count(*) FROM delivery)
"""


async def clear(conn: Conn, *, account_id: UUID) -> tuple[int, int]:
    """Deletes every row of a sandbox account; how many destinations and deliveries it had."""
    found = await (await conn.execute(CLEAR, {"account_id": account_id})).fetchone()
    return (0, 0) if found is None else (int(found[0]), int(found[1]))
