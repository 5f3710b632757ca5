"""Mail as an event: the rule of a name, and the messages that it received.

The webhook of the rule gets an event without content. The content is sealed, in tables of its own, for 72 hours;
only the key of the rule reads it. A person sets the rule in a fresh session, so that no program gives itself mail.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from email import message_from_bytes, policy
from email.errors import MessageError
from itertools import islice
from uuid import UUID

from builders.aliases import claims
from builders.forwarding import messages, store
from builders.forwarding.errors import MessageNotFound, ReceptionNotFound
from builders.forwarding.events import MAIL_RECEIVED, mail_received
from builders.forwarding.records import Part, Reception
from builders.identity import accounts, keys
from builders.identity.records import AuditAction
from builders.kit.callers import Actor
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.limits import maximums
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.webhooks import deliveries, destinations

KEPT = timedelta(hours=72)
MAX_BYTES = 25 * 1024 * 1024  # of a message
MAX_STORED = maximums.declare_delayed(
    "received_bytes",
    1_000_000_000,
    of="account",
    counts="Bytes of received messages; the event of a further one has no content.",
)
MAX_MESSAGES = maximums.declare_delayed(
    "received_messages",
    10_000,
    of="account",
    counts="Received messages in 72 hours; the event of a further one has no content.",
)
MAX_ATTACHMENTS = 100  # of a message; further ones are in the whole message only
PRUNE_BATCH = 100
WHOLE = 0  # the number of the part that is the whole message
_PURPOSE = "forwarding/messages"
_MAX_LINES = 500_000  # of a message with attachments; 25 MB in base64 have 350,000
_MAX_PARTS = 10_000  # lines that may begin one
_MAX_MULTIPARTS = 20
_MULTIPART = re.compile(rb"multipart/|message/", re.IGNORECASE)
_LONG_HEADER = re.compile(rb"(?im)^content-[a-z-]{1,40}:(?:[^\r\n]|\r\n[ \t]){2000}")
_MAX_NAME = 200  # characters of a file name
_PIECE, _OVERLAP = 1024 * 1024, 6_200  # bytes that one expression reads; at least what it matches


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A part of a message, as it is served."""

    name: str
    content: bytes


async def set_rule(
    conn: Conn, *, account_id: UUID, alias_id: UUID, webhook_id: UUID, key_id: UUID, actor: Actor
) -> Reception:
    """Receive the mail to a name as events of one webhook, with content for one key.

    Raise AliasNotFound, and Invalid for a webhook or a key that is unknown or does not work.
    """
    alias = await claims.get_alias(conn, account_id=account_id, alias_id=alias_id, lock=True)
    known = await destinations.list_all(conn, account_id=account_id)
    if not any(each.id == webhook_id and each.enabled for each in known):
        raise Invalid(("body", "webhook_id"), "The account has no such enabled webhook.", "webhook_not_found")
    if not await keys.is_active(conn, account_id=account_id, key_id=key_id):
        raise Invalid(("body", "key_id"), "The account has no such live key that works.", "key_not_found")
    await store.lock_receptions(conn, account_id=account_id)
    found = await store.set_reception(
        conn, account_id=account_id, alias_id=alias_id, webhook_id=webhook_id, key_id=key_id, now=clock.now()
    )
    await claims.set_receiving(conn, account_id=account_id, alias_id=alias_id, receives=True)
    about = {"address": alias.address, "webhook_id": str(webhook_id), "key_id": str(key_id)}
    await _record(conn, account_id, actor, AuditAction.RECEPTION_SET, about)
    return found


async def get_rule(conn: Conn, *, realm: UUID, account_id: UUID, alias_id: UUID) -> Reception:
    """Return the rule of a name. Raise AliasNotFound and ReceptionNotFound."""
    await claims.get_alias(conn, realm=realm, account_id=account_id, alias_id=alias_id)
    found = await store.find_reception(conn, account_id=account_id, alias_id=alias_id)
    if found is None:
        raise ReceptionNotFound
    return found


async def end_rule(conn: Conn, *, realm: UUID, account_id: UUID, alias_id: UUID, actor: Actor) -> None:
    """End the rule of a name, and delete what it received. Raise AliasNotFound and ReceptionNotFound."""
    await claims.get_alias(conn, realm=realm, account_id=account_id, alias_id=alias_id, lock=True)
    await store.lock_receptions(conn, account_id=account_id)
    if not await store.delete_reception(conn, account_id=account_id, alias_id=alias_id):
        raise ReceptionNotFound
    await claims.set_receiving(conn, account_id=account_id, alias_id=alias_id, receives=False)
    await _record(conn, account_id, actor, AuditAction.RECEPTION_ENDED, {"alias_id": str(alias_id)})


async def _record(
    conn: Conn, account_id: UUID, actor: Actor, action: AuditAction, about: Mapping[str, str]
) -> None:
    """Record a change of a rule; the keys that rules name can read mail, and no others."""
    key_ids = await store.list_readers(conn, account_id=account_id)
    await keys.grant_mail(conn, account_id=account_id, key_ids=key_ids)
    await accounts.record_audit(conn, account_id=account_id, actor=actor, action=action, about=about)


