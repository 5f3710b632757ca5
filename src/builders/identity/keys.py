"""API keys: created, listed, rotated and revoked.

The secret of a key is `svc_live_<12 id>_<22 account><32 secret><6 checksum>`, all base 62. The id names the key to
people. The account tells which shard of the database has the row, and the digest finds it. The secret has 190
random bits, so a plain SHA-256 of the text is safe to store and to search for. The checksum (CRC-32, as in
GitHub's tokens) finds a typo without a query.

A key has limits: when it expires, and the networks that it works from, IPv4 or IPv6, in CIDR notation. A key with
limits cannot create a key with weaker ones: its holder could avoid the limits that way. An IPv4-mapped IPv6
address (`::ffff:192.0.2.1`, the form of dual-stack sockets) is the IPv4 address, in networks and for clients.
`::/0` is every IPv6 address, and no IPv4 address.
"""

import hashlib
import re
import secrets
import string
import zlib
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Protocol
from uuid import UUID

from builders.identity import accounts
from builders.identity.errors import KeyLimit, KeyLimited, KeyNotFound, KeyRevoked
from builders.identity.events import KEY_CREATED, KEY_REVOKED, KeyChanged
from builders.identity.mandates import Spender
from builders.identity.records import (
    MAX_ACTIVE_KEYS,
    MAX_NETWORKS,
    ApiKey,
    AuditAction,
    ConnectionSpec,
    KeyKind,
    KeyLimits,
    KeySecret,
    KeySpec,
    Network,
    NewApiKey,
    Preset,
)
from builders.identity.store import accounts as account_store, keys as store
from builders.kit.callers import Actor, require_person
from builders.kit.db import old_rows
from builders.kit.db.batches import HISTORY_RETENTION
from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid, RotationInProgress
from builders.kit.events import outbox
from builders.kit.events.payloads import values_of
from builders.kit.http.callers import LiveKeyRequired, invalid_credentials
from builders.kit.http.pagination import JsonPage, PageRequest
from builders.kit.jobs import queue
from builders.kit.mandates import Mandate
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.kit.values.resources import extended
from builders.mail import service as mail
from builders.mail.templates import ApiKeyCreated

MAIL_NEW_KEY = "identity.mail_new_key"  # the task
UNUSED_FOR = timedelta(days=90)  # after which a scope is shown with "remove"
# Kinds of other secrets, in place of that of a key: the text of a login-as grant; the tokens of connections.
GRANT, CODE, ACCESS, REFRESH = "grant", "code", "agent", "refresh"
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_SECRET = re.compile(
    r"(svc_(live|test|grant|code|agent|refresh)_[0-9A-Za-z]{12})_([0-9A-Za-z]{22})[0-9A-Za-z]{32}([0-9A-Za-z]{6})"
)
_SHOWN_LENGTH, _ACCOUNT_LENGTH, _RANDOM_LENGTH, _CHECKSUM_LENGTH = 12, 22, 32, 6
old_rows.declare(
    "identity_keys", key="account_id, id", age="least(revoked_at, expires_at)", after=HISTORY_RETENTION
)
# With an offset, a client can send a later time: PostgreSQL stores it, but Python cannot read it.
MAX_EXPIRES_AT = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
_IPV4_MAPPED = IPv6Network("::ffff:0:0/96")


class StopHook(Protocol):
    """Ends what the machines of an account wait for, before their keys are revoked."""

    async def __call__(self, conn: Conn, *, account_id: UUID) -> None:
        """End it, in the transaction that revokes the keys."""


stop_hooks: list[StopHook] = []  # a higher package adds its own


async def create_key(
    conn: Conn,
    *,
    account_id: UUID,
    label: str,
    key_kind: KeyKind,
    preset: Preset,
    minted_by: KeyKind,
    actor: Actor,
    expires_at: datetime | None = None,
    allowed_ips: Sequence[str] | None = None,
    mandate: Mandate | None = None,
    is_mailed: bool = True,
) -> NewApiKey:
    """Create a key of a real account, with its limits; publish api_key.created and email the account.

    A key that nobody sees is not mailed. The new key has at least the limits of the key that requests it, and not
    the scopes that were removed from that one. Raise
    Invalid for impossible limits,
    LiveKeyRequired when a test key requests a live one, KeyLimited, KeyLimit.
    """
    limits = parse_limits(expires_at=expires_at, allowed_ips=allowed_ips, now=clock.now())
    if minter := await _find_requesting_key(conn, account_id, actor):
        limits = inherit_limits(limits, minter=minter)
    spec = KeySpec(
        label=label,
        kind=key_kind,
        preset=preset,
        limits=limits,
        mandate=mandate,
        removed_scopes=minter.removed_scopes if minter else (),
    )
    return await _insert(conn, spec, account_id=account_id, minted_by=minted_by, actor=actor, is_mailed=is_mailed)


