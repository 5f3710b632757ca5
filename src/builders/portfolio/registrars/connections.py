"""Find and open connections to registrars, and record the outcome of their requests."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.portfolio.registrars import credentials, providers as profiles
from builders.portfolio.registrars.adapter import MAX_PAGES, Adapter
from builders.portfolio.registrars.api_client import MAX_BYTES, STAND_IN_BYTES, ApiClient, Pace
from builders.portfolio.registrars.errors import (
    DEFAULT_WAIT_S,
    ConnectionAmbiguous,
    ConnectionLimit,
    NotConnected,
)
from builders.portfolio.registrars.events import (
    REGISTRAR_CONNECTED,
    REGISTRAR_CREDENTIALS_INVALID,
    REGISTRAR_RESTRICTED,
    registrar_data,
)
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.pace import MAX_WAIT_S, SharedPace
from builders.portfolio.registrars.records import (
    DEFAULT_CONNECTION,
    DEFAULT_SYNC_HOURS,
    MAX_CONNECTIONS,
    Connection,
    ConnectionStatus,
    Environment,
    Profile,
    Quota,
)
from builders.portfolio.registrars.store import connections as store, credentials as credential_store
from builders.portfolio.registrars.store.connections import WrittenConnection

# Of a base URL that a user set: it has no published rate limit, and anybody can serve any number of rows.
STAND_IN_QUOTA = Quota(requests=600, window_s=60)
STAND_IN_PAGES = 1_000  # of a list
PRUNED = 100  # connections of one statement
# The status after a failure; another kind of failure does not change it.
_STATUSES: Mapping[RegistrarFailure, ConnectionStatus] = {
    RegistrarFailure.AUTH_FAILED: ConnectionStatus.AUTH_FAILED,
    RegistrarFailure.RESTRICTED: ConnectionStatus.RESTRICTED,
    RegistrarFailure.IP_NOT_ALLOWED: ConnectionStatus.RESTRICTED,
    RegistrarFailure.RATE_LIMITED: ConnectionStatus.RATE_LIMITED,
}
# Failures of one request, which do not change the status of the connection.
_OF_REQUEST = {RegistrarFailure.NOT_FOUND, RegistrarFailure.UNSUPPORTED}
PUBLISHED = {
    ConnectionStatus.AUTH_FAILED: REGISTRAR_CREDENTIALS_INVALID,
    ConnectionStatus.RESTRICTED: REGISTRAR_RESTRICTED,
}


async def list_connections(
    conn: Conn, *, account_id: UUID, providers: Sequence[str] | None = None
) -> Sequence[Connection]:
    """Return the connections of a portfolio, or those to some registrars: by provider, the oldest first."""
    now = clock.now()
    if providers is None:
        return await store.list_all(conn, account_id=account_id, now=now)
    return await store.list_of_providers(conn, account_id=account_id, providers=providers, now=now)


async def list_wanted(conn: Conn, *, account_id: UUID, providers: Sequence[str] | None) -> Sequence[Connection]:
    """Return the connections of a portfolio, or those to some registrars.

    Raise ProviderNotFound, and NotConnected for a registrar without a connection.
    """
    named = None if providers is None else [profiles.get_profile(each).provider for each in providers]
    found = await list_connections(conn, account_id=account_id, providers=named)
    missing = set(named or ()) - {each.provider for each in found}
    if missing:
        raise NotConnected(f"The portfolio is not connected to {', '.join(sorted(missing))}.")
    return found


async def get_connection(conn: Conn, *, account_id: UUID, connection_id: UUID) -> Connection:
    """Return a connection, also a disconnected one. Raise NotConnected."""
    found = await store.find(conn, account_id=account_id, connection_id=connection_id, now=clock.now())
    if found is None:
        raise NotConnected
    return found


async def lock_connected(conn: Conn, *, account_id: UUID, connection_id: UUID) -> bool:
    """Return whether a connection exists, and keep it until the transaction ends.

    Call it before a statement that locks domains, as a disconnection does.
    """
    return await store.keep(conn, account_id=account_id, connection_id=connection_id)


async def find_connection(conn: Conn, *, account_id: UUID, provider: str, name: str) -> Connection | None:
    """Return the connection of a name to a registrar; None when it is not connected."""
    found = await store.find_by_name(conn, account_id=account_id, provider=provider, name=name, now=clock.now())
    return None if found is None or found.disconnected_at is not None else found


async def find_named(conn: Conn, *, account_id: UUID, provider: str, name: str | None) -> Connection | None:
    """Return the connection of a name, also a disconnected one; for None the only one.

    Raise ConnectionAmbiguous.
    """
    if name is None:
        found = await list_connections(conn, account_id=account_id, providers=[provider])
        if len(found) > 1:
            names = [each.name for each in found]
            raise ConnectionAmbiguous(
                f"There are several connections to {provider}: {', '.join(names)}.",
                connections=names,
            )
        if found:
            return found[0]
    return await store.find_by_name(
        conn, account_id=account_id, provider=provider, name=name or DEFAULT_CONNECTION, now=clock.now()
    )


async def lock_for_new_connection(conn: Conn, *, account_id: UUID) -> None:
    """Lock the portfolio for a new connection until the transaction ends. Raise ConnectionLimit."""
    await store.lock_portfolio(conn, account_id=account_id)
    if len(await list_connections(conn, account_id=account_id)) >= MAX_CONNECTIONS:
        raise ConnectionLimit(f"A portfolio has at most {MAX_CONNECTIONS} registrar connections.")


async def ensure_manual_connection(conn: Conn, *, account_id: UUID, provider: str) -> Connection:
    """Return the connection to a registrar without an adapter (`manual:NAME`), made if there is none.

    Publish portfolio.registrar.connected for a new one. Raise ProviderNotFound, ConnectionLimit, ValueError for
    a registrar with an adapter.
    """
    profile = profiles.get_profile(provider)
    if profile.credential_fields:
        raise ValueError(f"{profile.provider} has an adapter")
    found = await list_connections(conn, account_id=account_id, providers=[profile.provider])
    if found:
        return found[0]
    await lock_for_new_connection(conn, account_id=account_id)
    now = clock.now()
    written = _manual(account_id, profile, connection_id=ids.new())
    made = await store.insert(conn, written=written, now=now)
    if made is None:  # disconnected before, or made by a concurrent transaction
        before = await _get_by_name(conn, account_id=account_id, provider=profile.provider)
        if before.disconnected_at is None:
            return before
        again = _manual(account_id, profile, connection_id=before.id)
        made = await store.update(conn, written=again, version=before.version, now=now)
        if made is None:
            return await _get_by_name(conn, account_id=account_id, provider=profile.provider)
    await outbox.publish(conn, REGISTRAR_CONNECTED, account_id=account_id, data=registrar_data(made))
    return made


async def _get_by_name(conn: Conn, *, account_id: UUID, provider: str) -> Connection:
    found = await store.find_by_name(
        conn, account_id=account_id, provider=provider, name=DEFAULT_CONNECTION, now=clock.now()
    )
    if found is None:
        raise NotConnected
    return found


def _manual(account_id: UUID, profile: Profile, *, connection_id: UUID) -> WrittenConnection:
    return WrittenConnection(
        account_id=account_id,
        id=connection_id,
        provider=profile.provider,
        name=DEFAULT_CONNECTION,
        label=None,
        environment=Environment.LIVE,
        base_url=None,
        credentials=None,
        hints=(),
        is_enabled=True,
        sync_interval_hours=DEFAULT_SYNC_HOURS,
        status=ConnectionStatus.OK,
        status_detail=None,
        next_allowed_at=None,
    )


async def open_adapter(
    database: Database,
    *,
    outbound: Outbound,
    keyring: Keyring,
    connection: Connection,
    max_wait_s: float = MAX_WAIT_S,
) -> Adapter:
    """Return the adapter of a connection; `max_wait_s` bounds how long a request waits for the rate limit.

    Raise RegistrarFailed: UNSUPPORTED for a registrar without an adapter, AUTH_FAILED for a connection that is
    disabled or has no credentials, RATE_LIMITED while the registrar accepts no request.
    """
    async with database.connection() as conn:
        connection = await get_connection(conn, account_id=connection.account_id, connection_id=connection.id)
        sealed = await credential_store.find(conn, account_id=connection.account_id, connection_id=connection.id)
    if connection.is_manual:
        raise RegistrarFailed(RegistrarFailure.UNSUPPORTED, hint="Import a CSV file of this registrar.")
    if not connection.is_enabled or sealed is None:
        hint = f"Connect it: PUT /v1/portfolio/registrars/{connection.provider}."
        raise RegistrarFailed(RegistrarFailure.AUTH_FAILED, hint=hint)
    wait = None if connection.next_allowed_at is None else connection.next_allowed_at - clock.now()
    if wait is not None and wait > timedelta():
        raise RegistrarFailed(RegistrarFailure.RATE_LIMITED, retry_after_s=wait.total_seconds())
    profile = profiles.get_profile(connection.provider)
    opened = credentials.unseal(keyring, sealed, account_id=connection.account_id, connection_id=connection.id)
    return make_adapter(
        profile,
        outbound=outbound,
        pace=pace_of(database, connection, profile, max_wait_s=max_wait_s),
        base_url=connection.base_url or profile.base_urls[connection.environment],
        credentials=opened,
    )


def max_pages(connection: Connection) -> int:
    """Return how many pages the list of domains of a connection may have."""
    return MAX_PAGES if connection.base_url is None else STAND_IN_PAGES


def pace_of(database: Database, connection: Connection, profile: Profile, *, max_wait_s: float) -> Pace:
    """Return the rate limit of a connection."""
    return SharedPace(
        database,
        account_id=connection.account_id,
        connection_id=connection.id,
        quota=profile.quota if connection.base_url is None else STAND_IN_QUOTA,
        max_wait_s=max_wait_s,
    )


def make_adapter(
    profile: Profile, *, outbound: Outbound, pace: Pace, base_url: str, credentials: Mapping[str, str]
) -> Adapter:
    """Return the adapter of a registrar."""
    max_bytes = MAX_BYTES if base_url in profile.base_urls.values() else STAND_IN_BYTES
    api = ApiClient(outbound=outbound, pace=pace, base_url=base_url, max_bytes=max_bytes)
    return profiles.ADAPTERS[profile.provider](api, credentials=credentials)


async def record_outcome(
    conn: Conn,
    *,
    account_id: UUID,
    connection_id: UUID,
    failure: RegistrarFailed | None,
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
    now = clock.now()
    status = status_after(before, failure)
    recorded = await store.record(
        conn,
        account_id=account_id,
        connection_id=connection_id,
        status=status,
        status_detail=describe(failure),
        next_allowed_at=next_allowed_at(failure, now),
        synced_at=synced_at,
        billing_synced_at=billing_synced_at,
        now=now,
    )
    if status is not before and status in PUBLISHED:
        await outbox.publish(conn, PUBLISHED[status], account_id=account_id, data=registrar_data(recorded))


def stored_status(connection: Connection) -> ConnectionStatus:
    """Return the status without the age of the last sync."""
    is_aged = connection.status in {ConnectionStatus.STALE, ConnectionStatus.NEVER_SYNCED}
    return ConnectionStatus.OK if is_aged else connection.status


def status_after(before: ConnectionStatus, failure: RegistrarFailed | None) -> ConnectionStatus:
    """Return the stored status after requests that ended like this."""
    if failure is None:
        return ConnectionStatus.OK
    return _STATUSES.get(failure.kind, before)


def describe(failure: RegistrarFailed | None) -> str | None:
    """Return the reason of a failure and what the user can do."""
    return None if failure is None else " ".join(filter(None, (str(failure), failure.hint)))


def next_allowed_at(failure: RegistrarFailed | None, now: datetime) -> datetime | None:
    """Return until when the registrar accepts no request."""
    if failure is None or failure.kind is not RegistrarFailure.RATE_LIMITED:
        return None
    return now + timedelta(seconds=failure.retry_after_s or DEFAULT_WAIT_S)


async def prune_connections(conn: Conn, *, retention: timedelta) -> bool:
    """Delete a batch of connections that were disconnected long ago; return whether more may remain."""
    return await store.prune(conn, before=clock.now() - retention, limit=PRUNED) == PRUNED
