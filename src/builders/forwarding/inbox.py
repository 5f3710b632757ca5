"""The messages that a name received: for the credential that its rule names, and for the person of the account.

A person reads in a fresh session, and each message that a person opens is in the audit list.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from builders.aliases import claims
from builders.forwarding import receptions, store
from builders.forwarding.contents import Content
from builders.forwarding.errors import MessageNotFound, ReceptionNotFound
from builders.forwarding.records import (
    MailAttachment,
    MailMessage,
    MailMessageDetail,
    MailSummary,
    StoredSummary,
)
from builders.identity import accounts
from builders.identity.records import AuditAction
from builders.kit.callers import Actor, Caller, require_fresh_person
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.http.pagination import PageRequest
from builders.kit.pages import Page
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.kit.values.domain_names import find_a_label
from builders.kit.values.resources import extended
from builders.webhooks.feed import FeedWaiters

MAX_PAGE = 50  # messages: each is unsealed
_LONG_AGO = datetime.fromisoformat("1970-01-01T00:00:00Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who reads the mail to names of an account."""

    account_id: UUID
    realm: UUID
    key_id: UUID | None  # None: the person of the account
    actor: Actor

    @property
    def is_person(self) -> bool:
        """Return whether the person of the account reads."""
        return self.key_id is None


def reader_of(caller: Caller, *, realm: UUID) -> Reader:
    """Return the reader of a request. Raise PersonRequired and FreshSignInRequired for what is no key."""
    if caller.key_id is None:
        require_fresh_person(caller.actor, account_id=caller.live_account_id)
    return Reader(account_id=caller.account_id, realm=realm, key_id=caller.key_id, actor=caller.actor)


async def wait_for_messages(
    database: Database,
    *,
    waiters: FeedWaiters,
    keyring: Keyring,
    reader: Reader,
    alias_id: UUID,
    sender: str | None,
    since: datetime | None,
    wait_s: int,
    page: PageRequest,
) -> tuple[Page[MailMessage], datetime | None]:
    """Return the messages of a name from a domain, newest first, and the time from which they are listed, if any.

    If there are none, wait for one without a database connection: then only mail after the begin of the request
    counts, unless `since` is earlier. Raise AliasNotFound, ReceptionNotFound, Invalid, TooManyWaiters, FeedBusy.
    """
    since = since or (clock.now() if wait_s else None)
    digests = _digests(keyring, reader.account_id, sender)
    deadline = clock.monotonic() + wait_s
    while True:
        async with database.connection() as conn:
            # First, so that what arrives after the list ends the wait.
            arrivals = await _count_arrivals(conn, account_ids=[reader.account_id])
            found = await _list(conn, keyring, reader, alias_id, since=since, digests=digests, page=page)
        left_s, after = deadline - clock.monotonic(), arrivals.get(reader.account_id, 0)
        if found.items or left_s <= 0:
            break
        if not await waiters.wait(reader.account_id, after=after, timeout_s=left_s, heads=_count_arrivals):
            break
    return found, since


async def _count_arrivals(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, int]:
    return await store.list_arrivals(conn, account_ids=account_ids)


def _digests(keyring: Keyring, account_id: UUID, sender: str | None) -> Sequence[bytes] | None:
    if sender is None:
        return None
    domain = find_a_label(sender)
    if domain is None:
        raise Invalid(("query", "from"), "This is no domain; send one such as author.example.", "domain_invalid")
    return receptions.digests_of_domain(keyring, account_id=account_id, domain=domain)


async def _list(
    conn: Conn,
    keyring: Keyring,
    reader: Reader,
    alias_id: UUID,
    *,
    since: datetime | None,
    digests: Sequence[bytes] | None,
    page: PageRequest,
) -> Page[MailMessage]:
    await _require_rule(conn, reader, alias_id)
    page = replace(page, limit=min(page.limit, MAX_PAGE))
    found = await store.list_messages(
        conn,
        account_id=reader.account_id,
        alias_id=alias_id,
        since=since or _LONG_AGO,
        senders=digests or [],
        is_any=digests is None,
        before_id=page.before_id,
        now=clock.now(),
        limit=page.limit + 1,
    )
    rows = page.cut(found, lambda each: [str(each.id)])
    return Page(items=[_show(keyring, reader, each) for each in rows.items], next_cursor=rows.next_cursor)


