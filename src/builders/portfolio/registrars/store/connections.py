"""Connections to registrars."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import kwargs_row
from pydantic_core import to_json

from builders.kit.db.connections import Conn
from builders.portfolio.registrars.records import Connection, ConnectionStatus, CredentialHint, Environment

STALE_INTERVALS = 2  # without a sync
COLUMNS = """
    account_id, id, provider, name, label, environment, base_url, hints, is_enabled, sync_interval_hours, status,
    status_detail, last_sync_at, last_billing_sync_at, next_allowed_at, suspected_drop, suspected_drop_at,
    disconnected_at, version, created_at, updated_at
"""
WRITTEN = """
    label = %(label)s, environment = %(environment)s, base_url = %(base_url)s, credentials = %(credentials)s,
    hints = %(hints)s::jsonb, is_enabled = %(is_enabled)s, sync_interval_hours = %(sync_interval_hours)s,
    status = %(status)s, status_detail = %(status_detail)s, next_allowed_at = %(next_allowed_at)s
"""
LIST = f"""
    SELECT {COLUMNS} FROM portfolio_registrars_connections
    WHERE account_id = %(account_id)s AND disconnected_at IS NULL
    ORDER BY provider, created_at, id
"""
LIST_OF_PROVIDERS = f"""
    SELECT {COLUMNS} FROM portfolio_registrars_connections
    WHERE account_id = %(account_id)s AND provider = ANY(%(providers)s::text[]) AND disconnected_at IS NULL
    ORDER BY provider, created_at, id
"""
# Concurrent connects are serialized, so that the second one counts the connection of the first.
LOCK_PORTFOLIO = """
    SELECT pg_advisory_xact_lock(hashtextextended('portfolio_registrars ' || %(account_id)s::uuid, 0))
"""
FIND = f"""
    SELECT {COLUMNS} FROM portfolio_registrars_connections WHERE account_id = %(account_id)s AND id = %(id)s
"""
FIND_BY_NAME = f"""
    SELECT {COLUMNS} FROM portfolio_registrars_connections
    WHERE account_id = %(account_id)s AND provider = %(provider)s AND name = %(name)s
"""
INSERT = f"""
    INSERT INTO portfolio_registrars_connections (
        account_id, id, provider, name, label, environment, base_url, credentials, hints, is_enabled,
        sync_interval_hours, status, status_detail, next_allowed_at, paced_until, version, created_at, updated_at
    ) VALUES (
        %(account_id)s, %(id)s, %(provider)s, %(name)s, %(label)s, %(environment)s, %(base_url)s, %(credentials)s,
        %(hints)s::jsonb, %(is_enabled)s, %(sync_interval_hours)s, %(status)s, %(status_detail)s,
        %(next_allowed_at)s, %(now)s, 1, %(now)s, %(now)s
    )
    ON CONFLICT (account_id, provider, name) DO NOTHING
    RETURNING {COLUMNS}
"""
# Only the expected version: the second of two concurrent changes finds another version.
UPDATE = f"""
    UPDATE portfolio_registrars_connections
    SET {WRITTEN}, disconnected_at = NULL, version = version + 1, updated_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND version = %(version)s
    RETURNING {COLUMNS}
"""
DISCONNECT = f"""
    UPDATE portfolio_registrars_connections
    SET credentials = NULL, hints = '[]', status = 'ok', status_detail = NULL, next_allowed_at = NULL,
        suspected_drop = 0, suspected_drop_at = NULL, disconnected_at = %(now)s, version = version + 1,
        updated_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND disconnected_at IS NULL
    RETURNING {COLUMNS}
"""
# The row of the connection stays, without credentials: runs and events refer to it.
DELETE_INVENTORY = """
    WITH snapshot AS (
        DELETE FROM portfolio_registrars_snapshots WHERE account_id = %(account_id)s AND connection_id = %(id)s
    )
    DELETE FROM portfolio_registrars_holdings WHERE account_id = %(account_id)s AND connection_id = %(id)s
"""
# Domains and inventory no longer refer to them. A name that is used again gets a new row.
PRUNE = """
    WITH pruned AS (
        DELETE FROM portfolio_registrars_connections WHERE disconnected_at < %(before)s AND (account_id, id) IN (
            SELECT account_id, id FROM portfolio_registrars_connections AS old
            WHERE disconnected_at < %(before)s AND NOT EXISTS (
                SELECT FROM portfolio_registrars_holdings AS held
                WHERE held.account_id = old.account_id AND held.connection_id = old.id
            )
            LIMIT %(limit)s
        ) RETURNING account_id, id
    ), snapshot AS (
        DELETE FROM portfolio_registrars_snapshots AS snapshot USING pruned
        WHERE snapshot.account_id = pruned.account_id AND snapshot.connection_id = pruned.id
    )
    SELECT count(*) FROM pruned