async def create_connection(conn: Conn, *, account_id: UUID, spec: ConnectionSpec, actor: Actor) -> ApiKey:
    """Create a connection of a real account: a key without a secret; publish api_key.created. Raise KeyLimit."""
    connection_id = ids.new()
    is_new = await store.insert_connection(
        conn, account_id=account_id, connection_id=connection_id, spec=spec, created_by=str(actor), now=clock.now()
    )
    if not is_new:
        raise KeyLimit(f"The account has {MAX_ACTIVE_KEYS} active API keys.")
    key = await get_key(conn, account_id=account_id, key_id=connection_id)
    await outbox.publish(conn, KEY_CREATED, account_id=account_id, data=_event_data(key))
    await _record_audit(conn, key, account_id, actor, AuditAction.API_KEY_MINTED)
    return key


def actor_of(key: ApiKey) -> Actor:
    """Return the actor that a key or a connection is."""
    if key.client_name is None:
        return Actor(type="key", id=key.id)
    return Actor(type="agent", id=key.id, label=key.client_name)


async def get_key(conn: Conn, *, account_id: UUID, key_id: UUID) -> ApiKey:
    """Return a key of the account, active or not. Raise KeyNotFound."""
    key = await store.find_key(conn, account_id=account_id, key_id=key_id)
    if key is None:
        raise KeyNotFound
    return key


async def find_spender(conn: Conn, *, account_id: UUID, actor: Actor) -> Spender | None:
    """Return the mandate of the key or connection that acts, as it is now; None if it has none.

    Raise CredentialsInvalid for one that was revoked or has expired.
    """
    key = await _find_requesting_key(conn, account_id, actor)
    if key is not None and not key.is_active(clock.now()):
        raise invalid_credentials("The key was revoked or has expired.", is_guess=False)
    if key is None or key.mandate is None or key.client is None:
        return None
    return Spender(account_id=account_id, client=key.client, mandate=key.mandate)


async def list_keys(conn: Conn, *, account_id: UUID, page: PageRequest) -> JsonPage:
    """Return a page of the account's keys, active or not, newest first."""
    since = clock.now() - UNUSED_FOR
    unused = {"unused_since": since, "held": store.HELD}
    items, last, more = await store.list_keys(
        conn, account_id=account_id, after=page.before_id, limit=page.limit, **unused
    )
    return JsonPage(items=items, next_cursor=page.seal([last]) if more else None)


async def is_active(conn: Conn, *, account_id: UUID, key_id: UUID) -> bool:
    """Return whether the account has this live key, and it works."""
    key = await store.find_key(conn, account_id=account_id, key_id=key_id)
    return key is not None and key.key_kind is KeyKind.LIVE and key.is_active(clock.now())


async def count_active(conn: Conn, *, account_id: UUID) -> int:
    """Return the number of keys that count towards MAX_ACTIVE_KEYS."""
    return await store.count_active(conn, account_id=account_id, now=clock.now())


async def revoke_key(
    conn: Conn, *, account_id: UUID, key_id: UUID, revoked_by: KeyKind, actor: Actor, reason: str | None = None
) -> ApiKey:
    """Revoke a key and publish api_key.revoked; leave a revoked key unchanged.

    The audit entry has the reason. Raise KeyNotFound, and LiveKeyRequired when a test key revokes a live one.
    """
    now, any_kind = clock.now(), revoked_by is KeyKind.LIVE
    before = await get_key(conn, account_id=account_id, key_id=key_id)
    accounts.forget_callers(account_id=account_id)
    revoked = await store.revoke_key(conn, account_id=account_id, key_id=before.id, any_kind=any_kind, now=now)
    if revoked is None:
        raise LiveKeyRequired("A test key can revoke only test keys.")
    if revoked.revoked_at == now:  # else an earlier or concurrent request revoked it, and published the event
        await outbox.publish(conn, KEY_REVOKED, account_id=account_id, data=_event_data(revoked))
        more = {} if reason is None else {"reason": reason}
        await _record_audit(conn, revoked, account_id, actor, AuditAction.API_KEY_REVOKED, **more)
    return revoked