async def receive(
    conn: Conn,
    *,
    keyring: Keyring,
    account_id: UUID,
    alias_id: UUID,
    parts: Sequence[Content],
    results: messages.Results,
) -> None:
    """Store a message that arrived for a name with a rule, and send its event, in one transaction.

    Its parts are those of `split`. A message that is handed over again changes nothing.
    """
    rule = await store.find_reception(conn, account_id=account_id, alias_id=alias_id)
    if rule is None:
        return
    now, whole = clock.now(), parts[WHOLE].content
    stored = await store.add_message(
        conn,
        account_id=account_id,
        id=ids.new(),
        alias_id=alias_id,
        digest=hashlib.sha256(whole).digest(),
        size=len(whole),
        stored_size=sum(len(each.content) for each in parts),
        spf=results.spf,
        dkim=results.dkim,
        dmarc=results.dmarc,
        now=now,
        expires_at=now + KEPT,
        max_bytes=MAX_BYTES,
        max_stored=MAX_STORED,
        max_messages=MAX_MESSAGES,
    )
    if stored is None:
        return
    kept = parts if stored.is_kept else []
    for number, part in enumerate(kept):
        await _store(conn, keyring, account_id, stored.id, number, part)
    data = mail_received(stored, attachments=max(len(kept) - 1, 0))
    await deliveries.send_to(
        conn, account_id=account_id, destination_id=rule.webhook_id, event=MAIL_RECEIVED, data=data
    )


async def _store(
    conn: Conn, keyring: Keyring, account_id: UUID, message_id: UUID, number: int, part: Content
) -> None:
    context = _context(account_id, message_id, number)
    await store.add_part(
        conn,
        account_id=account_id,
        message_id=message_id,
        number=number,
        name=keyring.seal(_PURPOSE, part.name.encode(), context=context),
        content=keyring.seal(_PURPOSE, part.content, context=context),
    )


async def get_content(
    conn: Conn,
    *,
    keyring: Keyring,
    account_id: UUID,
    alias_id: UUID,
    key_id: UUID | None,
    message_id: UUID,
    number: int,
) -> Content:
    """Return the whole message (WHOLE) or an attachment (from 1), for the key of the rule of the name.

    Raise MessageNotFound, also for another key.
    """
    part: Part | None = await store.find_part(
        conn,
        account_id=account_id,
        alias_id=alias_id,
        key_id=key_id,
        message_id=message_id,
        number=number,
        now=clock.now(),
    )
    if part is None:
        raise MessageNotFound
    context = _context(account_id, message_id, number)
    return Content(
        name=keyring.unseal(_PURPOSE, part.name, context=context).decode(),
        content=keyring.unseal(_PURPOSE, part.content, context=context),
    )


async def prune(database: Database) -> None:
    """Delete messages whose time has passed."""
    deleted = PRUNE_BATCH
    while deleted >= PRUNE_BATCH:
        async with database.connection() as conn:
            deleted = await store.prune_messages(conn, now=clock.now(), limit=PRUNE_BATCH)


def split(content: bytes) -> Sequence[Content]:
    """Return the whole message and its attachments; only the first if its structure cannot be read, or not soon.

    A large message takes seconds. The time of the parser grows with the product of lines and nested parts, and
    with the square of the length of a header.
    """
    whole = Content(name="message.eml", content=content)
    is_slow = (
        len(content) > MAX_BYTES
        or content.count(b"\n") > _MAX_LINES
        or content.count(b"\n--") > _MAX_PARTS
        or _has_slow_parts(content)
    )
    if is_slow:
        return [whole]
    try:
        # Not the newer policy: it takes 50 ms for a header of 2,000 characters.
        attached = (
            each
            for each in message_from_bytes(content, policy=policy.compat32).walk()
            if not each.is_multipart() and each.get_content_disposition() == "attachment"
        )
        found = [
            Content(
                name=messages.readable(each.get_filename() or "", most=_MAX_NAME),
                content=bytes(each.get_payload(decode=True) or b""),
            )
            for each in islice(attached, MAX_ATTACHMENTS)
        ]
    except (MessageError, LookupError, ValueError, TypeError, AttributeError, RecursionError):
        # The parser of the standard library fails in these ways on hostile mail.
        return [whole]
    return [whole, *found]


def _has_slow_parts(content: bytes) -> bool:
    """Return whether there are many nested parts, or a long header; in pieces, so that other threads run."""
    nested = 0
    for at in range(0, len(content), _PIECE):
        end = at + _PIECE + _OVERLAP
        nested += sum(found.start() < at + _PIECE for found in _MULTIPART.finditer(content, at, end))
        if nested > _MAX_MULTIPARTS or _LONG_HEADER.search(content, at, end) is not None:
            return True
    return False


def _context(account_id: UUID, message_id: UUID, number: int) -> bytes:
    return account_id.bytes + message_id.bytes + number.to_bytes(2, "big")
