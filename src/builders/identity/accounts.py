"""Accounts: their email addresses, their sandbox accounts and their audit list."""

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from pydantic_core import to_json
from structlog.contextvars import get_contextvars

from builders.identity.errors import AccountNotFound, EmailTaken
from builders.identity.events import (
    ACCOUNT_CREATED,
    EMAIL_CHANGED,
    EMAIL_VERIFIED,
    AccountCreated,
    EmailChanged,
    EmailVerified,
)
from builders.identity.records import About, Account, AuditAction, AuditEntry
from builders.identity.store import accounts as store
from builders.kit.callers import Actor
from builders.kit.db import partitions, suspensions
from builders.kit.db.batches import HISTORY_RETENTION
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.http.callers import AccountSuspended
from builders.kit.http.pagination import JsonPage, PageRequest
from builders.kit.values import clock, ids
from builders.kit.values.texts import canonical_email
from builders.mail import addresses

MAX_CACHED = 10_000  # accounts
CHANGING_S = 15.0  # longer than a request can take to commit the end of a credential that it began
MAILBOX_OWNER = Actor(type="user")  # a person who proved with a code or a link to receive the mail of the address

partitions.declare("identity_audit", retention=HISTORY_RETENTION, setting="audit_days")
_real_ids: OrderedDict[UUID, UUID] = OrderedDict()  # by account id, the oldest entry first
_changing: dict[UUID, float] = {}  # by real account: until when no remembered caller counts (monotonic)


def forget_callers(*, account_id: UUID) -> None:
    """Use no remembered caller of a real account in this process until the transaction has committed.

    Whatever ends a credential, or takes a scope from it, calls this.
    """
    now = clock.monotonic()
    for each in [each for each, until in list(_changing.items()) if until <= now]:
        _changing.pop(each, None)
    _changing[account_id] = now + CHANGING_S


def remembers_callers(*, account_id: UUID) -> bool:
    """Return whether a remembered caller of a real account counts."""
    return clock.monotonic() >= _changing.get(account_id, 0.0)


async def create_account(conn: Conn, *, email: str, name: str | None = None, verified: bool) -> Account:
    """Create an account with its sandbox account; publish account.created. Raise EmailTaken."""
    now = clock.now()
    address = normalize_email(email)
    account = Account(
        id=ids.new(),
        sandbox_id=ids.new(),
        email=address,
        name=name or address.partition("@")[0],
        email_verified_at=now if verified else None,
        created_at=now,
    )
    if not await store.insert_account(conn, account=account):
        raise EmailTaken(f"An account has the address {address} already.")
    await outbox.publish(conn, ACCOUNT_CREATED, account_id=account.id, data=AccountCreated(verified=verified))
    return account


async def get_account(conn: Conn, *, account_id: UUID) -> Account:
    """Return a real account. Raise AccountNotFound."""
    account = await store.find_account(conn, account_id=account_id)
    if account is None:
        raise AccountNotFound
    return account


async def get_account_by_email(conn: Conn, *, email: str) -> Account:
    """Return the real account with this email address. Raise AccountNotFound."""
    account = await store.find_account_by_email(conn, email=normalize_email(email))
    if account is None:
        raise AccountNotFound(f"There is no account with the address {email}.")
    return account


async def ensure_account(conn: Conn, *, email: str) -> Account:
    """Return the account with this email address; create it, verified, when there is none."""
    with suppress(EmailTaken):  # by an earlier call or by a concurrent one
        await create_account(conn, email=email, verified=True)
    return await get_account_by_email(conn, email=email)


async def require_admitted(conn: Conn, *, account_id: UUID, tells: bool = True) -> None:
    """Raise AccountSuspended for an account that the operator has suspended; `tells` its holder the reason.

    Everybody is told that an account is being erased: nobody restores it.
    """
    if (reason := await suspensions.find_reason(conn, account_id)) is not None:
        raise AccountSuspended(reason if tells or reason == suspensions.ERASING else None)


async def begin_erasure(conn: Conn, *, account_id: UUID) -> None:
    """Let nothing find the account any more, except by its id where others refer to it."""
    forget_callers(account_id=account_id)
    await store.begin_erasure(conn, account_id=account_id, now=clock.now())


async def find_erasing(conn: Conn, *, account_id: UUID) -> Account | None:
    """Return an account whose erasure has begun and not ended."""
    return await store.find_erasing(conn, account_id=account_id)


async def find_erased_at(conn: Conn, *, account_id: UUID) -> datetime | None:
    """Return when the erasure of an account began."""
    return await store.find_erased_at(conn, account_id=account_id)


async def list_erasing(conn: Conn, *, limit: int) -> Sequence[UUID]:
    """Return accounts whose erasure has begun and not ended."""
    return [each.id for each in await store.list_erasing(conn, limit=limit)]


async def end_erasure(conn: Conn, *, account_id: UUID) -> None:
    """Replace the address and the name of an account whose other rows are deleted."""
    await store.end_erasure(conn, account_id=account_id)


async def list_accounts(conn: Conn, *, containing: str | None = None, limit: int) -> Sequence[Account]:
    """Return accounts whose address contains the text, newest first; for the operator."""
    return await store.list_accounts(conn, containing=containing and containing.lower(), limit=limit)


async def list_accounts_by_id(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, Account]:
    """Return the real accounts with these ids; omit unknown ones."""
    return await store.list_accounts_by_id(conn, account_ids=account_ids)


