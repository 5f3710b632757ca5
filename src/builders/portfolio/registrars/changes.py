"""Connect registrars, change connections, and disconnect them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from builders.identity import accounts
from builders.identity.records import AuditAction
from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.portfolio.domains import changes, lookups
from builders.portfolio.registrars import credentials as sealing, providers
from builders.portfolio.registrars.change_records import ConnectionPatch, Disconnection, SavedConnection
from builders.portfolio.registrars.connections import (
    PUBLISHED,
    describe,
    find_named,
    lock_for_new_connection,
    next_allowed_at,
    status_after,
    stored_status,
)
from builders.portfolio.registrars.drafts import Draft, make_draft
from builders.portfolio.registrars.errors import ConnectionChanged, problem_of
from builders.portfolio.registrars.events import REGISTRAR_CONNECTED, REGISTRAR_DISCONNECTED, registrar_data
from builders.portfolio.registrars.failures import RegistrarFailed
from builders.portfolio.registrars.listing import registrar_item
from builders.portfolio.registrars.records import DEFAULT_CONNECTION, Connection, ConnectionStatus, Profile
from builders.portfolio.registrars.store import connections as store, credentials as credential_store
from builders.portfolio.registrars.store.connections import WrittenConnection
from builders.portfolio.registrars.verification import describe_check, verify
from builders.portfolio.team.records import Access

_ATTEMPTS = 3  # to save a connection that others change at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """The current connection of a request."""

    id: UUID
    name: str
    row: Connection | None  # also a disconnected one; None: there is none
    credentials: Mapping[str, str] = field(repr=False)

    @property
    def connected(self) -> Connection | None:
        """The connection if it is connected."""
        return None if self.row is None or self.row.disconnected_at is not None else self.row


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A draft that replaces a target, and the result of its verification."""

    profile: Profile
    target: _Target
    draft: Draft
    is_checked: bool
    failure: RegistrarFailed | None

    @property
    def names(self) -> Sequence[str]:
        """The credentials that are set or cleared."""
        old, new = self.target.credentials, self.draft.credentials
        return [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]

    @property
    def before(self) -> ConnectionStatus | None:
        """The stored status before; None when it was not connected."""
        return None if self.target.connected is None else stored_status(self.target.connected)

    @property
    def status(self) -> ConnectionStatus:
        """The stored status after."""
        present = ConnectionStatus.OK if self.names or self.before is None else self.before
        return status_after(present, self.failure) if self.is_checked else present


async def save_connection(
    database: Database,
    *,
    outbound: Outbound,
    keyring: Keyring,
    access: Access,
    provider: str,
    name: str | None,
    patch: ConnectionPatch,
) -> SavedConnection:
    """Connect a registrar or change the connection; `name` is that of the connection, None for the only one.

    The registrar checks the credentials first, outside of a transaction. Publish portfolio.registrar.connected
    when the connection can be used and could not before. Raise ProviderNotFound, Invalid, ConnectionAmbiguous,
    ConnectionLimit, ConnectionChanged; with `require_valid` the refusals of `problem_of`.
    """
    profile = providers.get_profile(provider)
    for _ in range(_ATTEMPTS):
        target = await _find_target(database, keyring, access=access, profile=profile, name=name)
        draft = make_draft(
            outbound,
            profile=profile,
            before=target.connected,
            old=target.credentials,
            patch=patch,
            is_sandbox=access.is_sandbox,
        )
        checks = patch.verify and draft.is_enabled and bool(profile.credential_fields)
        failure = None
        if checks:
            # Other credentials have a separate rate limit.
            present = target.connected if draft.credentials == target.credentials else None
            failure = await verify(database, outbound=outbound, profile=profile, present=present, draft=draft)
        if failure is not None and patch.require_valid:
            raise problem_of(failure)
        saved = await _save(
            database,
            keyring,
            access=access,
            change=_Change(profile=profile, target=target, draft=draft, is_checked=checks, failure=failure),
        )
        if saved is not None:
            return saved
    raise ConnectionChanged("Concurrent requests are changing this connection; repeat the request.")


async def _find_target(
    database: Database, keyring: Keyring, *, access: Access, profile: Profile, name: str | None
) -> _Target:
    account_id = access.portfolio_id
    async with database.connection() as conn:
        found = await find_named(conn, account_id=account_id, provider=profile.provider, name=name)
        if found is None or found.disconnected_at is not None:
            new_name = name or DEFAULT_CONNECTION
            return _Target(id=found.id if found else ids.new(), name=new_name, row=found, credentials={})
        sealed = await credential_store.find(conn, account_id=account_id, connection_id=found.id)
    opened: Mapping[str, str] = {}
    if sealed is not None:
        try:
            opened = sealing.unseal(keyring, sealed, account_id=account_id, connection_id=found.id)
        except RegistrarFailed:  # the key is lost: all of them must be sent again
            opened = {}
    return _Target(id=found.id, name=found.name, row=found, credentials=opened)