async def revoke_all(conn: Conn, *, account_id: UUID, actor: Actor) -> Sequence[ApiKey]:
    """Stop all machines: revoke all active keys and connections of the account, test keys too; return them.

    Publish api_key.revoked for each. What the machines wait for ends first (`stop_hooks`).
    """
    for end in stop_hooks:
        await end(conn, account_id=account_id)
    accounts.forget_callers(account_id=account_id)
    revoked = await store.revoke_all(conn, account_id=account_id, now=clock.now())
    await outbox.publish_many(conn, KEY_REVOKED, ((account_id, _event_data(each)) for each in revoked))
    await accounts.record_audits(
        conn,
        account_id=account_id,
        actor=actor,
        action=AuditAction.API_KEY_REVOKED,
        abouts=[_about(each) for each in revoked],
    )
    return revoked


async def rotate_key(
    conn: Conn, *, account_id: UUID, key_id: UUID, overlap: timedelta, rotated_by: KeyKind, actor: Actor
) -> NewApiKey:
    """Create a key like an old one, with its limits and mandate; the old one works until the end of the overlap.

    Raise KeyNotFound, KeyRevoked for a key that is revoked or expired, RotationInProgress for one that was
    rotated, LiveKeyRequired, KeyLimit, and KeyLimited when the requesting key has stricter limits.
    """
    now = clock.now()
    before = await get_key(conn, account_id=account_id, key_id=key_id)
    if before.preset is None:
        raise KeyRevoked("A connection has no secret to rotate.", next_action="Connect the client again.")
    limits = limits_of(before)
    if rotator := await _find_requesting_key(conn, account_id, actor):
        require_within(limits, minter=rotator)
    # The old key first: without an overlap it no longer counts towards the maximum.
    accounts.forget_callers(account_id=account_id)
    old = await store.expire_key(conn, account_id=account_id, key_id=before.id, expires_at=now + overlap, now=now)
    if old is None:
        latest = await get_key(conn, account_id=account_id, key_id=before.id)
        if latest.is_active(now):
            raise RotationInProgress(
                f"The key was rotated before, and works until {latest.expires_at:%Y-%m-%dT%H:%M:%SZ}.",
                next_action="Use the new key: GET /v1/api-keys. If its secret is lost, rotate that key. "
                f"To end the previous key now, revoke it: DELETE /v1/api-keys/{before.id}.",
            )
        raise KeyRevoked("The key is revoked or expired and cannot be rotated.")
    spec = KeySpec(
        label=before.label,
        kind=before.key_kind,
        preset=before.preset,
        limits=limits,
        mandate=before.mandate,
        client=before.client,
        removed_scopes=[*before.removed_scopes, *(rotator.removed_scopes if rotator else ())],
    )
    new = await _insert(conn, spec, account_id=account_id, minted_by=rotated_by, actor=actor, replaces=before)
    await _record_audit(conn, before, account_id, actor, AuditAction.API_KEY_ROTATED, replaced_by=str(new.id))
    return new


async def enable_key(conn: Conn, *, account_id: UUID, key_id: UUID, actor: Actor) -> ApiKey:
    """Enable a key that a restore disabled, as a person, and return it. Raise PersonRequired, KeyNotFound."""
    require_person(actor, account_id=account_id)
    await enable_keys(conn, account_id=account_id, key_id=key_id, actor=actor)
    return await get_key(conn, account_id=account_id, key_id=key_id)


async def enable_keys(conn: Conn, *, account_id: UUID, key_id: UUID | None, actor: Actor) -> int:
    """Enable a key that a restore disabled, or all keys of the account; return their number."""
    accounts.forget_callers(account_id=account_id)
    enabled = await store.enable_keys(conn, account_id=account_id, key_id=key_id)
    abouts = [{"key_id": str(each), "label": label} for each, label in enabled]
    action = AuditAction.API_KEY_ENABLED
    await accounts.record_audits(conn, account_id=account_id, actor=actor, action=action, abouts=abouts)
    return len(enabled)


async def grant_mail(conn: Conn, *, account_id: UUID, key_ids: Collection[UUID]) -> None:
    """Give the scope mail:read to these keys of the account, and to no other one."""
    accounts.forget_callers(account_id=account_id)
    await store.grant_mail(conn, account_id=account_id, key_ids=key_ids)


