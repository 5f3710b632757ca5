"""Connections to registrars, with their sealed credentials, rate limits and schedule."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row
from pydantic import TypeAdapter

from builders.kit.db import old_rows
from builders.kit.db.columns import columns_of
from builders.kit.db.connections import Conn
from builders.kit.db.queries import account_lock, constructor, query, stale_rows
from builders.kit.values import clock
from builders.portfolio.registrars.records import Connection, ConnectionStatus, CredentialHint

STALE_INTERVALS = 2  # without a sync
COLUMNS = columns_of(Connection)


# A stored one only in the expected version: the second of two concurrent changes finds another version.
SAVE = f"""
    INSERT INTO portfolio_registrars_connections AS present (
        account_id, id, provider, name, label, environment, base_url, credentials, hints, is_enabled,
        sync_interval_hours, status, status_detail, next_allowed_at, paced_until, version, created_at, updated_at
    ) VALUES (
        %(account_id)s, %(id)s, %(provider)s, %(name)s, %(label)s, %(environment)s, %(base_url)s, %(credentials)s,
        %(hints)s::jsonb, %(is_enabled)s, %(sync_interval_hours)s, %(status)s, %(status_detail)s,
        %(next_allowed_at)s, %(created_at)s, 1, %(created_at)s, %(updated_at)s
    )
    ON CONFLICT (account_id, provider, name) DO UPDATE SET
        label = excluded.label, environment = excluded.environment, base_url = excluded.base_url,
        credentials = excluded.credentials, hints = excluded.hints, is_enabled = excluded.is_enabled,
        sync_interval_hours = excluded.sync_interval_hours, status = excluded.status,
        status_detail = excluded.status_detail, next_allowed_at = excluded.next_allowed_at,
        disconnected_at = NULL, version = present.version + 1, updated_at = excluded.updated_at
    WHERE present.version = %(version)s
    RETURNING {COLUMNS}
"""


_HINTS, _make = TypeAdapter(Sequence[CredentialHint]), constructor(Connection)


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedCredentials:
    """The credentials of a connection."""

    account_id: UUID
    id: UUID
    credentials: bytes = field(repr=False)


def _connection(*, hints: Sequence[Mapping[str, Any]], **columns: Any) -> Connection:
    """Return a connection with its status as shown: that of the last request, or how old the last sync is."""
    stored = _make(**columns, hints=_HINTS.validate_python(hints))
    now = clock.now()
    is_limited = stored.status is ConnectionStatus.RATE_LIMITED
    is_over = is_limited and (stored.next_allowed_at is None or stored.next_allowed_at <= now)
    if stored.status is not ConnectionStatus.OK and not is_over:
        return stored
    if stored.last_sync_at is None:
        return replace(stored, status=ConnectionStatus.NEVER_SYNCED)
    is_stale = now - stored.last_sync_at > STALE_INTERVALS * timedelta(hours=stored.sync_interval_hours)
    return replace(stored, status=ConnectionStatus.STALE if is_stale else ConnectionStatus.OK)


# Concurrent connects are serialized, so that the second one counts the connection of the first.
lock_portfolio = account_lock("portfolio_registrars")
# Those of a portfolio, or those to some registrars: by provider, the oldest first.
list_connected = query(f"""
    SELECT {COLUMNS} FROM portfolio_registrars_connections
    WHERE account_id = %(account_id)s AND disconnected_at IS NULL
      AND (%(providers)s::text[] IS NULL OR provider = ANY(%(providers)s::text[]))
    ORDER BY provider, created_at, id
""").unprepared.all(_connection)
# Also a disconnected one.
find = query(f"""
    SELECT {COLUMNS} FROM portfolio_registrars_connections
    WHERE account_id = %(account_id)s AND id = %(connection_id)s
""").one(_connection)
# Also a disconnected one.
find_by_name = query(f"""
    SELECT {COLUMNS} FROM portfolio_registrars_connections
    WHERE account_id = %(account_id)s AND provider = %(provider)s AND name = %(name)s
""").one(_connection)


async def save(conn: Conn, connection: Connection, *, credentials: bytes | None) -> Connection | None:
    """Write a connection, which is then connected; None when the stored one of its name has another version."""
    hints = _HINTS.dump_json(connection.hints).decode()
    row = {**asdict(connection), "hints": hints, "credentials": credentials}
    return await (await conn.cursor(row_factory=kwargs_row(_connection)).execute(SAVE, row)).fetchone()


# A disconnection waits for the batches that keep the connection.
lock_to_disconnect = query("""
    SELECT FROM portfolio_registrars_connections
    WHERE account_id = %(account_id)s AND id = %(connection_id)s FOR UPDATE
""").run()
# None when it is disconnected already.
disconnect = query(f"""
    UPDATE portfolio_registrars_connections
    SET credentials = NULL, hints = '[]', status = 'ok', status_detail = NULL, next_allowed_at = NULL,
        suspected_drop = 0, suspected_drop_at = NULL, disconnected_at = %(now)s, version = version + 1,
        updated_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(connection_id)s AND disconnected_at IS NULL
    RETURNING {COLUMNS}
