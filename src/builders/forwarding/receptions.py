"""Mail as an event: the rule of a name, and the messages that it received.

The webhook of the rule gets an event without content. The content is sealed, in tables of its own, for 72 hours;
only the key of the rule reads it. A person sets the rule in a fresh session, so that no program gives itself mail.
"""

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID

from pydantic import TypeAdapter

from builders.aliases import claims
from builders.aliases.records import Alias
from builders.aliases.rules import normalize, squash
from builders.forwarding import store
from builders.forwarding.contents import MAX_BYTES, Arrival, Content
from builders.forwarding.errors import ReceptionNotFound, SignInAddress
from builders.forwarding.events import MAIL_RECEIVED, mail_received
from builders.forwarding.records import (
    MailAuthor,
    MailSummary,
    Part,
    ReadableContent,
    Reception,
    StoredMessage,
    StoredSummary,
)
from builders.identity import accounts, keys
from builders.identity.records import About, AuditAction
from builders.kit.callers import Actor
from builders.kit.db import account_tables
from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.limits import maximums
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.kit.values.domain_names import find_a_label
from builders.webhooks import deliveries, destinations

KEPT = timedelta(hours=72)
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
# A message has up to megabytes.
WHOLE = 0  # the number of the part that is the whole message
READABLE = -1  # and of the one that has its text
_SUMMARIZED = -2  # in the context of a summary
_PURPOSE, _SENDERS = "forwarding/messages", "forwarding/senders"
_SUMMARY, _READABLE = TypeAdapter(MailSummary), TypeAdapter(ReadableContent)


async def set_rule(
    conn: Conn,
    *,
    account_id: UUID,
    alias_id: UUID,
    webhook_id: UUID,
    key_id: UUID,
    may_reply: bool,
    actor: Actor,
) -> Reception:
    """Receive the mail to a name as events of one webhook, with content for one key.

    Raise AliasNotFound, SignInAddress, and Invalid for a webhook or a key that is unknown or does not work.
    """
    alias = await claims.get_alias(conn, account_id=account_id, alias_id=alias_id, lock=True)
    if await _signs_in(conn, account_id, alias):
        raise SignInAddress
    known = await destinations.list_all(conn, account_id=account_id)
    if not any(each.id == webhook_id and each.enabled for each in known):
        raise Invalid(("body", "webhook_id"), "The account has no such enabled webhook.", "webhook_not_found")
    if not await keys.is_active(conn, account_id=account_id, key_id=key_id):
        raise Invalid(("body", "key_id"), "The account has no such live key that works.", "key_not_found")
    await store.lock_receptions(conn, account_id=account_id)
    found = await store.set_reception(
        conn,
        account_id=account_id,
        alias_id=alias_id,
        webhook_id=webhook_id,
        key_id=key_id,
        may_reply=may_reply,
        now=clock.now(),
    )
    await claims.set_receiving(conn, account_id=account_id, alias_id=alias_id, receives=True)
    about: About = {
        "address": alias.address,
        "webhook_id": str(webhook_id),
        "key_id": str(key_id),
        "may_reply": may_reply,
    }
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


async def _record(conn: Conn, account_id: UUID, actor: Actor, action: AuditAction, about: About) -> None:
    """Record a change of a rule; the keys that rules name can read mail, and no others."""
    key_ids = await store.list_readers(conn, account_id=account_id)
    await keys.grant_mail(conn, account_id=account_id, key_ids=key_ids)
    await accounts.record_audit(conn, account_id=account_id, actor=actor, action=action, about=about)


async def receive(conn: Conn, *, keyring: Keyring, account_id: UUID, alias_id: UUID, arrival: Arrival) -> None:
    """Store a message that arrived for a name with a rule, and send its event, in one transaction.

    A message that is handed over again changes nothing. Mail to the address that signs in at the account is not
    received: it has codes to sign in.
    """
    rule = await store.find_reception(conn, account_id=account_id, alias_id=alias_id)
    if rule is None:
        return
    alias = await claims.get_alias(conn, account_id=account_id, alias_id=alias_id)
    if await _signs_in(conn, account_id, alias):
        return
    stored = await _add_message(conn, keyring, account_id, alias_id, arrival)
    if stored is None:
        return
    attached = arrival.attachments if stored.is_kept else []
    if stored.is_kept:
        readable = Content(name="", content=_READABLE.dump_json(arrival.readable))
        for number, part in enumerate([readable, arrival.whole, *attached], start=READABLE):
            await _store(conn, keyring, account_id, stored.id, number, part)
    data = mail_received(stored, attachments=len(attached))
    await deliveries.send_to(
        conn, account_id=account_id, destination_id=rule.webhook_id, event=MAIL_RECEIVED, data=data
    )
    await store.count_arrival(conn, account_id=account_id)  # last: it locks out other messages of the account


