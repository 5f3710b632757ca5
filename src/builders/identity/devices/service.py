"""Keys for a machine that a person connects: the device authorization grant (RFC 8628).

The machine shows a short code. The person types it in the console, in a session that was opened lately, sees which
machine claims to ask and from where, and chooses the keys. No address contains the code (RFC 8628, 3.3.1,
`verification_uri_complete`): a person who only follows a link would confirm the machine of whoever sent it.

The machine polls with a secret code of its own. Its first poll after the approval creates the keys. Their secrets
are not stored. A client that has lost the response repeats the poll soon: the keys are revoked and created anew.
"""

import re
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from uuid import UUID

from psycopg.types.json import Jsonb

from builders.identity import accounts, keys
from builders.identity.devices import store
from builders.identity.devices.errors import (
    AccessDenied,
    AuthorizationPending,
    DeviceCodeExpired,
    DeviceCodeInvalid,
    DeviceCodesUsedUp,
    DeviceRequestEnded,
    DeviceRequestNotFound,
    DeviceRequestsFull,
    SlowDown,
)
from builders.identity.devices.records import (
    MAX_HOST,
    DeviceCodes,
    DeviceRequest,
    Minting,
    OpenedRequest,
    Polled,
)
from builders.identity.errors import KeyLimit
from builders.identity.records import MAX_ACTIVE_KEYS, AuditAction, KeyKind, NewApiKey, Preset
from builders.identity.sessions import ALPHABET, CODE_LENGTH
from builders.kit.callers import Actor
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.mandates import MANDATE, Mandate
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.mail import service as mail
from builders.mail.templates import DeviceKeysCreated

LIFETIME = timedelta(minutes=10)  # of the codes
INTERVAL_S, STEP_S, MAX_INTERVAL_S = 5, 5, 60  # between two polls; each early poll makes it longer (RFC 8628, 3.5)
TOLERANCE_S = 1  # of the network: a client that waits for the interval is never early
COLLECT_FOR = timedelta(minutes=1)  # after an approval in the last moment
KEY_LIFETIME = timedelta(days=90)
REPEAT_FOR, MAX_MINTINGS = timedelta(minutes=2), 3  # of a lost response
MAX_WRONG_CODES = 5  # of one session
BUSY_S = 30
_DEVICE_CODE, _USER_CODE = "device code", "user code"  # purposes in the keyring
_UNNAMED = "an unnamed machine"


async def request_keys(
    conn: Conn,
    *,
    keyring: Keyring,
    host: str,
    address: str,
    presets: Sequence[Preset],
    asks_live: bool,
    asks_agent: bool,
) -> DeviceCodes:
    """Store the request of a machine; return its codes. Raise DeviceRequestsFull."""
    now = clock.now()
    device_code = secrets.token_urlsafe(32)
    code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
    await store.lock_requests(conn)
    is_new = await store.insert_request(
        conn,
        request_id=ids.new(),
        device_code_hash=keyring.hash_token(_DEVICE_CODE, device_code),
        user_code_hash=keyring.hash_token(_USER_CODE, code),
        host=clean_host(host),
        address=address,
        presets=list(dict.fromkeys(presets)),
        asks_live=asks_live,
        asks_agent=asks_agent,
        expires_at=now + LIFETIME,
        interval_s=INTERVAL_S,
        now=now,
    )
    if not is_new:
        raise DeviceRequestsFull(retry_after=BUSY_S)
    return DeviceCodes(device_code=device_code, user_code=f"{code[:4]}-{code[4:]}")


def clean_host(text: str, *, unnamed: str = _UNNAMED) -> str:
    """Return the name of a machine or program for a label: letters, digits and `.-_`, on one line."""
    composed = unicodedata.normalize("NFKC", text[: 4 * MAX_HOST])
    kept = "".join(char if char in ".-_" or unicodedata.category(char)[0] in "LN" else " " for char in composed)
    return " ".join(kept.split())[:MAX_HOST].strip() or unnamed