"""
LOCK_STATUS = """
    SELECT status FROM portfolio_registrars_connections
    WHERE account_id = %(account_id)s AND id = %(id)s AND disconnected_at IS NULL FOR NO KEY UPDATE
"""
# A batch of a sync locks the connection against a disconnection, and not against updates of its status.
KEEP = """
    SELECT FROM portfolio_registrars_connections
    WHERE account_id = %(account_id)s AND id = %(id)s AND disconnected_at IS NULL FOR KEY SHARE
"""
# A disconnection waits for the batches that keep the connection.
LOCK_TO_DISCONNECT = """
    SELECT FROM portfolio_registrars_connections WHERE account_id = %(account_id)s AND id = %(id)s FOR UPDATE
"""
RECORD_DROP = """
    UPDATE portfolio_registrars_connections
    SET suspected_drop = %(domains)s, suspected_drop_at = CASE WHEN %(domains)s > 0 THEN %(now)s::timestamptz END
    WHERE account_id = %(account_id)s AND id = %(id)s
"""
RECORD = f"""
    UPDATE portfolio_registrars_connections
    SET status = %(status)s, status_detail = %(status_detail)s, next_allowed_at = %(next_allowed_at)s,
        last_sync_at = greatest(last_sync_at, %(synced_at)s::timestamptz),
        last_billing_sync_at = greatest(last_billing_sync_at, %(billing_synced_at)s::timestamptz)
    WHERE account_id = %(account_id)s AND id = %(id)s
    RETURNING {COLUMNS}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenConnection:
    """Columns of a connection to write."""

    account_id: UUID
    id: UUID
    provider: str
    name: str
    label: str | None
    environment: Environment
    base_url: str | None
    credentials: bytes | None = field(repr=False)  # sealed
    hints: Sequence[CredentialHint]
    is_enabled: bool
    sync_interval_hours: int
    status: ConnectionStatus
    status_detail: str | None
    next_allowed_at: datetime | None


async def list_all(conn: Conn, *, account_id: UUID, now: datetime) -> Sequence[Connection]:
    """Return the connections of a portfolio that are connected, by provider, the oldest first."""
    return await (await _cursor(conn, now).execute(LIST, {"account_id": account_id})).fetchall()


async def list_of_providers(
    conn: Conn, *, account_id: UUID, providers: Sequence[str], now: datetime
) -> Sequence[Connection]:
    """Return the connections to these registrars, in the same order."""
    row = {"account_id": account_id, "providers": list(providers)}
    return await (await _cursor(conn, now).execute(LIST_OF_PROVIDERS, row)).fetchall()


async def lock_portfolio(conn: Conn, *, account_id: UUID) -> None:
    """Lock the portfolio for a new connection until the transaction ends."""
    await conn.execute(LOCK_PORTFOLIO, {"account_id": account_id})


async def find(conn: Conn, *, account_id: UUID, connection_id: UUID, now: datetime) -> Connection | None:
    """Return a connection by its id, also a disconnected one."""
    row = {"account_id": account_id, "id": connection_id}
    return await (await _cursor(conn, now).execute(FIND, row)).fetchone()


async def find_by_name(
    conn: Conn, *, account_id: UUID, provider: str, name: str, now: datetime
) -> Connection | None:
    """Return a connection by its name, also a disconnected one."""
    row = {"account_id": account_id, "provider": provider, "name": name}
    return await (await _cursor(conn, now).execute(FIND_BY_NAME, row)).fetchone()


async def insert(conn: Conn, *, written: WrittenConnection, now: datetime) -> Connection | None:
    """Add a connection; None when the portfolio has one of the name."""
    row = {**_columns(written), "account_id": written.account_id, "now": now}
    return await (await _cursor(conn, now).execute(INSERT, row)).fetchone()


async def update(conn: Conn, *, written: WrittenConnection, version: int, now: datetime) -> Connection | None:
    """Write a connection, which is then connected; None when it has another version."""
    row = {**_columns(written), "account_id": written.account_id, "version": version, "now": now}
    return await (await _cursor(conn, now).execute(UPDATE, row)).fetchone()


