"""The door of identity."""

from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

from builders.identity import authenticator as authenticators
from builders.identity import keys, scopes
from builders.identity.errors import AccountNotFound, EmailTaken, KeyNotFound, KeyRevoked
from builders.identity.events import KEY_CREATED, KEY_REVOKED, KeyChanged
from builders.identity.records import Account, ApiKey, KeyKind, NewApiKey, Preset
from builders.identity.store import accounts as account_store
from builders.identity.store import keys as key_store
from builders.kit import clock, ids, outbox
from builders.kit.callers import Actor, LiveKeyRequired
from builders.kit.db import Conn, Database
from builders.kit.pages import JsonPage, PageRequest

Authenticator = authenticators.Authenticator
LAST_ID = UUID(int=2**128 - 1)
list_scopes = scopes.list_scopes


def make_authenticator(database: Database, *, cache_s: float) -> Authenticator:
    """The authenticator of one process."""
    return Authenticator(database, cache_s=cache_s)


async def create_account(conn: Conn, *, email: str, name: str | None = None, verified: bool) -> Account:
    """An account with its sandbox twin. Raises EmailTaken."""
    now = clock.now()
    address = email.strip().lower()
    account = Account(
        id=ids.new(),
        sandbox_id=ids.new(),
        email=address,
        name=name or address.partition("@")[0],
        email_verified_at=now if verified else None,
        created_at=now,
    )
    made = await account_store.insert_account(
        conn,
        account_id=account.id,
        sandbox_id=account.sandbox_id,
        email=account.email,
        name=account.name,
        verified_at=account.email_verified_at,
        now=now,
    )
    if not made:
        raise EmailTaken(f"An account has the address {address} already.")
    return account


async def get_account(conn: Conn, *, account_id: UUID) -> Account:
    """A real account. Raises AccountNotFound."""
    account = await account_store.find_account(conn, account_id=account_id)
    if account is None:
        raise AccountNotFound("There is no such account.")
    return account


async def get_account_by_email(conn: Conn, *, email: str) -> Account:
    """The real account with this address. Raises AccountNotFound."""
    account = await account_store.find_account(conn, email=email.strip().lower())
    if account is None:
        raise AccountNotFound(f"There is no account with the address {email}.")
    return account


async def ensure_account(conn: Conn, *, email: str, verified: bool) -> Account:
    """The account with this address, made when there is none."""
    with suppress(EmailTaken):  # by an earlier call, or by another process right now
        await create_account(conn, email=email, verified=verified)
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
    expires_at: datetime | None = None,
) -> NewApiKey:
    """A new key of a real account, with the secret; publishes api_key.created.

    Raises LiveKeyRequired when a test key asks for a live one.
    """
    if kind is KeyKind.LIVE and minted_by is KeyKind.TEST:
        raise LiveKeyRequired("A test key mints only test keys.", next_action="Ask with a live key.")
    text = keys.mint(kind)
    key = await key_store.insert_key(
        conn,
        account_id=account_id,
        key_id=ids.new(),
        text=text,
        label=label,
        kind=kind,
        preset=preset,
        created_by=str(actor),
        expires_at=expires_at,
        now=clock.now(),
    )
    shown = _shown(key)
    await outbox.publish(conn, KEY_CREATED, account_id=account_id, data=_news(shown))
    return NewApiKey(key=shown, secret=text.text)


async def get_key(conn: Conn, *, account_id: UUID, key_id: UUID | None) -> ApiKey:
    """One key of the account, also a revoked one. Raises KeyNotFound."""
    return _shown(await key_store.find_key(conn, account_id=account_id, key_id=key_id) if key_id else None)


async def list_keys(conn: Conn, *, account_id: UUID, page: PageRequest) -> JsonPage:
    """The account's keys, newest first, revoked ones too."""
    after = UUID(str(page.after[0])) if page.after else LAST_ID
    items, last, more = await key_store.list_keys(conn, account_id=account_id, after=after, limit=page.limit)
    return page.json(items, [last] if more else None)


async def revoke_key(conn: Conn, *, account_id: UUID, key_id: UUID | None, revoked_by: KeyKind) -> ApiKey:
    """Ends a key for good, at once; a second time changes nothing. Publishes api_key.revoked.

    Raises KeyNotFound, LiveKeyRequired when a test key would revoke a live one.
    """
    now, any_kind = clock.now(), revoked_by is KeyKind.LIVE
    before = await get_key(conn, account_id=account_id, key_id=key_id)
    key = await key_store.revoke_key(conn, account_id=account_id, key_id=before.id, any_kind=any_kind, now=now)
    if key is None:
        raise LiveKeyRequired("A test key revokes only test keys.", next_action="Ask with a live key.")
    shown = _shown(key)
    if shown.revoked_at == now:  # and not earlier: of two that revoke at once, the second tells nothing
        await outbox.publish(conn, KEY_REVOKED, account_id=account_id, data=_news(shown))
    return shown


async def rotate_key(
    conn: Conn,
    *,
    account_id: UUID,
    key_id: UUID | None,
    overlap: timedelta,
    rotated_by: KeyKind,
    actor: Actor,
) -> NewApiKey:
    """A new key like an old one, which goes on for the overlap.

    Raises KeyNotFound, KeyRevoked when the old one is over, LiveKeyRequired.
    """
    now = clock.now()
    before = await get_key(conn, account_id=account_id, key_id=key_id)
    new = await create_key(
        conn,
        account_id=account_id,
        label=before.label,
        kind=before.key_kind,
        preset=before.preset,
        minted_by=rotated_by,
        actor=actor,
    )
    old = await key_store.expire_key(
        conn, account_id=account_id, key_id=before.id, expires_at=now + overlap, now=now
    )
    if old is None:
        raise KeyRevoked("This key is over; there is nothing to rotate.", next_action="Mint a new key.")
    return new


def _shown(key: ApiKey | None) -> ApiKey:
    if key is None:
        raise KeyNotFound("There is no such API key.")
    preset = Preset(key.preset)
    return ApiKey(
        id=key.id,
        label=key.label,
        key_kind=KeyKind(key.key_kind),
        preset=preset,
        prefix=key.prefix,
        last4=key.last4,
        created_at=key.created_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
        last_used_at=key.last_used_at,
        scopes=scopes.of_preset(preset),
    )


def _news(key: ApiKey) -> KeyChanged:
    return KeyChanged(id=key.id, label=key.label, key_kind=key.key_kind, preset=key.preset, prefix=key.prefix)