async def _add_message(
    conn: Conn, keyring: Keyring, account_id: UUID, alias_id: UUID, arrival: Arrival
) -> StoredMessage | None:
    """Return the message as it is stored, without its parts; None if it is there already."""
    now, message_id = clock.now(), ids.new()
    whole, results = arrival.whole.content, arrival.summary.authentication
    parts = [whole, _READABLE.dump_json(arrival.readable), *(each.content for each in arrival.attachments)]
    return await store.add_message(
        conn,
        account_id=account_id,
        id=message_id,
        alias_id=alias_id,
        digest=hashlib.sha256(whole).digest(),
        size=len(whole),
        stored_size=sum(map(len, parts)),
        spf=results.spf,
        dkim=results.dkim,
        dmarc=results.dmarc,
        senders=_digests(keyring, account_id, arrival.summary.author),
        summary=keyring.seal(
            _PURPOSE, _SUMMARY.dump_json(arrival.summary), context=_context(account_id, message_id, _SUMMARIZED)
        ),
        now=now,
        expires_at=now + KEPT,
        max_bytes=MAX_BYTES,
        max_stored=MAX_STORED,
        max_messages=MAX_MESSAGES,
    )


async def _signs_in(conn: Conn, account_id: UUID, alias: Alias) -> bool:
    """Return whether a name is the address that signs in at its account, in any spelling."""
    account = await accounts.get_account(conn, account_id=account_id)
    return is_spelling_of(account.email, alias)


def is_spelling_of(email: str, alias: Alias) -> bool:
    """Return whether mail to an address can reach a name: all separators are ignored, and a tag."""
    local_part, _, domain = email.rpartition("@")
    name = squash(normalize(local_part.partition("+")[0]))
    return find_a_label(domain) == alias.domain and name == squash(alias.local_part)


def digests_of_domain(keyring: Keyring, *, account_id: UUID, domain: str) -> Sequence[bytes]:
    """Return the digests of a domain (A-label), by which messages of it and of those below it are found."""
    return keyring.hashes(_SENDERS, f"{account_id} {domain}")


def _digests(keyring: Keyring, account_id: UUID, author: MailAuthor | None) -> Sequence[bytes]:
    """Return the digest of the domain of an author, and those of the domains above it."""
    labels = [] if author is None else author.email.rpartition("@")[2].lower().split(".")
    names = (".".join(labels[at:]) for at in range(len(labels) - 1))
    return [keyring.hash_token(_SENDERS, f"{account_id} {name}") for name in names]


def read_summary(keyring: Keyring, stored: StoredSummary, *, account_id: UUID) -> MailSummary:
    """Return what is known of a message. Raise Unsealable."""
    context = _context(account_id, stored.id, _SUMMARIZED)
    return _SUMMARY.validate_json(keyring.unseal(_PURPOSE, stored.summary, context=context))


def read_readable(content: bytes) -> ReadableContent:
    """Return the text of a message as it is stored."""
    return _READABLE.validate_json(content)


def unseal_part(keyring: Keyring, part: Part, *, account_id: UUID, message_id: UUID, number: int) -> Content:
    """Return a part of a message. Raise Unsealable."""
    context = _context(account_id, message_id, number)
    return Content(
        name=keyring.unseal(_PURPOSE, part.name, context=context).decode(),
        content=keyring.unseal(_PURPOSE, part.content, context=context),
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


def _context(account_id: UUID, message_id: UUID, number: int) -> bytes:
    return account_id.bytes + message_id.bytes + number.to_bytes(2, "big", signed=True)


account_tables.declare_sealed(
    "forwarding_messages",
    "summary",
    purpose=_PURPOSE,
    context=partial(_context, number=_SUMMARIZED),
    of=("account_id", "id"),
)
account_tables.declare_sealed(
    "forwarding_parts",
    "name",
    "content",
    purpose=_PURPOSE,
    context=_context,
    of=("account_id", "message_id", "number"),
)