async def disconnect(conn: Conn, *, account_id: UUID, connection_id: UUID, now: datetime) -> Connection | None:
    """Erase the credentials of a connection; None when it is disconnected already."""
    row = {"account_id": account_id, "id": connection_id, "now": now}
    await conn.execute(LOCK_TO_DISCONNECT, {"account_id": account_id, "id": connection_id})
    return await (await _cursor(conn, now).execute(DISCONNECT, row)).fetchone()


async def prune(conn: Conn, *, before: datetime, limit: int) -> int:
    """Delete connections without inventory that were disconnected before a time; return how many."""
    [(count,)] = await (await conn.execute(PRUNE, {"before": before, "limit": limit})).fetchall()
    return int(count)


async def keep(conn: Conn, *, account_id: UUID, connection_id: UUID) -> bool:
    """Return whether a connection exists, and lock it against a disconnection until the transaction ends."""
    row = {"account_id": account_id, "id": connection_id}
    return await (await conn.execute(KEEP, row)).fetchone() is not None


async def delete_inventory(conn: Conn, *, account_id: UUID, connection_id: UUID) -> None:
    """Delete the domains that a connection held, and its snapshot."""
    await conn.execute(DELETE_INVENTORY, {"account_id": account_id, "id": connection_id})


async def lock_status(conn: Conn, *, account_id: UUID, connection_id: UUID) -> ConnectionStatus | None:
    """Return the stored status of a connection, locked until the transaction ends; None when disconnected."""
    row = {"account_id": account_id, "id": connection_id}
    found = await (await conn.execute(LOCK_STATUS, row)).fetchone()
    return None if found is None else ConnectionStatus(found[0])


async def record_drop(conn: Conn, *, account_id: UUID, connection_id: UUID, domains: int, now: datetime) -> None:
    """Write how many domains are held back after a complete listing; 0 for none."""
    await conn.execute(
        RECORD_DROP, {"account_id": account_id, "id": connection_id, "domains": domains, "now": now}
    )


async def record(
    conn: Conn,
    *,
    account_id: UUID,
    connection_id: UUID,
    status: ConnectionStatus,
    status_detail: str | None,
    next_allowed_at: datetime | None,
    synced_at: datetime | None,
    billing_synced_at: datetime | None,
    now: datetime,
) -> Connection:
    """Write the outcome of requests to a locked connection."""
    row = {
        "account_id": account_id,
        "id": connection_id,
        "status": status,
        "status_detail": status_detail,
        "next_allowed_at": next_allowed_at,
        "synced_at": synced_at,
        "billing_synced_at": billing_synced_at,
    }
    [recorded] = await (await _cursor(conn, now).execute(RECORD, row)).fetchall()
    return recorded


def _columns(written: WrittenConnection) -> Mapping[str, Any]:
    hints = [{"name": each.name, "last4": each.last4, "updated_at": each.updated_at} for each in written.hints]
    return {**asdict(written), "hints": to_json(hints).decode()}


def _cursor(conn: Conn, now: datetime) -> AsyncCursor[Connection]:
    return conn.cursor(row_factory=kwargs_row(_connection_at(now)))


def _connection_at(now: datetime) -> Callable[..., Connection]:
    def connection_of(
        *, status: str, environment: str, hints: Sequence[Mapping[str, Any]], **columns: Any
    ) -> Connection:
        stored = Connection(
            **columns,
            environment=Environment(environment),
            hints=[_hint_of(each) for each in hints],
            status=ConnectionStatus(status),
        )
        return replace(stored, status=_status_at(stored, now))

    return connection_of


def _hint_of(stored: Mapping[str, Any]) -> CredentialHint:
    set_at = datetime.fromisoformat(stored["updated_at"])
    return CredentialHint(name=stored["name"], last4=stored["last4"], updated_at=set_at)


def _status_at(stored: Connection, now: datetime) -> ConnectionStatus:
    """Return the status as shown: that of the last request, or how old the last sync is."""
    status = stored.status
    if status is ConnectionStatus.RATE_LIMITED and (
        stored.next_allowed_at is None or stored.next_allowed_at <= now
    ):
        status = ConnectionStatus.OK
    if status is not ConnectionStatus.OK:
        return status
    if stored.last_sync_at is None:
        return ConnectionStatus.NEVER_SYNCED
    is_stale = now - stored.last_sync_at > STALE_INTERVALS * timedelta(hours=stored.sync_interval_hours)
    return ConnectionStatus.STALE if is_stale else status
