"""The door of identity."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from builders.identity import (
    accounts,
    key_limits,
    key_notices,
    keys,
)
from builders.identity.accounts import (
    create_account as create_account,
    list_accounts as list_accounts,
    list_accounts_by_id as list_accounts_by_id,
)
from builders.identity.addresses import (
    change_email as change_email,
    verify_email as verify_email,
)
from builders.identity.audit import (
    list_audit as list_audit,
    record_audit as record_audit,
)
from builders.identity.authenticator import (
    Authenticator as Authenticator,
)
from builders.identity.bearers import Bearers
from builders.identity.errors import (
    AccountNotFound as AccountNotFound,
    EmailTaken as EmailTaken,
    KeyLimit,
    KeyNotFound,
    KeyRevoked,
)
from builders.identity.events import KEY_CREATED, KEY_REVOKED, KeyChanged
from builders.identity.grants import (
    create_grant as create_grant,
    list_grants as list_grants,
    redeem_grant as redeem_grant,
    revoke_grant as revoke_grant,
)
from builders.identity.identities import (
    link_identity as link_identity,
    list_identities as list_identities,
    unlink_identity as unlink_identity,
)
from builders.identity.key_limits import KeyLimits
from builders.identity.records import (
    MAX_ACTIVE_KEYS,
    Account,
    ApiKey,
    AuditAction,
    KeyKind,
    NewApiKey,
    Preset,
)
from builders.identity.scopes import (
    list_scopes as list_scopes,
)
from builders.identity.sessions import (
    caller_of as caller_of,
    end_session as end_session,
    get_standing as get_standing,
    list_sessions as list_sessions,
    log_out as log_out,
    open_session as open_session,
    prune_sessions as prune_sessions,
)
from builders.identity.signing_in import (
    CODE_LIFE as CODE_LIFE,
    get_link_address as get_link_address,
    prune_requests as prune_requests,
    request_code as request_code,
    sign_in as sign_in,
)
from builders.identity.store import accounts as account_store, keys as key_store
from builders.identity.tokens import (
    list_public_keys as list_public_keys,
)
from builders.identity.twins import (
    real_accounts as real_accounts,
    require_twin as require_twin,
)
from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.http.callers import Actor, LiveKeyRequired
from builders.kit.http.pagination import JsonPage, PageRequest
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids

# What callers of the door may have to meet.


def make_bearers(database: Database, *, keyring: Keyring, settings: Settings, outbound: Outbound) -> Bearers:
    """Who judges tokens, for one process."""
    return Bearers(database, keyring=keyring, settings=settings, outbound=outbound)


def make_authenticator(database: Database, *, cache_s: float, bearers: Bearers | None = None) -> Authenticator:
    """The authenticator of one process; without bearers it judges API keys alone."""
    return Authenticator(database, cache_s=cache_s, bearers=bearers)


async def get_account(conn: Conn, *, account_id: UUID) -> Account:
    """A real account. Raises AccountNotFound."""
    account = await account_store.find_account(conn, account_id=account_id)
    if account is None:
        raise AccountNotFound
    return account


async def get_account_by_email(conn: Conn, *, email: str) -> Account:
    """The real account with this address. Raises AccountNotFound."""
    account = await account_store.find_account(conn, email=accounts.kept_form(email))
    if account is None:
        raise AccountNotFound(f"There is no account with the address {email}.")
    return account


async def ensure_account(conn: Conn, *, email: str, verified: bool) -> Account:
    """The account with this address, made when there is none."""
    with suppress(EmailTaken):  # by an earlier call, or by another process right now
        await accounts.create_account(conn, email=email, verified=verified)
    return await get_account_by_email(conn, email=email)


async def create_key(
    conn: Conn,
    *,
    account_id: UUID,
    label: str,
    kind: KeyKind,
    preset: Preset,
    minted_by: KeyKind,
    actor: Actor,
    minter_id: UUID | None = None,
    expires_at: datetime | None = None,
    allowed_ips: Sequence[str] | None = None,
) -> NewApiKey:
    """Mint a key of a real account, with its limits; publishes api_key.created and mails the account.

    The limits of the minter's own key, `minter_id`, hold for it too. Raises Invalid for limits that cannot be,
    LiveKeyRequired when a test key asks for a live one, KeyLimited, KeyLimit.
    """
    asked = key_limits.read(expires_at=expires_at, allowed_ips=allowed_ips, now=clock.now())
    if minter_id is not None:
        asked = key_limits.inherit(asked, minter=await get_key(conn, account_id=account_id, key_id=minter_id))
    shape = Shape(label=label, kind=kind, preset=preset, limits=asked)
    return await _mint(conn, shape, account_id=account_id, minted_by=minted_by, actor=actor, replaces=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a new key is to be like."""

    label: str
    kind: KeyKind
    preset: Preset
    limits: KeyLimits


