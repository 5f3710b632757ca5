"""Requests to the registrar of a connection: its adapter, its rate limit, and how they ended."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.outbound.client import Outbound
from builders.kit.values import clock
from builders.portfolio.registrars import credentials
from builders.portfolio.registrars.adapter import MAX_PAGES, Adapter
from builders.portfolio.registrars.api_client import MAX_BYTES, STAND_IN_BYTES, ApiClient, Pace
from builders.portfolio.registrars.errors import DEFAULT_WAIT_S, NotConnected
from builders.portfolio.registrars.events import (
    REGISTRAR_CREDENTIALS_INVALID,
    REGISTRAR_RESTRICTED,
    registrar_data,
)
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.items import named
from builders.portfolio.registrars.providers import ADAPTERS, get_profile
from builders.portfolio.registrars.records import Connection, ConnectionStatus, Profile, Quota
from builders.portfolio.registrars.store import connections as store
from builders.portfolio.runs.records import Unread
from builders.portfolio.runs.work import Tools

# Of a base URL that a user set: it has no published rate limit, and anybody can serve any number of rows.
STAND_IN_QUOTA = Quota(requests=600, window_s=60)
STAND_IN_PAGES = 1_000  # of a list
# The status after a failure; another kind of failure does not change it.
_STATUSES: Mapping[RegistrarFailure, ConnectionStatus] = {
    RegistrarFailure.AUTH_FAILED: ConnectionStatus.AUTH_FAILED,
    RegistrarFailure.RESTRICTED: ConnectionStatus.RESTRICTED,
    RegistrarFailure.IP_NOT_ALLOWED: ConnectionStatus.RESTRICTED,
    RegistrarFailure.RATE_LIMITED: ConnectionStatus.RATE_LIMITED,
}
# Failures of one request, which do not change the status of the connection.
_OF_REQUEST = {RegistrarFailure.NOT_FOUND, RegistrarFailure.UNSUPPORTED}
MAX_WAIT_S = 60.0  # of one request, for the rate limit
_BURST = 4  # this part of a quota is allowed at once
PUBLISHED = {
    ConnectionStatus.AUTH_FAILED: REGISTRAR_CREDENTIALS_INVALID,
    ConnectionStatus.RESTRICTED: REGISTRAR_RESTRICTED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPace:
    """The rate limit of a connection, shared by all processes (GCRA, the generic cell rate algorithm).

    The row of the connection holds one time: until when the limit is used up. A quarter of the quota may be used
    at once, the rest follows evenly, so that no window of the registrar contains more requests than its quota.
    """

    database: Database
    connection: Connection
    quota: Quota
    max_wait_s: float = MAX_WAIT_S

    async def acquire(self) -> None:
        """Wait until one more request is allowed. Raise RegistrarFailed with the time when that is too long."""
        now, target = clock.now(), {"account_id": self.connection.account_id, "connection_id": self.connection.id}
        burst = max(1, self.quota.requests // _BURST)
        interval = timedelta(seconds=self.quota.window_s) / (self.quota.requests - burst + 1)
        latest = now + burst * interval + timedelta(seconds=self.max_wait_s)
        async with self.database.connection() as conn:
            found = await store.reserve(conn, **target, interval=interval, latest=latest, now=now)
        if found is None:
            raise RegistrarFailed(RegistrarFailure.AUTH_FAILED, hint="The registrar was disconnected.")
        until, before = found
        if until is None:
            wait_s = max(1.0, (before - now).total_seconds())
            raise RegistrarFailed(RegistrarFailure.RATE_LIMITED, retry_after_s=wait_s, is_own=True)
        wait_s = (until - now - burst * interval).total_seconds()
        if wait_s > 0:
            await asyncio.sleep(wait_s)


async def open_adapter(tools: Tools, connection: Connection, *, max_wait_s: float = MAX_WAIT_S) -> Adapter:
    """Return the adapter of a connection; `max_wait_s` bounds how long a request waits for the rate limit.

    Raise RegistrarFailed: UNSUPPORTED for a registrar without an adapter, AUTH_FAILED for a connection that is
    disabled or has no credentials, RATE_LIMITED while the registrar accepts no request.
    """
    account_id, connection_id = connection.account_id, connection.id
    async with tools.database.connection() as conn:
        found = await store.find(conn, account_id=account_id, connection_id=connection_id)
        if found is None:
            raise NotConnected
        connection = found
        sealed = await store.find_credentials(conn, account_id=account_id, connection_id=connection_id)
    if connection.is_manual:
        raise RegistrarFailed(RegistrarFailure.UNSUPPORTED, hint="Import a CSV file of this registrar.")
    if not connection.is_enabled or sealed is None:
        hint = f"Connect it: PUT /v1/portfolio/registrars/{connection.provider}."
        raise RegistrarFailed(RegistrarFailure.AUTH_FAILED, hint=hint)
    wait = None if connection.next_allowed_at is None else connection.next_allowed_at - clock.now()
    if wait is not None and wait > timedelta():
        raise RegistrarFailed(RegistrarFailure.RATE_LIMITED, retry_after_s=wait.total_seconds())
    profile = get_profile(connection.provider)
    return make_adapter(
        profile,
        connection,
        outbound=tools.outbound,
        pace=pace_of(tools.database, connection, profile, max_wait_s=max_wait_s),
        credentials=credentials.unseal(tools.keyring, sealed, account_id=account_id, connection_id=connection_id),
    )


def max_pages(connection: Connection) -> int:
    """Return how many pages the list of domains of a connection may have."""
    return MAX_PAGES if connection.base_url is None else STAND_IN_PAGES


def pace_of(database: Database, connection: Connection, profile: Profile, *, max_wait_s: float) -> Pace:
    """Return the rate limit of a connection."""
    quota = profile.quota if connection.base_url is None else STAND_IN_QUOTA
    return SharedPace(database=database, connection=connection, quota=quota, max_wait_s=max_wait_s)


def make_adapter(
    profile: Profile, connection: Connection, *, outbound: Outbound, pace: Pace, credentials: Mapping[str, str]
) -> Adapter:
    """Return the adapter of a connection."""
    adapter = ADAPTERS[profile.provider]
    base_url = connection.base_url or adapter.base_url_of(connection.environment, credentials=credentials)
    max_bytes = MAX_BYTES if connection.base_url is None else STAND_IN_BYTES
    api = ApiClient(
        outbound=outbound, pace=pace, base_url=base_url, max_bytes=max_bytes, registrar=profile.provider
    )
    return adapter(api, credentials=credentials)


async def record_outcome(
    conn: Conn,
    *,
    account_id: UUID,
    connection_id: UUID,
    failure: RegistrarFailed | None,
    unread: Sequence[Unread] = (),
    synced_at: datetime | None = None,
    billing_synced_at: datetime | None = None,
) -> None:
    """Write how the requests of a connection ended; `synced_at` is the time of a complete sync.

    Publish portfolio.registrar.credentials_invalid and .restricted when the status becomes that. Does nothing
    for a disconnected connection, and for a failure that does not change the status.
    """
    if failure is not None and (failure.is_own or failure.kind in _OF_REQUEST):
        return
    before = await store.lock_status(conn, account_id=account_id, connection_id=connection_id)
    if before is None:
        return
    status = status_after(before, failure)
    recorded = await store.record(
        conn,
        account_id=account_id,
        connection_id=connection_id,
        status=status,
        status_detail=describe(failure, unread),
        next_allowed_at=next_allowed_at(failure, clock.now()),
        synced_at=synced_at,
        billing_synced_at=billing_synced_at,
    )
    if status is not before and status in PUBLISHED:
        await outbox.publish(conn, PUBLISHED[status], account_id=account_id, data=registrar_data(recorded))


def status_after(before: ConnectionStatus, failure: RegistrarFailed | None) -> ConnectionStatus:
    """Return the stored status after requests that ended like this."""
    if failure is None:
        return ConnectionStatus.OK
    return _STATUSES.get(failure.kind, before)


def describe(failure: RegistrarFailed | None, unread: Sequence[Unread] = ()) -> str | None:
    """Return the reason of a failure and what the user can do, or what a list had that could not be read."""
    if failure is None:
        return f"Some values of its list cannot be read, and change nothing: {named(unread)}." if unread else None
    return " ".join(filter(None, (str(failure), failure.hint)))


def next_allowed_at(failure: RegistrarFailed | None, now: datetime) -> datetime | None:
    """Return until when the registrar accepts no request."""
    if failure is None or failure.kind is not RegistrarFailure.RATE_LIMITED:
        return None
    return now + timedelta(seconds=failure.retry_after_s or DEFAULT_WAIT_S)