""").one(_connection)


# Domains and inventory no longer refer to them. A name that is used again gets a new row.
old_rows.declare(
    "portfolio_registrars_connections",
    key="account_id, id",
    age="disconnected_at",
    after=timedelta(days=90),
    only="""NOT EXISTS (
        SELECT FROM portfolio_registrars_holdings AS held
        WHERE held.account_id = portfolio_registrars_connections.account_id
          AND held.connection_id = portfolio_registrars_connections.id
    )""",
    batch=100,
)
# Call it before a statement that locks domains, as a disconnection does.
# A batch of a sync locks the connection against a disconnection, and not against updates of its status.
lock_connected = query("""
    SELECT FROM portfolio_registrars_connections
    WHERE account_id = %(account_id)s AND id = %(connection_id)s AND disconnected_at IS NULL FOR KEY SHARE
""").changes()
# The row of the connection stays, without credentials: runs and events refer to it.
delete_inventory = query("""
    WITH snapshot AS (
        DELETE FROM portfolio_registrars_snapshots
        WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s
    )
    DELETE FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s
""").run()
# None when disconnected.
lock_status = query("""
    SELECT status FROM portfolio_registrars_connections
    WHERE account_id = %(account_id)s AND id = %(connection_id)s AND disconnected_at IS NULL FOR NO KEY UPDATE
""").scalar(ConnectionStatus)
# The number of domains that are held back after a complete listing; 0 for none.
record_drop = query("""
    UPDATE portfolio_registrars_connections
    SET suspected_drop = %(domains)s, suspected_drop_at = CASE WHEN %(domains)s > 0 THEN %(now)s::timestamptz END
    WHERE account_id = %(account_id)s AND id = %(connection_id)s
""").run()
record = query(f"""
    UPDATE portfolio_registrars_connections
    SET status = %(status)s, status_detail = %(status_detail)s, next_allowed_at = %(next_allowed_at)s,
        last_sync_at = greatest(last_sync_at, %(synced_at)s::timestamptz),
        last_billing_sync_at = greatest(last_billing_sync_at, %(billing_synced_at)s::timestamptz)
    WHERE account_id = %(account_id)s AND id = %(connection_id)s
    RETURNING {COLUMNS}
""").only(_connection)
find_credentials = query("""
    SELECT credentials FROM portfolio_registrars_connections
    WHERE account_id = %(account_id)s AND id = %(connection_id)s
""").scalar(bytes)


# Those whose seal does not begin with `header`.
list_stale_credentials = stale_rows(
    "portfolio_registrars_connections",
    sealed="credentials",
    key="account_id, id",
    after="%(after_account)s::uuid, %(after_id)s::uuid",
    columns="account_id, id, credentials",
).all(SealedCredentials)


# Compares the bytes: credentials that were changed concurrently stay.
replace_credentials = query("""
    UPDATE portfolio_registrars_connections SET credentials = %(after)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND credentials = %(before)s
""").changes()


# Returns up to which time the limit is then used up, None when the request is refused; and up to which it was
# before.
# Not reserved: the registrar is blocked, or the next slot is after `latest`. No row: there is no connection.
reserve = query("""
    WITH free AS (
        SELECT greatest(paced_until, %(now)s::timestamptz) + %(interval)s::interval AS until
        FROM portfolio_registrars_connections
        WHERE account_id = %(account_id)s AND id = %(connection_id)s AND disconnected_at IS NULL
          AND coalesce(next_allowed_at <= %(now)s, true)
        FOR NO KEY UPDATE
    ), reserved AS (
        UPDATE portfolio_registrars_connections SET paced_until = free.until
        FROM free WHERE account_id = %(account_id)s AND id = %(connection_id)s AND free.until <= %(latest)s
        RETURNING paced_until
    )
    SELECT (SELECT paced_until FROM reserved), greatest(paced_until, next_allowed_at)
    FROM portfolio_registrars_connections
    WHERE account_id = %(account_id)s AND id = %(connection_id)s AND disconnected_at IS NULL
""").one(tuple[datetime | None, datetime])


# After a failure it is tried each hour, and where the user has to do something, at the next interval.
list_due = query("""
    SELECT account_id, id FROM portfolio_registrars_connections AS connection
    WHERE (account_id, id) > (%(account_id)s, %(id)s) AND is_enabled AND disconnected_at IS NULL
      AND credentials IS NOT NULL
      AND (next_allowed_at IS NULL OR next_allowed_at <= %(now)s)
      AND (last_sync_at IS NULL OR last_sync_at <= %(now)s - make_interval(hours => sync_interval_hours))
      AND NOT EXISTS (
        SELECT FROM portfolio_runs_parts AS part
        WHERE part.account_id = connection.account_id AND part.subject_id = connection.id AND part.kind = 'sync'
          AND part.created_at > %(now)s - make_interval(
              hours => CASE WHEN status IN ('auth_failed', 'restricted') THEN sync_interval_hours ELSE 1 END
          )
      )
    ORDER BY account_id, id LIMIT %(limit)s
""").all(tuple[UUID, UUID])
