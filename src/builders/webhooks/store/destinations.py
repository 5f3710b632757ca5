"""Destinations: read, insert, update and delete them. A single write is a batch of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, dict_row
from psycopg.types.json import Jsonb

from builders.kit.db.connections import Conn
from builders.webhooks.records import (
    Destination,
    DestinationChange,
    DestinationSpec,
    DisabledReason,
    LastFailure,
    ManagedDestination,
)
from builders.webhooks.store.secrets import StoredSecret

INSERT = """
    INSERT INTO webhooks_destinations
        (account_id, id, label, url, enabled, events, secret, secret_hint, secret_unseen, manifest, manifest_key,
         created_at, updated_at, disabled_at, disabled_reason)
    SELECT %(account_id)s, id, label, url, enabled, ARRAY(SELECT jsonb_array_elements_text(events)), secret,
           secret_hint, unseen, manifest, manifest_key, %(now)s, %(now)s,
           CASE WHEN NOT enabled THEN %(now)s::timestamptz END, CASE WHEN NOT enabled THEN 'manual' END
    FROM unnest(
        %(ids)s::uuid[], %(labels)s::text[], %(urls)s::text[], %(enabled)s::boolean[], %(events)s::jsonb[],
        %(secrets)s::bytea[], %(hints)s::text[], %(unseen)s::boolean[], %(manifests)s::text[], %(keys)s::text[]
    ) AS new (id, label, url, enabled, events, secret, secret_hint, unseen, manifest, manifest_key)
"""
# Serializes the transactions that count an account's destinations, so that two cannot both insert the last one.
LOCK_ACCOUNT = (
    "SELECT pg_advisory_xact_lock(hashtextextended('webhooks_destinations ' || %(account_id)s::uuid, 0))"
)
COUNT = "SELECT count(*) FROM webhooks_destinations WHERE account_id = %(account_id)s"
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
"""
LIST = f"""
    SELECT {COLUMNS} FROM webhooks_destinations AS destination {HEALTH}
    WHERE account_id = %(account_id)s ORDER BY id
"""
LIST_MANAGED = """
    SELECT id, label, url, enabled, events, manifest, manifest_key, version FROM webhooks_destinations
    WHERE account_id = %(account_id)s ORDER BY id
"""
FIND_ENABLED = "SELECT enabled FROM webhooks_destinations WHERE account_id = %(account_id)s AND id = %(id)s"
LOCK = """
    SELECT id, label, url, enabled, events, manifest, manifest_key, version, disabled_reason
    FROM webhooks_destinations
    WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[])
    ORDER BY id FOR NO KEY UPDATE
"""
# Manifest keys of destinations that are not in the batch.
LIST_TAKEN_KEYS = """
    SELECT manifest, manifest_key FROM webhooks_destinations
    JOIN unnest(%(manifests)s::text[], %(keys)s::text[]) AS wanted (manifest, manifest_key)
      USING (manifest, manifest_key)
    WHERE account_id = %(account_id)s AND id <> ALL(%(ids)s::uuid[])
"""
# A destination that is enabled again, or that has a new URL, starts with a closed circuit and no failures. A new
# URL also clears the results of the last attempts, which are those of another receiver.
UPDATE = """
    UPDATE webhooks_destinations AS destination SET
        label = new.label, url = new.url, enabled = new.enabled,
        events = ARRAY(SELECT jsonb_array_elements_text(new.events)),
        manifest = new.manifest, manifest_key = new.manifest_key,
        version = destination.version + 1, updated_at = %(now)s,
        disabled_at = CASE WHEN new.enabled THEN NULL
                           WHEN destination.enabled THEN %(now)s ELSE destination.disabled_at END,
        disabled_reason = CASE WHEN new.enabled THEN NULL
                               WHEN destination.enabled THEN 'manual' ELSE destination.disabled_reason END,
        failures = CASE WHEN is_reset THEN 0 ELSE failures END,
        openings = CASE WHEN is_reset THEN 0 ELSE openings END,
        open_until = CASE WHEN is_reset THEN NULL ELSE open_until END,
        failing_since = CASE WHEN is_reset THEN NULL ELSE failing_since END,
        last_duration_ms = CASE WHEN elsewhere THEN NULL ELSE last_duration_ms END,
        last_success_at = CASE WHEN elsewhere THEN NULL ELSE last_success_at END,
        last_failure_at = CASE WHEN elsewhere THEN NULL ELSE last_failure_at END,
        last_failure_status = CASE WHEN elsewhere THEN NULL ELSE last_failure_status END,
        last_failure_error = CASE WHEN elsewhere THEN NULL ELSE last_failure_error END
    FROM (
        SELECT wanted.*, wanted.url <> before.url AS elsewhere,
               wanted.url <> before.url OR wanted.enabled AND NOT before.enabled AS is_reset
        FROM unnest(
            %(ids)s::uuid[], %(labels)s::text[], %(urls)s::text[], %(enabled)s::boolean[], %(events)s::jsonb[],
            %(manifests)s::text[], %(keys)s::text[]
        ) AS wanted (id, label, url, enabled, events, manifest, manifest_key)
        JOIN webhooks_destinations AS before ON before.id = wanted.id
        WHERE before.account_id = %(account_id)s
    ) AS new
    WHERE destination.account_id = %(account_id)s AND destination.id = new.id
    RETURNING destination.id, destination.disabled_reason
"""
DELETE = "DELETE FROM webhooks_destinations WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[])"
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

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedDestination(ManagedDestination):
    """A destination that no other transaction can change until this one ends."""

    disabled_reason: str | None


