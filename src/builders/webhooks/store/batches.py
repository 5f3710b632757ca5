"""Destinations in sets, as a manifest has them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from builders.kit.db.connections import Conn
from builders.webhooks.records import DestinationChange, DestinationSpec, ManagedDestination

LIST = """
    SELECT id, label, url, enabled, events, manifest, manifest_key, version FROM webhooks_destinations
    WHERE account_id = %(account_id)s ORDER BY id
"""
LIST_SECRETS = """
    SELECT id, secret FROM webhooks_destinations
    WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[])
"""
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
# Those that are as they were, locked.
LOCK_UNCHANGED = """
    SELECT destination.id, destination.label, destination.url, destination.enabled, destination.events,
           destination.manifest, destination.manifest_key, destination.version
    FROM webhooks_destinations AS destination
    JOIN unnest(%(ids)s::uuid[], %(versions)s::int[]) AS wanted (id, version)
      ON destination.id = wanted.id AND destination.version = wanted.version
    WHERE destination.account_id = %(account_id)s
    ORDER BY destination.id FOR NO KEY UPDATE OF destination
"""
# Keys that stand for a destination that is not among those changed.
LIST_TAKEN_KEYS = """
    SELECT manifest, manifest_key FROM webhooks_destinations
    JOIN unnest(%(manifests)s::text[], %(keys)s::text[]) AS wanted (manifest, manifest_key)
      USING (manifest, manifest_key)
    WHERE account_id = %(account_id)s AND id <> ALL(%(ids)s::uuid[])
"""
# As for a single one (destinations.py): one that is enabled again starts with a clean slate, and of the receiver
# at another URL nothing is known at all.
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
        SELECT wanted.*, wanted.url <> before.url AS elsewhere,
               wanted.url <> before.url OR wanted.enabled AND NOT before.enabled AS anew
        FROM unnest(
            %(ids)s::uuid[], %(labels)s::text[], %(urls)s::text[], %(enabled)s::boolean[], %(events)s::jsonb[],
            %(manifests)s::text[], %(keys)s::text[]
        ) AS wanted (id, label, url, enabled, events, manifest, manifest_key)
        JOIN webhooks_destinations AS before ON before.id = wanted.id
        WHERE before.account_id = %(account_id)s
    ) AS new
    WHERE destination.account_id = %(account_id)s AND destination.id = new.id
"""
DELETE = "DELETE FROM webhooks_destinations WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[])"
# Whoever gets a row here is the one to show its secret.
TAKE_UNSEEN = """
    UPDATE webhooks_destinations SET secret_unseen = false
    WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[]) AND secret_unseen
    RETURNING id, secret
"""


async def list_managed(conn: Conn, *, account_id: UUID) -> list[ManagedDestination]:
    """All destinations of the account, oldest first."""
    async with conn.cursor(row_factory=class_row(ManagedDestination)) as cursor:
        await cursor.execute(LIST, {"account_id": account_id})
        return await cursor.fetchall()


async def list_secrets(conn: Conn, *, account_id: UUID, destination_ids: Sequence[UUID]) -> dict[UUID, bytes]:
    """The sealed secrets of those that are there."""
    rows = await conn.execute(LIST_SECRETS, {"account_id": account_id, "ids": list(destination_ids)})
    return dict(await rows.fetchall())


async def insert(
    conn: Conn,
    *,
    account_id: UUID,
    specs: Sequence[DestinationSpec],
    sealed: Mapping[UUID, tuple[bytes, str]],
    now: datetime,
) -> None:
    """New destinations; `sealed` has the secret of each, and its hint."""
    secrets = {
        "secrets": [sealed[spec.id][0] for spec in specs],
        "hints": [sealed[spec.id][1] for spec in specs],
        "unseen": [spec.is_generated for spec in specs],
    }
    await conn.execute(INSERT, {"account_id": account_id, "now": now, **_columns(specs), **secrets})


async def lock_unchanged(
    conn: Conn, *, account_id: UUID, versions: Mapping[UUID, int]
) -> list[ManagedDestination]:
    """Those that still have the version, locked."""
    row = {"account_id": account_id, "ids": list(versions), "versions": list(versions.values())}
    async with conn.cursor(row_factory=class_row(ManagedDestination)) as cursor:
        await cursor.execute(LOCK_UNCHANGED, row)
        return await cursor.fetchall()


async def list_taken_keys(
    conn: Conn, *, account_id: UUID, wanted: Sequence[DestinationSpec | DestinationChange]
) -> frozenset[tuple[str, str]]:
    """Manifest and key of those wanted that stand for others."""
    rows = await conn.execute(LIST_TAKEN_KEYS, {"account_id": account_id, **_columns(wanted)})
    return frozenset((row[0], row[1]) for row in await rows.fetchall())


async def update(conn: Conn, *, account_id: UUID, changes: Sequence[DestinationChange], now: datetime) -> None:
    """Changes destinations."""
    await conn.execute(UPDATE, {"account_id": account_id, "now": now, **_columns(changes)})


async def delete(conn: Conn, *, account_id: UUID, destination_ids: Sequence[UUID]) -> None:
    """Removes destinations; what is pending for them is cancelled by the sender."""
    await conn.execute(DELETE, {"account_id": account_id, "ids": list(destination_ids)})


async def take_unseen(conn: Conn, *, account_id: UUID, destination_ids: Sequence[UUID]) -> dict[UUID, bytes]:
    """The sealed secrets that nobody was shown, to the one caller that gets them."""
    rows = await conn.execute(TAKE_UNSEEN, {"account_id": account_id, "ids": list(destination_ids)})
    return dict(await rows.fetchall())


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