async def list_owners(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, Account]:
    """Return the real account of each, which may be a sandbox account; omit unknown ones."""
    real = await load_real_accounts(conn, account_ids=account_ids)
    found = await list_accounts_by_id(conn, account_ids={*real.values()})
    return {each: found[owner] for each, owner in real.items() if owner in found}


def normalize_email(email: str) -> str:
    """Return the address as accounts store it. An invalid one is returned in lower case: no account has it."""
    try:
        return canonical_email(email)
    except ValueError:
        return email.strip().lower()


async def verify_email(conn: Conn, *, account_id: UUID, email: str) -> bool:
    """Mark the real account's address as verified if it is still this one; return whether it is.

    The first time, publish email.verified and add an audit entry.
    """
    now, address = clock.now(), normalize_email(email)
    if await store.verify_email(conn, account_id=account_id, email=address, now=now):
        data = EmailVerified(email=address, verified_at=now)
        await outbox.publish(conn, EMAIL_VERIFIED, account_id=account_id, data=data)
        about = {"email": addresses.mask(address)}
        await record_audit(
            conn, account_id=account_id, actor=MAILBOX_OWNER, action=AuditAction.EMAIL_VERIFIED, about=about
        )
        return True
    account = await store.find_account(conn, account_id=account_id)
    return account is not None and account.email == address


async def change_email(conn: Conn, *, account_id: UUID, email: str) -> None:
    """Give the real account another email address, which its owner has confirmed.

    Identities that were linked by the former address are unlinked: whoever reads it is no longer the person.
    Publish email.changed and email.verified. Raise AccountNotFound, and EmailTaken by the unique key.
    """
    now, address = clock.now(), normalize_email(email)
    before = await store.find_account(conn, account_id=account_id)
    if before is None:
        raise AccountNotFound
    if not await store.change_email(conn, account_id=account_id, email=address, now=now):
        raise EmailTaken("An account has this address already.")
    if await store.delete_identities_by_email(conn, account_id=account_id):
        about = {"reason": "email_changed"}
        await record_audit(
            conn, account_id=account_id, actor=MAILBOX_OWNER, action=AuditAction.IDENTITY_UNLINKED, about=about
        )
    changed = EmailChanged(email=address, previous_email=before.email)
    await outbox.publish(conn, EMAIL_CHANGED, account_id=account_id, data=changed)
    verified = EmailVerified(email=address, verified_at=now)
    await outbox.publish(conn, EMAIL_VERIFIED, account_id=account_id, data=verified)


async def load_real_accounts(
    conn: Conn, *, account_ids: Collection[UUID], max_cached: int = MAX_CACHED
) -> Mapping[UUID, UUID]:
    """Return the real account of each: the owner of a sandbox account, or the account itself. Omit unknown ids.

    Every event that leaves the service needs it, and it never changes: it is cached.
    """
    real = {each: _real_ids[each] for each in account_ids if each in _real_ids}
    missing = set(account_ids) - real.keys()
    if missing:
        read = await store.list_real_accounts(conn, account_ids=missing)
        real.update(read)
        _real_ids.update(read)
        while len(_real_ids) > max_cached:
            _real_ids.popitem(last=False)
    return real


async def require_sandbox_account(conn: Conn, *, account_id: UUID) -> None:
    """Raise ValueError unless it is a sandbox account. Call it before deleting all rows of an account."""
    real = await load_real_accounts(conn, account_ids=[account_id])
    if real.get(account_id, account_id) == account_id:
        raise ValueError(f"{account_id} is not a sandbox account; its rows are not deleted")


async def record_audit(conn: Conn, *, account_id: UUID, actor: Actor, action: AuditAction, about: About) -> UUID:
    """Add an entry to the real account's audit list, in the transaction of the action; return its id.

    `about` is small and holds no secret: the account's owner can read it.
    """
    (entry_id,) = await record_audits(conn, account_id=account_id, actor=actor, action=action, abouts=[about])
    return entry_id


async def record_audits(
    conn: Conn, *, account_id: UUID, actor: Actor, action: AuditAction, abouts: Sequence[About]
) -> Sequence[UUID]:
    """Add an entry for each `about`, in one statement, as `record_audit` does; return their ids."""
    entry_ids = ids.new_many(len(abouts))
    await store.insert_entries(
        conn,
        account_id=account_id,
        entry_ids=entry_ids,
        action=action,
        actor_type=actor.type,
        actor_id=actor.id,
        actor_label=actor.label,
        request_id=get_contextvars().get("request_id"),
        abouts=[to_json(about).decode() for about in abouts],
        now=clock.now(),
    )
    return entry_ids


async def list_recent_audit(
    conn: Conn,
    *,
    since: datetime,
    account_id: UUID | None,
    actions: Sequence[AuditAction],
    actor: str | None,
    limit: int,
) -> Sequence[AuditEntry]:
    """Return the audit entries since a time, of one account or all, newest first; of these actions, or of any."""
    return await store.list_recent_entries(
        conn, since=since, account_id=account_id, actions=[*actions] or None, actor=actor, limit=limit
    )


async def list_audit(
    conn: Conn, *, account_id: UUID, page: PageRequest, action: AuditAction | None = None
) -> JsonPage:
    """Return a page of the real account's audit list, newest first; only entries of `action` when given."""
    row = {"account_id": account_id, "after": page.before_id, "limit": page.limit}
    items, last, more = (
        await store.list_entries(conn, **row)
        if action is None
        else await store.list_entries_of_action(conn, **row, action=action)
    )
    return JsonPage(items=items, next_cursor=page.seal([last]) if more else None)