async def send_notice(conn: Conn, *, keyring: Keyring, account_id: UUID, key_id: UUID, replaced_id: UUID) -> None:
    """Notify the account of its new API key by email, if its address is verified.

    `replaced_id` is the key that it replaces, NIL for none.
    """
    account = await account_store.find_account(conn, account_id=account_id)
    key = await store.find_key(conn, account_id=account_id, key_id=key_id)
    # A stranger may own a mailbox that was never verified.
    if account is None or key is None or key.preset is None or account.email_verified_at is None:
        return
    replaced = await store.find_key(conn, account_id=account_id, key_id=replaced_id)
    message = ApiKeyCreated(
        label=key.label,
        kind=key.key_kind.value,
        preset=key.preset.value,
        prefix=key.prefix,
        replaced=None if replaced is None else replaced.prefix,
        made_at=f"{key.created_at:%Y-%m-%d %H:%M} UTC",
    )
    await mail.send(conn, keyring=keyring, account_id=account_id, to=account.email, template=message)


def checksum(text: str) -> str:
    """Return the checksum that a secret ends with."""
    return _to_digits(zlib.crc32(text.encode()), _CHECKSUM_LENGTH)


def generate_secret(kind: str, account_id: UUID) -> KeySecret:
    """Return a random secret of a kind of keys of an account, or of another kind for it."""
    random = "".join(secrets.choice(ALPHABET) for _ in range(_SHOWN_LENGTH + _RANDOM_LENGTH))
    return _secret(kind, account_id, random)


def derive_secret(kind: str, account_id: UUID, seed: bytes) -> KeySecret:
    """Return the secret of a kind for an account that belongs to 32 secret bytes, always the same one."""
    return _secret(kind, account_id, _to_digits(int.from_bytes(seed), _SHOWN_LENGTH + _RANDOM_LENGTH))


def _secret(kind: str, account_id: UUID, digits: str) -> KeySecret:
    shown, secret = digits[:_SHOWN_LENGTH], digits[_SHOWN_LENGTH:]
    body = f"svc_{kind}_{shown}_{_to_digits(account_id.int, _ACCOUNT_LENGTH)}{secret}"
    parsed = parse_secret(body + checksum(body), of=(kind,))
    assert parsed is not None, "a generated secret is valid"  # noqa: S101 - our own invariant, not input
    return parsed


def parse_secret(text: str, *, of: Collection[str] = tuple(KeyKind)) -> KeySecret | None:
    """Return the parts of a secret of these kinds, or None when its format or its checksum is wrong."""
    match = _SECRET.fullmatch(text)
    if match is None or match[2] not in of or checksum(text[:-_CHECKSUM_LENGTH]) != match[4]:
        return None
    number = reduce(lambda high, digit: high * len(ALPHABET) + ALPHABET.index(digit), match[3], 0)
    if number >> 128:
        return None
    digest = hashlib.sha256(text.encode()).digest()
    return KeySecret(text=text, account_id=UUID(int=number), prefix=match[1], last4=text[-4:], digest=digest)