async def _require_rule(conn: Conn, reader: Reader, alias_id: UUID) -> None:
    """Raise AliasNotFound and ReceptionNotFound unless a rule admits the reader to the mail to a name."""
    await claims.get_alias(conn, realm=reader.realm, account_id=reader.account_id, alias_id=alias_id)
    rule = await store.find_reception(conn, account_id=reader.account_id, alias_id=alias_id)
    if rule is None or (not reader.is_person and rule.key_id != reader.key_id):
        raise ReceptionNotFound


async def get_message(
    conn: Conn, *, keyring: Keyring, reader: Reader, alias_id: UUID, message_id: UUID
) -> MailMessageDetail:
    """Return a message with its text. Raise MessageNotFound, also for a credential that the rule does not name."""
    found = await get_stored(conn, reader=reader, alias_id=alias_id, message_id=message_id)
    part = await _get_part(conn, keyring, reader, alias_id, message_id, receptions.READABLE)
    readable = receptions.read_readable(part.content)
    message = _show(keyring, reader, found)
    return extended(
        MailMessageDetail,
        message,
        headers=readable.headers,
        text=readable.text,
        is_cut=readable.is_cut,
        files=[
            MailAttachment(
                name=each.name,
                media_type=each.media_type,
                size=each.size,
                path=f"{message.path}/attachments/{number}",
            )
            for number, each in enumerate(readable.attachments, start=1)
        ],
        answers=await store.list_answers(conn, account_id=reader.account_id, message_id=message_id),
    )


async def get_content(
    conn: Conn, *, keyring: Keyring, reader: Reader, alias_id: UUID, message_id: UUID, number: int
) -> Content:
    """Return the whole message (WHOLE) or an attachment (from 1), for whom the rule of the name admits.

    Raise MessageNotFound, also for another credential.
    """
    return await _get_part(conn, keyring, reader, alias_id, message_id, number)


async def _get_part(
    conn: Conn, keyring: Keyring, reader: Reader, alias_id: UUID, message_id: UUID, number: int
) -> Content:
    part = await store.find_part(
        conn,
        account_id=reader.account_id,
        alias_id=alias_id,
        key_id=reader.key_id,
        is_person=reader.is_person,
        message_id=message_id,
        number=number,
        now=clock.now(),
    )
    if part is None:
        raise MessageNotFound
    if reader.is_person:
        about = {"alias_id": str(alias_id), "message_id": str(message_id)}
        await accounts.record_audit(
            conn, account_id=reader.account_id, actor=reader.actor, action=AuditAction.MAIL_OPENED, about=about
        )
    return receptions.unseal_part(
        keyring, part, account_id=reader.account_id, message_id=message_id, number=number
    )


async def get_stored(conn: Conn, *, reader: Reader, alias_id: UUID, message_id: UUID) -> StoredSummary:
    """Return a message as it is stored. Raise MessageNotFound, also for another credential."""
    found = await store.find_message(
        conn,
        account_id=reader.account_id,
        alias_id=alias_id,
        key_id=reader.key_id,
        is_person=reader.is_person,
        message_id=message_id,
        now=clock.now(),
    )
    if found is None:
        raise MessageNotFound
    return found


def _show(keyring: Keyring, reader: Reader, found: StoredSummary) -> MailMessage:
    summary: MailSummary = receptions.read_summary(keyring, found, account_id=reader.account_id)
    return MailMessage(
        id=found.id,
        alias_id=found.alias_id,
        author=summary.author,
        subject=summary.subject,
        authentication=summary.authentication,
        extracted=summary.extracted,
        attachments=summary.attachments,
        unanswerable=summary.refusal,
        size=found.size,
        path=f"/v1/aliases/{found.alias_id}/mail/{found.id}",
        arrived_at=found.received_at,
        expires_at=found.expires_at,
    )