async def _save(
    database: Database, keyring: Keyring, *, access: Access, change: _Change
) -> SavedConnection | None:
    """Write the change with its events and audit entry; None when the connection is not the one that was read."""
    now = clock.now()
    written = _written(keyring, access.portfolio_id, change, now)
    row = change.target.row
    async with database.transaction() as conn:
        if change.target.connected is None:
            await lock_for_new_connection(conn, account_id=access.portfolio_id)
        if row is None:
            saved = await store.insert(conn, written=written, now=now)
        else:
            saved = await store.update(conn, written=written, version=row.version, now=now)
        if saved is None:
            return None
        await _publish(conn, access, change, saved)
        await _record_audit(conn, access=access, change=change, saved=saved)
        counts = await lookups.count_connections(conn, account_id=access.portfolio_id)
    return SavedConnection(
        item=registrar_item(saved, access=access, counts=counts),
        verification=describe_check(change.failure, now) if change.is_checked else None,
        unknown=change.draft.unknown,
    )


def _written(keyring: Keyring, account_id: UUID, change: _Change, now: datetime) -> WrittenConnection:
    profile, target, draft = change.profile, change.target, change.draft
    present = target.connected
    keeps = present is not None and not change.is_checked and not change.names
    sealed = sealing.seal(keyring, draft.credentials, account_id=account_id, connection_id=target.id)
    return WrittenConnection(
        account_id=account_id,
        id=target.id,
        provider=profile.provider,
        name=target.name,
        label=draft.label,
        environment=draft.environment,
        base_url=draft.base_url,
        credentials=sealed if profile.credential_fields else None,
        hints=sealing.make_hints(
            profile,
            before=present.hints if present else (),
            old=target.credentials,
            new=draft.credentials,
            now=now,
        ),
        is_enabled=draft.is_enabled,
        sync_interval_hours=draft.sync_interval_hours,
        status=change.status,
        status_detail=present.status_detail if keeps and present else describe(change.failure),
        next_allowed_at=present.next_allowed_at if keeps and present else next_allowed_at(change.failure, now),
    )


async def _publish(conn: Conn, access: Access, change: _Change, saved: Connection) -> None:
    """Publish that the connection became usable, or that one which was usable no longer is."""
    data, status = registrar_data(saved), change.status
    if status not in PUBLISHED and (change.before is None or change.before in PUBLISHED):
        await outbox.publish(conn, REGISTRAR_CONNECTED, account_id=access.portfolio_id, data=data)
    if status in PUBLISHED and change.before not in {None, status}:
        await outbox.publish(conn, PUBLISHED[status], account_id=access.portfolio_id, data=data)


async def _record_audit(conn: Conn, *, access: Access, change: _Change, saved: Connection) -> None:
    before = change.target.connected
    is_moved = before is not None and (before.base_url, before.environment) != (saved.base_url, saved.environment)
    if before is None or is_moved or change.names:
        await accounts.record_audit(
            conn,
            account_id=access.owner_id,
            actor=access.actor,
            action=AuditAction.REGISTRAR_CREDENTIAL_CHANGED,
            about={
                **_about(access, saved),
                "change": "connected" if before is None else "changed",
                "credentials": ", ".join(change.names),
            },
        )


def _about(access: Access, connection: Connection) -> dict[str, str | int | bool | None]:
    return {
        "provider": connection.provider,
        "connection": connection.name,
        "connection_id": str(connection.id),
        "livemode": not access.is_sandbox,
    }


async def disconnect(
    conn: Conn, *, access: Access, provider: str, name: str | None, keeps_inventory: bool
) -> Disconnection:
    """Disconnect a registrar and erase the credentials; publish portfolio.registrar.disconnected. Repeatable.

    Raise ProviderNotFound, ConnectionAmbiguous.
    """
    profile = providers.get_profile(provider)
    account_id = access.portfolio_id
    found = await find_named(conn, account_id=account_id, provider=profile.provider, name=name)
    ended = None
    if found is not None:
        ended = await store.disconnect(conn, account_id=account_id, connection_id=found.id, now=clock.now())
    affected = 0
    if ended is not None:
        affected = await changes.forget_connection(conn, account_id=account_id, connection_id=ended.id)
        await outbox.publish(conn, REGISTRAR_DISCONNECTED, account_id=account_id, data=registrar_data(ended))
        await accounts.record_audit(
            conn,
            account_id=access.owner_id,
            actor=access.actor,
            action=AuditAction.REGISTRAR_CREDENTIAL_CHANGED,
            about={**_about(access, ended), "change": "disconnected"},
        )
    if found is not None and not keeps_inventory:
        await store.delete_inventory(conn, account_id=account_id, connection_id=found.id)
    return Disconnection(
        provider=profile.provider,
        connection=found.name if found else name,
        is_disconnected=ended is not None,
        is_inventory_kept=keeps_inventory,
        domains_affected=affected,
    )