async def open_request(
    database: Database, *, keyring: Keyring, account_id: UUID, session_id: UUID, user_code: str
) -> OpenedRequest:
    """Return the request whose code a person typed, and bind it to their account.

    Raise Invalid for a wrong code, DeviceCodesUsedUp after MAX_WRONG_CODES of them. It takes the database: the
    transaction that counts a try commits even if the code is refused.
    """
    own = {"account_id": account_id, "session_id": session_id}
    async with database.transaction() as conn:
        tries = await store.count_try(conn, **own, most=MAX_WRONG_CODES)
    if tries is None:
        raise DeviceCodesUsedUp(f"{MAX_WRONG_CODES} wrong codes were typed in this session.")
    code = re.sub(r"[\s-]", "", user_code).upper()
    async with database.transaction() as conn:
        hashes = keyring.hashes(_USER_CODE, code)
        found = await store.find_by_code(conn, account_id=account_id, hashes=hashes, now=clock.now())
        if found is not None:
            await store.take_back_try(conn, **own)
            return await _opened(conn, found, account_id=account_id)
    left = MAX_WRONG_CODES - tries
    raise Invalid(
        ("body", "user_code"),
        f"The code is wrong, was used, or has expired. Tries left in this session: {left}.",
        "user_code",
    )


async def get_request(conn: Conn, *, account_id: UUID, request_id: UUID) -> OpenedRequest:
    """Return a request whose code a person of the account typed last. Raise DeviceRequestNotFound."""
    found = await store.find_request(conn, account_id=account_id, request_id=request_id)
    if found is None:
        raise DeviceRequestNotFound
    return await _opened(conn, found, account_id=account_id)


async def _opened(conn: Conn, request: DeviceRequest, *, account_id: UUID) -> OpenedRequest:
    active = await keys.count_active(conn, account_id=account_id)
    left = max(0, MAX_ACTIVE_KEYS - active)
    return OpenedRequest(**asdict(request), status=request.status_at(clock.now()), keys_left=left)


async def decide(
    conn: Conn,
    *,
    account_id: UUID,
    actor: Actor,
    request_id: UUID,
    approve: bool,
    test_presets: Sequence[Preset],
    live_preset: Preset | None,
    mandate: Mandate | None,
) -> OpenedRequest:
    """Record what the person of the account decided; audit it. A denial also ends an approval without keys yet.

    Raise DeviceRequestNotFound, DeviceRequestEnded, KeyLimit when the account cannot have that many keys, and
    Invalid for an approval without a key, or of an agent without a mandate.
    """
    before = await get_request(conn, account_id=account_id, request_id=request_id)
    presets = list(dict.fromkeys(test_presets)) if approve else []
    wanted = len(presets) + (approve and live_preset is not None)
    if approve:
        _check_wanted(before, wanted, mandate)
    if wanted > before.keys_left:
        raise KeyLimit(f"The account can have {before.keys_left} more API keys, of {MAX_ACTIVE_KEYS}.")
    now = clock.now()
    decided = await store.find_decided(
        conn,
        account_id=account_id,
        session_id=actor.id,
        request_id=request_id,
        is_approved=approve,
        test_presets=presets,
        live_preset=live_preset if approve else None,
        mandate=Jsonb(MANDATE.dump_python(mandate, mode="json")) if approve and mandate is not None else None,
        collect_until=now + COLLECT_FOR,
        now=now,
    )
    if decided is None:
        raise DeviceRequestEnded
    about = {"host": decided.host, "address": decided.address}
    if approve:
        about |= {"test_presets": ", ".join(presets), "live_preset": live_preset or ""}
    action = AuditAction.DEVICE_APPROVED if approve else AuditAction.DEVICE_DENIED
    await accounts.record_audit(conn, account_id=account_id, actor=actor, action=action, about=about)
    return await _opened(conn, decided, account_id=account_id)


