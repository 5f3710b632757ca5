"""Connections to registrars: find, list, connect, change and disconnect them."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from builders.identity import accounts
from builders.identity.records import AuditAction
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import UNKNOWN_FIELD, Invalid
from builders.kit.events import outbox
from builders.kit.outbound.client import Outbound, UrlRefused
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.kit.values.resources import extended
from builders.kit.values.suggestions import find_similar
from builders.portfolio.domains import changes as domain_changes, lookups
from builders.portfolio.registrars import requests
from builders.portfolio.registrars.api_client import Pace
from builders.portfolio.registrars.credentials import make_hints, seal, unseal
from builders.portfolio.registrars.errors import (
    ConnectionAmbiguous,
    ConnectionChanged,
    ConnectionLimit,
    NotConnected,
    problem_of,
)
from builders.portfolio.registrars.events import REGISTRAR_CONNECTED, REGISTRAR_DISCONNECTED, registrar_data
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.providers import get_profile, is_live_host
from builders.portfolio.registrars.records import (
    DEFAULT_CONNECTION,
    MAX_CONNECTIONS,
    Connection,
    ConnectionPatch,
    ConnectionStatus,
    Disconnection,
    Environment,
    Profile,
    RegistrarVerification,
)
from builders.portfolio.registrars.registrar_list import Registrar, SavedRegistrar, connected_registrar
from builders.portfolio.registrars.store import connections as store
from builders.portfolio.team.records import Access

VERIFY_S = 20.0  # of the request that checks credentials, with its retries
# By the status as shown, which depends on the age of the last sync.
_STORED = dict.fromkeys((ConnectionStatus.STALE, ConnectionStatus.NEVER_SYNCED), ConnectionStatus.OK)
_ATTEMPTS = 3  # to save a connection that others change at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """A connection that a request changes, or a new one, with its credentials."""

    connection: Connection
    is_connected: bool
    credentials: Mapping[str, str] = field(repr=False)


class _Unlimited:
    """The pace of a connection that does not exist yet."""

    async def acquire(self) -> None:
        """Return at once."""


async def list_connections(
    conn: Conn, *, account_id: UUID, providers: Sequence[str] | None = None
) -> Sequence[Connection]:
    """Return the connections of a portfolio, or those to some registrars: by provider, the oldest first."""
    return await store.list_connected(conn, account_id=account_id, providers=providers)


async def list_wanted(conn: Conn, *, account_id: UUID, providers: Sequence[str] | None) -> Sequence[Connection]:
    """Return the connections of a portfolio, or those to some registrars.

    Raise ProviderNotFound, and NotConnected for a registrar without a connection.
    """
    named = None if providers is None else [get_profile(each).provider for each in providers]
    found = await store.list_connected(conn, account_id=account_id, providers=named)
    missing = set(named or ()) - {each.provider for each in found}
    if missing:
        raise NotConnected(f"The portfolio is not connected to {', '.join(sorted(missing))}.")
    return found


async def get_connection(conn: Conn, *, account_id: UUID, connection_id: UUID) -> Connection:
    """Return a connection, also a disconnected one. Raise NotConnected."""
    found = await store.find(conn, account_id=account_id, connection_id=connection_id)
    if found is None:
        raise NotConnected
    return found


async def find_named(conn: Conn, *, account_id: UUID, provider: str, name: str | None) -> Connection | None:
    """Return the connection of a name, also a disconnected one; for None the only one.

    Raise ConnectionAmbiguous.
    """
    if name is None:
        found = await store.list_connected(conn, account_id=account_id, providers=[provider])
        if len(found) > 1:
            names = [each.name for each in found]
            raise ConnectionAmbiguous(
                f"There are several connections to {provider}: {', '.join(names)}.", connections=names
            )
        if found:
            return found[0]
    return await store.find_by_name(
        conn, account_id=account_id, provider=provider, name=name or DEFAULT_CONNECTION
    )


async def lock_for_new_connection(conn: Conn, *, account_id: UUID) -> None:
    """Lock the portfolio for a new connection until the transaction ends. Raise ConnectionLimit."""
    await store.lock_portfolio(conn, account_id=account_id)
    if len(await store.list_connected(conn, account_id=account_id, providers=None)) >= MAX_CONNECTIONS:
        raise ConnectionLimit(f"A portfolio has at most {MAX_CONNECTIONS} registrar connections.")


async def ensure_manual_connection(conn: Conn, *, account_id: UUID, provider: str) -> Connection:
    """Return the connection to a registrar without an adapter (`manual:NAME`), made if there is none.

    Publish portfolio.registrar.connected for a new one. Raise ProviderNotFound, ConnectionLimit.
    """
    provider = get_profile(provider).provider
    found = await store.list_connected(conn, account_id=account_id, providers=[provider])
    if found:
        return found[0]
    await lock_for_new_connection(conn, account_id=account_id)
    before = await store.find_by_name(conn, account_id=account_id, provider=provider, name=DEFAULT_CONNECTION)
    if before is not None and before.disconnected_at is None:  # made by a concurrent transaction
        return before
    now = clock.now()
    new = Connection(account_id=account_id, id=ids.new(), provider=provider, created_at=now, updated_at=now)
    if before is not None:
        new = replace(new, id=before.id, version=before.version)
    made = await store.save(conn, new, credentials=None)
    if made is None:
        raise ConnectionChanged
    await outbox.publish(conn, REGISTRAR_CONNECTED, account_id=account_id, data=registrar_data(made))
    return made


async def save_connection(
    database: Database,
    *,
    outbound: Outbound,
    keyring: Keyring,
    access: Access,
    provider: str,
    name: str | None,
    patch: ConnectionPatch,
) -> SavedRegistrar:
    """Connect a registrar or change the connection; `name` is that of the connection, None for the only one.

    The registrar checks the credentials first, outside of a transaction. Publish portfolio.registrar.connected
    when the connection can be used and could not before. Raise ProviderNotFound, Invalid, ConnectionAmbiguous,
    ConnectionLimit, ConnectionChanged; with `require_valid` the refusals of `problem_of`.
    """
    profile = get_profile(provider)
    for _ in range(_ATTEMPTS):
        before = await _target_of(database, keyring, access=access, profile=profile, name=name)
        after = _patched(before, outbound=outbound, profile=profile, patch=patch, is_sandbox=access.is_sandbox)
        unknown = _unknown_credentials(profile, patch)
        is_checked = patch.verify and after.connection.is_enabled and bool(profile.credential_fields)
        failure = await _verify(database, outbound, profile, before, after) if is_checked else None
        if failure is not None and patch.require_valid:
            raise problem_of(failure)
        async with database.transaction() as conn:
            item = await _save(
                conn, keyring, access, profile, before, after, is_checked=is_checked, failure=failure
            )
        if item is not None:
            verification = _verification(failure) if is_checked else None
            return extended(SavedRegistrar, item, verification=verification, unknown=unknown)
    raise ConnectionChanged("Concurrent requests are changing this connection; repeat the request.")


def _unknown_credentials(profile: Profile, patch: ConnectionPatch) -> Sequence[str]:
    """Return the names of credentials that the registrar does not have. Raise Invalid for a similar name."""
    known = [each.name for each in profile.credential_fields]
    unknown = sorted(patch.credentials.keys() - set(known))
    meant = {each: find_similar(each, known) for each in unknown}
    similar = [
        {
            "loc": ("body", "credentials", each),
            "msg": f"Unknown field. Did you mean {name!r}?",
            "type": UNKNOWN_FIELD,
            "did_you_mean": name,
        }
        for each, name in meant.items()
        if name is not None
    ]
    if similar:
        raise Invalid.many(similar)
    return unknown


async def _target_of(
    database: Database, keyring: Keyring, *, access: Access, profile: Profile, name: str | None
) -> _Target:
    now, account_id = clock.now(), access.portfolio_id
    async with database.connection() as conn:
        found = await find_named(conn, account_id=account_id, provider=profile.provider, name=name)
        if found is None or found.disconnected_at is not None:
            has_sandbox = access.is_sandbox and Environment.SANDBOX in profile.base_urls
            new = Connection(
                account_id=account_id,
                id=ids.new() if found is None else found.id,
                provider=profile.provider,
                name=name or DEFAULT_CONNECTION,
                environment=Environment.SANDBOX if has_sandbox else Environment.LIVE,
                version=0 if found is None else found.version,
                created_at=now,
                updated_at=now,
            )
            return _Target(connection=new, is_connected=False, credentials={})
        sealed = await store.find_credentials(conn, account_id=account_id, connection_id=found.id)
    opened: Mapping[str, str] = {}
    if sealed is not None:
        with suppress(RegistrarFailed):  # the key is lost: all of them must be sent again
            opened = unseal(keyring, sealed, account_id=account_id, connection_id=found.id)
    return _Target(connection=found, is_connected=True, credentials=opened)


def _patched(
    before: _Target, *, outbound: Outbound, profile: Profile, patch: ConnectionPatch, is_sandbox: bool
) -> _Target:
    """Return the target after the patch. Raise Invalid."""
    members = dict(patch.members)
    if members.get("base_url") is not None:
        members["base_url"] = _base_url(outbound, members["base_url"], is_sandbox=is_sandbox)
    connection = replace(before.connection, **members)
    if profile.credential_fields and connection.base_url is None:
        _require_environment(profile, connection.environment, is_sandbox=is_sandbox)
    is_moved = before.is_connected and before.connection.base_url != connection.base_url
    why = "A new base URL requires all credentials: send them again." if is_moved else "Field required."
    sent = {**({} if is_moved else before.credentials), **patch.credentials}
    replaced = {
        name for each in profile.credential_fields if sent.get(each.name) is not None for name in each.instead_of
    }
    missing: list[dict[str, Any]] = [
        {"loc": ("body", "credentials", each.name), "msg": f"{each.label}: {why}", "type": "credential_required"}
        for each in profile.credential_fields
        if each.is_required and sent.get(each.name) is None and each.name not in replaced
    ]
    if missing:
        raise Invalid.many(missing)
    known = {each.name: sent.get(each.name) for each in profile.credential_fields}
    credentials = {name: value for name, value in known.items() if value is not None}
    return _Target(connection=connection, is_connected=True, credentials=credentials)


def _base_url(outbound: Outbound, url: str, *, is_sandbox: bool) -> str:
    loc = ("body", "base_url")
    if not is_sandbox:
        raise Invalid(loc, "A base URL can be set with a test key only.", "base_url_not_allowed")
    try:
        target = outbound.validate_url(url)
    except UrlRefused as error:
        raise error.at(*loc) from None
    if "?" in target.path:
        raise Invalid(loc, "A base URL has no query.", "base_url_not_allowed")
    if is_live_host(target.host):
        message = "This is a registrar's production API, which requires a live key."
        raise Invalid(loc, message, "base_url_not_allowed")
    return target.url.rstrip("/")


def _require_environment(profile: Profile, environment: Environment, *, is_sandbox: bool) -> None:
    """Raise Invalid for an environment that the registrar does not have, or that the key must not use."""
    if environment not in profile.base_urls:
        message = f"{profile.label} has no {environment} environment."
        raise Invalid(("body", "environment"), message, "environment_not_allowed")
    if is_sandbox and environment is Environment.LIVE:
        other = " or environment=sandbox" if Environment.SANDBOX in profile.base_urls else ""
        message = f"The production API requires a live key; with a test key, set base_url{other}."
        raise Invalid(("body", "base_url"), message, "base_url_required")


async def _verify(
    database: Database, outbound: Outbound, profile: Profile, before: _Target, after: _Target
) -> RegistrarFailed | None:
    """Return why the registrar does not accept the credentials, or does not respond; None when it does."""
    pace: Pace = _Unlimited()
    # Other credentials have a separate rate limit.
    is_same_url = before.connection.base_url == after.connection.base_url
    if before.is_connected and is_same_url and before.credentials == after.credentials:
        pace = requests.pace_of(database, before.connection, profile, max_wait_s=VERIFY_S)
    try:
        connection, opened = after.connection, after.credentials
        adapter = requests.make_adapter(profile, connection, outbound=outbound, pace=pace, credentials=opened)
        async with asyncio.timeout(VERIFY_S):
            await adapter.verify()
    except TimeoutError:
        return RegistrarFailed(
            RegistrarFailure.UNAVAILABLE, hint=f"There was no response in {VERIFY_S:.0f} seconds."
        )
    except RegistrarFailed as failure:
        return failure
    return None


def _verification(failure: RegistrarFailed | None) -> RegistrarVerification:
    return RegistrarVerification(
        ok=failure is None,
        code=None if failure is None else failure.kind,
        message="The registrar accepts the credentials." if failure is None else str(failure),
        hint=None if failure is None else failure.hint,
        checked_at=clock.now(),
    )


async def _save(
    conn: Conn,
    keyring: Keyring,
    access: Access,
    profile: Profile,
    before: _Target,
    after: _Target,
    *,
    is_checked: bool,
    failure: RegistrarFailed | None,
) -> Registrar | None:
    """Write the change with its events and audit entry; None when the connection is not the one that was read."""
    old, new, now, connection = before.credentials, after.credentials, clock.now(), after.connection
    names = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    shown = before.connection.status
    status_before = _STORED.get(shown, shown) if before.is_connected else None
    status = ConnectionStatus.OK if names or status_before is None else status_before
    if is_checked or names or status_before is None:
        status = requests.status_after(status, failure)
        until = requests.next_allowed_at(failure, now)
        connection = replace(connection, status_detail=requests.describe(failure), next_allowed_at=until)
    hints = make_hints(profile, before=connection.hints, old=old, new=new, now=now)
    connection = replace(connection, hints=hints, status=status, updated_at=now)
    target = {"account_id": connection.account_id, "connection_id": connection.id}
    sealed = seal(keyring, new, **target) if profile.credential_fields else None
    if not before.is_connected:
        await lock_for_new_connection(conn, account_id=connection.account_id)
    saved = await store.save(conn, connection, credentials=sealed)
    if saved is None:
        return None
    data = registrar_data(saved)
    if status not in requests.PUBLISHED and (status_before is None or status_before in requests.PUBLISHED):
        await outbox.publish(conn, REGISTRAR_CONNECTED, account_id=saved.account_id, data=data)
    if status in requests.PUBLISHED and status_before not in {None, status}:
        await outbox.publish(conn, requests.PUBLISHED[status], account_id=saved.account_id, data=data)
    is_moved = (before.connection.base_url, before.connection.environment) != (saved.base_url, saved.environment)
    if not before.is_connected or is_moved or names:
        done = "changed" if before.is_connected else "connected"
        await _record_audit(conn, access, saved, {"change": done, "credentials": ", ".join(names)})
    counts = await lookups.count_connections(conn, account_id=saved.account_id)
    return connected_registrar(saved, access=access, counts=counts)


async def _record_audit(conn: Conn, access: Access, connection: Connection, more: Mapping[str, str]) -> None:
    await accounts.record_audit(
        conn,
        account_id=access.owner_id,
        actor=access.actor,
        action=AuditAction.REGISTRAR_CREDENTIAL_CHANGED,
        about={
            "provider": connection.provider,
            "connection": connection.name,
            "connection_id": str(connection.id),
            "livemode": not access.is_sandbox,
            **more,
        },
    )


async def disconnect(
    conn: Conn, *, access: Access, provider: str, name: str | None, keeps_inventory: bool
) -> Disconnection:
    """Disconnect a registrar and erase the credentials; publish portfolio.registrar.disconnected. Repeatable.

    Raise ProviderNotFound, ConnectionAmbiguous.
    """
    profile, account_id = get_profile(provider), access.portfolio_id
    found = await find_named(conn, account_id=account_id, provider=profile.provider, name=name)
    ended, affected = None, 0
    if found is not None:
        target = {"account_id": account_id, "connection_id": found.id}
        await store.lock_to_disconnect(conn, **target)
        ended = await store.disconnect(conn, **target, now=clock.now())
    if ended is not None:
        affected = await domain_changes.forget_connection(conn, account_id=account_id, connection_id=ended.id)
        await outbox.publish(conn, REGISTRAR_DISCONNECTED, account_id=account_id, data=registrar_data(ended))
        await _record_audit(conn, access, ended, {"change": "disconnected"})
    if found is not None and not keeps_inventory:
        await store.delete_inventory(conn, account_id=account_id, connection_id=found.id)
    return Disconnection(
        provider=profile.provider,
        connection=found.name if found else name,
        disconnected=ended is not None,
        inventory_kept=keeps_inventory,
        domains_affected=affected,
    )