async def insert(
    conn: Conn,
    *,
    account_id: UUID,
    specs: Sequence[DestinationSpec],
    secrets: Mapping[UUID, StoredSecret],
    now: datetime,
) -> None:
    """Insert destinations; `secrets` holds the secret of each by its id."""
    row = {
        "secrets": [secrets[spec.id].sealed for spec in specs],
        "hints": [secrets[spec.id].hint for spec in specs],
        "unseen": [secrets[spec.id].is_unseen for spec in specs],
    }
    await conn.execute(INSERT, {"account_id": account_id, "now": now, **_columns(specs), **row})


async def lock_account(conn: Conn, *, account_id: UUID) -> None:
    """Let no other transaction count the account's destinations until this one ends."""
    await conn.execute(LOCK_ACCOUNT, {"account_id": account_id})


async def count(conn: Conn, *, account_id: UUID) -> int:
    """Return the number of the account's destinations."""
    row = await (await conn.execute(COUNT, {"account_id": account_id})).fetchone()
    return 0 if row is None else int(row[0])


async def find(conn: Conn, *, account_id: UUID, destination_id: UUID, now: datetime) -> Destination | None:
    """Return a destination of the account with its health, or None."""
    row = {"account_id": account_id, "id": destination_id, "now": now, "day_ago": now - _DAY}
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(FIND, row)
        found = await cursor.fetchone()
    return None if found is None else _destination(found)


async def list_all(conn: Conn, *, account_id: UUID, now: datetime) -> list[Destination]:
    """Return all destinations of the account with their health, oldest first."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(LIST, {"account_id": account_id, "now": now, "day_ago": now - _DAY})
        return [_destination(each) for each in await cursor.fetchall()]


async def list_managed(conn: Conn, *, account_id: UUID) -> list[ManagedDestination]:
    """Return all destinations of the account with their manifest keys, oldest first."""
    async with conn.cursor(row_factory=class_row(ManagedDestination)) as cursor:
        await cursor.execute(LIST_MANAGED, {"account_id": account_id})
        return await cursor.fetchall()


async def find_enabled(conn: Conn, *, account_id: UUID, destination_id: UUID) -> bool | None:
    """Return whether the destination is enabled, or None when it does not exist."""
    row = await (await conn.execute(FIND_ENABLED, {"account_id": account_id, "id": destination_id})).fetchone()
    return None if row is None else bool(row[0])


async def lock(conn: Conn, *, account_id: UUID, destination_ids: Sequence[UUID]) -> list[LockedDestination]:
    """Lock the destinations that exist until the transaction ends, and return them."""
    async with conn.cursor(row_factory=class_row(LockedDestination)) as cursor:
        await cursor.execute(LOCK, {"account_id": account_id, "ids": list(destination_ids)})
        return await cursor.fetchall()


async def list_taken_keys(
    conn: Conn, *, account_id: UUID, wanted: Sequence[DestinationSpec | DestinationChange]
) -> frozenset[tuple[str, str]]:
    """Return each manifest and key of the batch that another destination of the account has."""
    rows = await conn.execute(LIST_TAKEN_KEYS, {"account_id": account_id, **_columns(wanted)})
    return frozenset((row[0], row[1]) for row in await rows.fetchall())


async def update(
    conn: Conn, *, account_id: UUID, changes: Sequence[DestinationChange], now: datetime
) -> Mapping[UUID, str | None]:
    """Update destinations; return why each is disabled (None: it is enabled) by its id."""
    rows = await conn.execute(UPDATE, {"account_id": account_id, "now": now, **_columns(changes)})
    return dict(await rows.fetchall())


async def delete(conn: Conn, *, account_id: UUID, destination_ids: Sequence[UUID]) -> None:
    """Delete destinations. The sender cancels their pending deliveries."""
    await conn.execute(DELETE, {"account_id": account_id, "ids": list(destination_ids)})


async def clear(conn: Conn, *, account_id: UUID) -> tuple[int, int]:
    """Delete the account's destinations and deliveries; return the number of each."""
    found = await (await conn.execute(CLEAR, {"account_id": account_id})).fetchone()
    return (0, 0) if found is None else (int(found[0]), int(found[1]))


def _columns(wanted: Sequence[DestinationSpec | DestinationChange]) -> dict[str, object]:
    return {
        "ids": [each.id for each in wanted],
        "labels": [each.label for each in wanted],
        "urls": [each.url for each in wanted],
        "enabled": [each.enabled for each in wanted],
        "events": [Jsonb(list(each.events)) for each in wanted],
        "manifests": [each.manifest for each in wanted],
        "keys": [each.manifest_key for each in wanted],
    }


def _destination(row: dict[str, Any]) -> Destination:
    at, status, error = (row.pop(f"last_failure_{name}") for name in ("at", "status", "error"))
    reason = row.pop("disabled_reason")
    return Destination(
        **row,
        disabled_reason=None if reason is None else DisabledReason(reason),
        last_failure=None if at is None else LastFailure(at=at, status=status, error=error),
    )