def _check_wanted(request: OpenedRequest, wanted: int, mandate: Mandate | None) -> None:
    """Raise Invalid for an approval without a key, or of an agent without a mandate."""
    if not wanted:
        raise Invalid(("body", "test_presets"), "Choose at least one key.", "no_key")
    if request.asks_agent and mandate is None:
        raise Invalid(("body", "mandate"), "The keys of an agent need a mandate.", "no_mandate")


async def collect_keys(database: Database, *, keyring: Keyring, device_code: str) -> Sequence[NewApiKey]:
    """Create and return the keys of an approved request; notify the account by email.

    Raise AuthorizationPending, SlowDown, DeviceCodeExpired, AccessDenied, DeviceCodeInvalid, KeyLimit. It takes
    the database: the transaction that records a poll commits even if the poll is refused.
    """
    async with database.transaction() as conn:
        polled = await store.find_polled(
            conn,
            hashes=keyring.hashes(_DEVICE_CODE, device_code),
            tolerance_s=TOLERANCE_S,
            step_s=STEP_S,
            max_s=MAX_INTERVAL_S,
            now=clock.now(),
        )
    if polled is None:
        raise DeviceCodeInvalid(error="invalid_grant")
    _require_approved(polled)
    async with database.transaction() as conn:
        now = clock.now()
        minting = await store.find_minting(
            conn, request_id=polled.id, since=now - REPEAT_FOR, most=MAX_MINTINGS, now=now
        )
        if minting is None:
            raise DeviceCodeInvalid(error="invalid_grant")
        return await _mint(conn, minting, keyring=keyring)


def _require_approved(polled: Polled) -> None:
    if polled.is_approved is False:
        raise AccessDenied(error="access_denied")
    if polled.is_approved is None and polled.expires_at <= clock.now():
        raise DeviceCodeExpired(error="expired_token")
    if polled.is_early:
        raise SlowDown(error="slow_down", interval=polled.interval_s)
    if polled.is_approved is None:
        raise AuthorizationPending(error="authorization_pending", interval=polled.interval_s)


async def _mint(conn: Conn, minting: Minting, *, keyring: Keyring) -> Sequence[NewApiKey]:
    account_id, actor = minting.account_id, Actor(type="user", id=minting.session_id)
    for key_id in minting.key_ids:  # three at most
        before = await keys.get_key(conn, account_id=account_id, key_id=key_id)
        if before.revoked_at is not None:  # by a person who took back the approval
            raise DeviceCodeInvalid(error="invalid_grant")
        await keys.revoke_key(conn, account_id=account_id, key_id=key_id, revoked_by=KeyKind.LIVE, actor=actor)
    wanted = [(KeyKind.TEST, preset) for preset in minting.test_presets]
    if minting.live_preset is not None:
        wanted.append((KeyKind.LIVE, minting.live_preset))
    new = [
        await keys.create_key(
            conn,
            account_id=account_id,
            label=f"bld on {minting.host}",
            key_kind=kind,
            preset=preset,
            minted_by=KeyKind.LIVE,
            actor=actor,
            expires_at=clock.now() + KEY_LIFETIME,
            mandate=minting.mandate,
            is_mailed=False,  # one notice for all
        )
        for kind, preset in wanted
    ]
    await store.set_keys(conn, request_id=minting.id, account_id=account_id, key_ids=[each.id for each in new])
    if minting.mintings == 1:
        await _notify(conn, minting, new, keyring=keyring)
    return new


async def _notify(conn: Conn, minting: Minting, new: Sequence[NewApiKey], *, keyring: Keyring) -> None:
    account = await accounts.get_account(conn, account_id=minting.account_id)
    if account.email_verified_at is None:  # a stranger may own a mailbox that was never verified
        return
    message = DeviceKeysCreated(
        host=minting.host,
        address=minting.address or "an unknown address",
        keys=tuple(f"{each.key_kind.value}, {each.preset.value}" for each in new),
        made_at=f"{clock.now():%Y-%m-%d %H:%M} UTC",
        expires_on=(clock.now() + KEY_LIFETIME).date(),
    )
    await mail.send(conn, keyring=keyring, account_id=account.id, to=account.email, template=message)
