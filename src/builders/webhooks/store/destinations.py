"""Destinations and their sealed signing secrets. A single write is a batch of one."""

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from builders.kit.db.columns import columns, columns_of, settings_of, typed_columns_of
from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.kit.values.conflicts import key_columns
from builders.webhooks.records import Destination, DestinationSpec, ManagedDestination, ManagedFields

_FIELDS = TypeAdapter(Sequence[ManagedFields])  # without a secret, which is no parameter of a statement
NEW = f"jsonb_to_recordset(%(new)s::jsonb) AS new ({typed_columns_of(ManagedFields)})"
INSERT = f"""
    INSERT INTO webhooks_destinations
        (account_id, {columns_of(ManagedFields)}, secret, secret_hint, secret_unseen, created_at, updated_at,
         disabled_at, disabled_reason)
    SELECT %(account_id)s, {columns_of(ManagedFields, "new")}, sealed, hint, is_unseen, %(now)s, %(now)s,
           CASE WHEN NOT enabled THEN %(now)s::timestamptz END, CASE WHEN NOT enabled THEN 'manual' END
    FROM {NEW} JOIN unnest(%(id)s::uuid[], %(sealed)s::bytea[], %(hint)s::text[], %(is_unseen)s::boolean[])
        AS stored (id, sealed, hint, is_unseen) USING (id)
"""
# Serializes the transactions that count an account's destinations, so that two cannot both insert the last one.
lock_account = query("""
    SELECT pg_advisory_xact_lock(hashtextextended('webhooks_destinations ' || %(account_id)s::uuid, 0))
""").run()
count = query("SELECT count(*) FROM webhooks_destinations WHERE account_id = %(account_id)s").value(int)
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
            WHERE due.account_id = %(account_id)s AND due.destination_id = destination.id LIMIT 10000
        ) AS counted
    ) AS waiting
    CROSS JOIN LATERAL (
        SELECT round(avg((error IS NULL)::int), 3)::float AS success_rate_24h FROM (
            SELECT error FROM webhooks_attempts AS attempt
            WHERE attempt.account_id = %(account_id)s AND attempt.destination_id = destination.id
              AND attempt.created_at > %(now)s::timestamptz - interval '24 hours'
            ORDER BY attempt.created_at DESC LIMIT 1000
        ) AS newest
    ) AS lately
"""
MANAGED_COLUMNS = columns_of(ManagedDestination)
# Manifest keys of destinations that are not in the batch.
_list_taken_keys = query("""
    SELECT manifest, manifest_key FROM webhooks_destinations
    JOIN unnest(%(manifests)s::text[], %(keys)s::text[]) AS wanted (manifest, manifest_key)
      USING (manifest, manifest_key)
    WHERE account_id = %(account_id)s AND id <> ALL(%(ids)s::uuid[])
""").set_of(tuple[str, str])
# A destination that is enabled again, or that has a new URL, starts with a closed circuit and no failures. A new
# URL also clears the results of the last attempts, which are those of another receiver.
UPDATE = f"""
    UPDATE webhooks_destinations AS destination SET
        {settings_of(ManagedFields, "new")},
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
        SELECT new.*, new.url <> before.url AS elsewhere,
               new.url <> before.url OR new.enabled AND NOT before.enabled AS is_reset
        FROM {NEW} JOIN webhooks_destinations AS before ON before.id = new.id
        WHERE before.account_id = %(account_id)s
    ) AS new
    WHERE destination.account_id = %(account_id)s AND destination.id = new.id
    RETURNING destination.id, destination.disabled_reason
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSecret:
    """The stored form of the secret of a new destination."""

    sealed: bytes = field(repr=False)
    hint: str
    is_unseen: bool  # generated, and not yet shown to the owner


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """Where requests to a destination go, and the secrets that sign them."""

    account_id: UUID
    destination_id: UUID
    url: str
    secret: bytes = field(repr=False)  # sealed
    old_secret: bytes | None = field(repr=False)  # sealed; None: no longer used


async def insert(
    conn: Conn,
    *,
    account_id: UUID,
    specs: Sequence[DestinationSpec],
    secrets: Sequence[StoredSecret],
    now: datetime,
) -> None:
    """Insert destinations with their secrets, in the same order."""
    row: dict[str, Any] = columns(specs, "id") | columns(secrets, "sealed", "hint", "is_unseen")
    row |= {"account_id": account_id, "new": _FIELDS.dump_json(specs).decode(), "now": now}
    await conn.execute(INSERT, row)


