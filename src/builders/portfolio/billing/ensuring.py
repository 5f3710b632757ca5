"""Refresh of stale data: inventory and charges of the connections that were not synced for some time."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from builders.portfolio.billing.sync_records import Freshness, FreshnessReason, Refresh, Refreshed, SyncOptions
from builders.portfolio.billing.syncing import start_sync, wait_for_sync
from builders.portfolio.registrars import (
    connections as registrar_connections,
    providers as registrar_providers,
    syncing as registrar_syncing,
)
from builders.portfolio.registrars.records import Connection
from builders.portfolio.runs import runs

COOLDOWN = timedelta(minutes=5)  # between two refreshes, forced ones too


async def ensure_fresh(
    conn: Conn,
    *,
    account_id: UUID,
    providers: Sequence[str] | None,
    max_age: timedelta,
    is_forced: bool,
    refreshes_inventory: bool,
    member_id: UUID,
) -> Refresh:
    """Start a sync of the charges of stale connections, and of their domains; return the runs.

    Raise ProviderNotFound, and NotConnected for a registrar without a connection.
    """
    now = clock.now()
    connections = await registrar_connections.list_wanted(conn, account_id=account_id, providers=providers)
    states = [
        assess(each, now=now, max_age=max_age, is_forced=is_forced) for each in connections if not each.is_manual
    ]
    refreshed = {each.connection_id for each in states if each.is_refreshed}
    stale = [each for each in connections if each.id in refreshed]
    if not stale:
        return Refresh(connections=states)
    inventory = None
    if refreshes_inventory:
        inventory = await registrar_syncing.start_sync(
            conn, account_id=account_id, connections=stale, created_by=member_id
        )
    options = SyncOptions(member_id=member_id)
    billing = await start_sync(conn, account_id=account_id, connections=stale, options=options)
    return Refresh(connections=states, inventory=inventory, billing=billing)


def assess(connection: Connection, *, now: datetime, max_age: timedelta, is_forced: bool) -> Freshness:
    """Return how old the data of a connection is, and whether it is refreshed."""
    has_billing = registrar_providers.get_profile(connection.provider).capabilities.billing
    times = [connection.last_sync_at, *([connection.last_billing_sync_at] if has_billing else [])]
    known = [each for each in times if each is not None]
    age = now - min(known) if len(known) == len(times) else None
    youngest = now - max(known) if known else None
    is_stale = age is None or age > max_age
    is_blocked = connection.next_allowed_at is not None and connection.next_allowed_at > now
    if not (is_stale or is_forced):
        reason = FreshnessReason.FRESH
    elif is_blocked or (age is not None and youngest is not None and youngest < COOLDOWN):
        reason = FreshnessReason.COOLDOWN
    elif age is None:
        reason = FreshnessReason.NEVER
    else:
        reason = FreshnessReason.STALE if is_stale else FreshnessReason.FORCED
    return Freshness(
        connection_id=connection.id, provider=connection.provider, is_stale=is_stale, age=age, reason=reason
    )


async def wait_for_refresh(database: Database, *, refresh: Refresh, timeout_s: float) -> Refreshed:
    """Return a refresh when its runs have ended, or its state after a time. Holds no database connection."""
    until = clock.monotonic() + timeout_s
    inventory, billing = refresh.inventory, None
    if inventory is not None:
        inventory = await runs.wait_for_run(database, run=inventory, timeout_s=timeout_s)
    if refresh.billing is not None:
        left = max(0.0, until - clock.monotonic())
        billing = await wait_for_sync(database, run=refresh.billing, timeout_s=left)
    return Refreshed(connections=refresh.connections, inventory=inventory, billing=billing)