async def _mint(
    conn: Conn, shape: Shape, *, account_id: UUID, minted_by: KeyKind, actor: Actor, replaces: UUID | None
) -> NewApiKey:
    if shape.kind is KeyKind.LIVE and minted_by is KeyKind.TEST:
        raise LiveKeyRequired("A test key mints only test keys.", next_action="Ask with a live key.")
    text = keys.mint(shape.kind)
    key = await key_store.insert_key(
        conn,
        account_id=account_id,
        key_id=ids.new(),
        text=text,
        label=shape.label,
        kind=shape.kind,
        preset=shape.preset,
        created_by=str(actor),
        expires_at=shape.limits.expires_at,
        allowed_ips=shape.limits.allowed_ips,
        most=MAX_ACTIVE_KEYS,
        now=clock.now(),
    )
    if key is None:
        raise KeyLimit(
            f"The account has {MAX_ACTIVE_KEYS} active API keys.",
            next_action="Revoke a key that is not used (GET /v1/api-keys), or rotate one with overlap_hours 0.",
        )
    await outbox.publish(conn, KEY_CREATED, account_id=account_id, data=_news(key, replaces=replaces))
    await key_notices.enqueue(conn, account_id=account_id, key_id=key.id, replaced_id=replaces)
    await _audit_key(conn, key, account_id, actor, AuditAction.API_KEY_MINTED)
    return NewApiKey(key=key, secret=text.text)


async def get_key(conn: Conn, *, account_id: UUID, key_id: UUID) -> ApiKey:
    """One key of the account, also a revoked one. Raises KeyNotFound."""
    return _there(await key_store.find_key(conn, account_id=account_id, key_id=key_id))


async def list_keys(conn: Conn, *, account_id: UUID, page: PageRequest) -> JsonPage:
    """The account's keys, newest first, revoked ones too."""
    items, last, more = await key_store.list_keys(
        conn, account_id=account_id, after=page.before_id, limit=page.limit
    )
    return page.json(items, [last] if more else None)


async def revoke_key(conn: Conn, *, account_id: UUID, key_id: UUID, revoked_by: KeyKind, actor: Actor) -> ApiKey:
    """Ends a key for good, at once; a second time changes nothing. Publishes api_key.revoked.

    Raises KeyNotFound, LiveKeyRequired when a test key would revoke a live one.
    """
    now, any_kind = clock.now(), revoked_by is KeyKind.LIVE
    before = await get_key(conn, account_id=account_id, key_id=key_id)
    key = await key_store.revoke_key(conn, account_id=account_id, key_id=before.id, any_kind=any_kind, now=now)
    if key is None:
        raise LiveKeyRequired("A test key revokes only test keys.", next_action="Ask with a live key.")
    shown = _there(key)
    if shown.revoked_at == now:  # and not earlier: of two that revoke at once, the second tells nothing
        await outbox.publish(conn, KEY_REVOKED, account_id=account_id, data=_news(shown))
        await _audit_key(conn, shown, account_id, actor, AuditAction.API_KEY_REVOKED)
    return shown


async def rotate_key(
    conn: Conn,
    *,
    account_id: UUID,
    key_id: UUID,
    overlap: timedelta,
    rotated_by: KeyKind,
    actor: Actor,
    rotator_id: UUID | None = None,
) -> NewApiKey:
    """Mint a key like an old one, with its limits; the old one goes on for the overlap.

    Raises KeyNotFound, KeyRevoked when the old one is over, LiveKeyRequired, KeyLimited when the key that asks,
    `rotator_id`, is more limited, KeyLimit.
    """
    now = clock.now()
    before = await get_key(conn, account_id=account_id, key_id=key_id)
    limits = key_limits.limits_of(before)
    if rotator_id is not None:
        rotator = await get_key(conn, account_id=account_id, key_id=rotator_id)
        key_limits.require_within(limits, minter=rotator)
    # The old one first: with no overlap it makes room for the new one.
    old = await key_store.expire_key(
        conn, account_id=account_id, key_id=before.id, expires_at=now + overlap, now=now
    )
    if old is None:
        raise KeyRevoked("This key is over; there is nothing to rotate.", next_action="Mint a new key.")
    shape = Shape(label=before.label, kind=before.key_kind, preset=before.preset, limits=limits)
    new = await _mint(conn, shape, account_id=account_id, minted_by=rotated_by, actor=actor, replaces=before.id)
    await _audit_key(conn, before, account_id, actor, AuditAction.API_KEY_ROTATED, replaced_by=str(new.key.id))
    return new


def _there(key: ApiKey | None) -> ApiKey:
    if key is None:
        raise KeyNotFound
    return key


async def _audit_key(
    conn: Conn, key: ApiKey, account_id: UUID, actor: Actor, action: AuditAction, **more: str
) -> None:
    about = {"key_id": str(key.id), "label": key.label, "key_kind": key.key_kind, "preset": key.preset, **more}
    if key.allowed_ips is not None:
        about["allowed_ips"] = ", ".join(key.allowed_ips)
    await record_audit(conn, account_id=account_id, actor=actor, action=action, about=about)


def _news(key: ApiKey, *, replaces: UUID | None = None) -> KeyChanged:
    return KeyChanged(
        id=key.id,
        label=key.label,
        key_kind=key.key_kind,
        preset=key.preset,
        prefix=key.prefix,
        expires_at=key.expires_at,
        allowed_ips=None if key.allowed_ips is None else list(key.allowed_ips),
        replaces=replaces,
    )