find = query(f"""
    SELECT {COLUMNS} FROM webhooks_destinations AS destination {HEALTH}
    WHERE account_id = %(account_id)s AND id = %(destination_id)s
""").one(Destination)
list_all = query(f"""
    SELECT {COLUMNS} FROM webhooks_destinations AS destination {HEALTH}
    WHERE account_id = %(account_id)s ORDER BY id DESC
""").all(Destination)
list_managed = query(f"""
    SELECT {MANAGED_COLUMNS} FROM webhooks_destinations WHERE account_id = %(account_id)s ORDER BY id
""").all(ManagedDestination)
find_enabled = query("""
    SELECT enabled FROM webhooks_destinations WHERE account_id = %(account_id)s AND id = %(destination_id)s
""").scalar(bool)
lock = query(f"""
    SELECT {MANAGED_COLUMNS} FROM webhooks_destinations
    WHERE account_id = %(account_id)s AND id = ANY(%(destination_ids)s::uuid[]) ORDER BY id FOR NO KEY UPDATE
""").all(ManagedDestination)


async def list_taken_keys(
    conn: Conn, *, account_id: UUID, wanted: Sequence[DestinationSpec | ManagedDestination]
) -> AbstractSet[tuple[str, str]]:
    """Return each manifest and key of the batch that another destination of the account has."""
    manifests, keys, ids = key_columns(wanted)
    return await _list_taken_keys(conn, account_id=account_id, manifests=manifests, keys=keys, ids=ids)


async def update(
    conn: Conn, *, account_id: UUID, changes: Sequence[ManagedDestination], now: datetime
) -> Mapping[UUID, str | None]:
    """Update destinations; return why each is disabled (None: it is enabled) by its id."""
    row = {"account_id": account_id, "new": _FIELDS.dump_json(changes).decode(), "now": now}
    rows = await conn.execute(UPDATE, row)
    return dict(await rows.fetchall())


delete = query("""
    DELETE FROM webhooks_destinations WHERE account_id = %(account_id)s AND id = ANY(%(destination_ids)s::uuid[])
""").run()
# The numbers of deleted destinations and deliveries.
clear = query("""
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
""").only(tuple[int, int])


list_secrets = query("""
    SELECT id, secret FROM webhooks_destinations
    WHERE account_id = %(account_id)s AND id = ANY(%(destination_ids)s::uuid[])
""").pairs(UUID, bytes)
# Only the transaction that clears `secret_unseen` gets the row, so a secret is shown once.
take_unseen = query("""
    UPDATE webhooks_destinations SET secret_unseen = false
    WHERE account_id = %(account_id)s AND id = ANY(%(destination_ids)s::uuid[]) AND secret_unseen
    RETURNING id, secret
""").pairs(UUID, bytes)
# The previous one also signs until `old_secret_until`.
rotate = query("""
    UPDATE webhooks_destinations SET
        old_secret = CASE WHEN %(old_secret_until)s::timestamptz > %(now)s THEN secret END,
        old_secret_until = CASE WHEN %(old_secret_until)s::timestamptz > %(now)s
                                THEN %(old_secret_until)s::timestamptz END,
        secret = %(secret)s, secret_hint = %(secret_hint)s, secret_unseen = false,
        version = version + 1, updated_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(destination_id)s
""").run()
# Destinations with a secret whose seal does not begin with `header`.
list_stale = query("""
    SELECT account_id, id AS destination_id, url, secret, old_secret FROM (
        SELECT account_id, id, url, secret, CASE WHEN old_secret_until > %(now)s THEN old_secret END AS old_secret
        FROM webhooks_destinations
    ) AS destination
    WHERE (account_id, id) > (%(after_account)s::uuid, %(after_destination)s::uuid)
      AND (substr(secret, 1, octet_length(%(header)s::bytea)) <> %(header)s
           OR substr(old_secret, 1, octet_length(%(header)s::bytea)) <> %(header)s)
    ORDER BY account_id, id LIMIT %(limit)s
""").all(Receiver)
# False when the destination no longer has it.
# Compares the bytes, not the column: after a concurrent rotation, the secret that was read is the old one, and is
# replaced there.
reseal = query("""
    UPDATE webhooks_destinations SET
        secret = CASE WHEN secret = %(before)s THEN %(after)s ELSE secret END,
        old_secret = CASE WHEN old_secret = %(before)s THEN %(after)s ELSE old_secret END
    WHERE account_id = %(account_id)s AND id = %(destination_id)s
      AND (secret = %(before)s OR old_secret = %(before)s)
""").changes()