def _to_digits(number: int, length: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits.rjust(length, ALPHABET[0])


async def _insert(
    conn: Conn,
    spec: KeySpec,
    *,
    account_id: UUID,
    minted_by: KeyKind,
    actor: Actor,
    replaces: ApiKey | None = None,
    is_mailed: bool = True,
) -> NewApiKey:
    if spec.kind is KeyKind.LIVE and minted_by is KeyKind.TEST:
        raise LiveKeyRequired("A test key can mint only test keys.")
    secret = generate_secret(spec.kind, account_id)
    key = await store.insert_key(
        conn, account_id=account_id, spec=spec, secret=secret, created_by=str(actor), now=clock.now()
    )
    if key is None:
        raise KeyLimit(f"The account has {MAX_ACTIVE_KEYS} active API keys.")
    await outbox.publish(conn, KEY_CREATED, account_id=account_id, data=_event_data(key, replaces=replaces))
    if is_mailed:
        new_id, old_id = str(key.id), "" if replaces is None else str(replaces.id)
        await queue.defer(conn, MAIL_NEW_KEY, account_id=str(account_id), key_id=new_id, replaced_id=old_id)
    await _record_audit(conn, key, account_id, actor, AuditAction.API_KEY_MINTED)
    return extended(NewApiKey, key, secret=secret.text)


async def _find_requesting_key(conn: Conn, account_id: UUID, actor: Actor) -> ApiKey | None:
    if actor.type not in {"key", "agent"} or actor.id is None:
        return None
    return await get_key(conn, account_id=account_id, key_id=actor.id)


async def _record_audit(
    conn: Conn, key: ApiKey, account_id: UUID, actor: Actor, action: AuditAction, **more: str
) -> None:
    await accounts.record_audit(conn, account_id=account_id, actor=actor, action=action, about=_about(key) | more)


def _about(key: ApiKey) -> dict[str, str]:
    about = {"key_id": str(key.id), "label": key.label, "key_kind": str(key.key_kind)}
    about |= {"client": key.client_name or ""} if key.preset is None else {"preset": str(key.preset)}
    if key.allowed_ips is not None:
        about["allowed_ips"] = ", ".join(key.allowed_ips)
    if key.mandate is not None:
        about["mandate"] = ", ".join(key.mandate.toolsets) + (" (read-only)" if key.mandate.read_only else "")
    return about


def _event_data(key: ApiKey, *, replaces: ApiKey | None = None) -> KeyChanged:
    return KeyChanged(**values_of(key, KeyChanged), replaces=None if replaces is None else replaces.id)


def limits_of(key: ApiKey) -> KeyLimits:
    """Return the limits that the key was created with; the end of a rotation's overlap is not one of them."""
    return KeyLimits(expires_at=key.asked_expires_at, allowed_ips=key.allowed_ips)


def parse_limits(*, expires_at: datetime | None, allowed_ips: Sequence[str] | None, now: datetime) -> KeyLimits:
    """Return the requested limits, each network once and in its normal form. Raise Invalid."""
    if expires_at is not None and expires_at <= now:
        raise Invalid(("body", "expires_at"), "The expiry of a key must be in the future.", "expires_at_past")
    if expires_at is not None and expires_at > MAX_EXPIRES_AT:
        raise Invalid(
            ("body", "expires_at"), "The latest expiry of a key is in the year 9999 (UTC).", "expires_at_far"
        )
    if allowed_ips is None:
        return KeyLimits(expires_at=expires_at)
    if not 0 < len(allowed_ips) <= MAX_NETWORKS:
        raise Invalid(
            ("body", "allowed_ips"), f"A key has 1 to {MAX_NETWORKS} networks, or null for any.", "network_count"
        )
    networks: dict[str, None] = {}
    for index, text in enumerate(allowed_ips):
        try:
            networks[str(parse_network(text))] = None
        except ValueError as error:
            raise Invalid(("body", "allowed_ips", index), str(error), "network") from None
    return KeyLimits(expires_at=expires_at, allowed_ips=list(networks))


def inherit_limits(requested: KeyLimits, *, minter: ApiKey) -> KeyLimits:
    """Return the requested limits, with those of the minter where none is requested. Raise KeyLimited."""
    own = limits_of(minter)
    limits = KeyLimits(
        expires_at=requested.expires_at or own.expires_at,
        allowed_ips=own.allowed_ips if requested.allowed_ips is None else requested.allowed_ips,
    )
    require_within(limits, minter=minter)
    return limits


def require_within(limits: KeyLimits, *, minter: ApiKey) -> None:
    """Raise KeyLimited unless the limits are at least as strict as the minter's."""
    own, is_wider = limits_of(minter), False
    is_longer = own.expires_at is not None and (limits.expires_at is None or limits.expires_at > own.expires_at)
    if own.allowed_ips is not None:
        outer = [parse_network(each) for each in own.allowed_ips]
        is_wider = limits.allowed_ips is None or not all(
            any(inner.network_address in each and inner.broadcast_address in each for each in outer)
            for inner in map(parse_network, limits.allowed_ips)
        )
    if is_longer or is_wider:
        raise KeyLimited("A key with an expiry or allowed networks cannot create a key with weaker limits.")


def parse_network(text: str) -> Network:
    """Return the network of a CIDR or of a single address. Raise ValueError with a message for the client."""
    if "%" in text:
        raise ValueError("A network must not have a zone.")
    try:
        network = ip_network(text.strip(), strict=False)
    except ValueError:
        raise ValueError(
            "Not a network in CIDR notation; send one such as 192.0.2.0/24 or 2001:db8::/32."
        ) from None
    if "/" in text and ip_address(text.strip().partition("/")[0]) != network.network_address:
        raise ValueError(f"The address has bits beyond its prefix; did you mean {network}?")
    if isinstance(network, IPv6Network) and network.subnet_of(_IPV4_MAPPED):
        mapped = network.network_address.ipv4_mapped
        return IPv4Network((int(mapped or 0), network.prefixlen - 96))
    return network
