"""Send an email, withdraw it, and read its delivery state.

A message is claimed in one transaction, sent without one, and its outcome recorded in another. The row holds the
state and the job only triggers an attempt: `sweep` finds messages that are due again or whose job was lost.
Retries do not wait in the job queue, because thousands of them would slow it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from builders.kit.db import suspensions
from builders.kit.db.batches import by_account
from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.jobs import queue
from builders.kit.process import log, metrics
from builders.kit.process.redaction import redact
from builders.kit.process.secret_keys import Keyring, Unsealable
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.kit.values.ids import AccountSelection, selection_parameter
from builders.mail import addresses, links, optouts, renderer, store, transports
from builders.mail.events import MAIL_BOUNCED, MAIL_FORGOTTEN, MAIL_UNSUBSCRIBED, MailBounced, MailForgotten
from builders.mail.optouts import Subscription
from builders.mail.records import Message, Origin, Status
from builders.mail.sender import Sender, read_sender
from builders.mail.store import Claimed, Key
from builders.mail.templates import TEMPLATES, EmailTemplate
from builders.mail.transports import FolderTransport, Outcome, OutgoingMessage, SmtpTransport, Transport

DELIVER = "mail.deliver"  # the task
REQUEUE_AFTER = timedelta(minutes=10)  # without an attempt by the job
LEASE = timedelta(minutes=3)  # of an attempt; after it the worker is considered dead
RETRY_DELAYS = tuple(timedelta(minutes=each) for each in (1, 5, 15, 60, 240))  # the last one repeats
RETRY_FOR = timedelta(days=2)  # since the message was created
SWEEP_BATCH = 500
MAX_ERROR = 200  # characters
UNREADABLE = "The worker does not know this email template or its version."
UNRENDERED = "The email could not be rendered."
UNSENT = "The transport did not accept the email."
_PURPOSE = "mail"  # of the sealed content
ATTEMPTS = metrics.counter("builders_mail_attempts", "Attempts to send an email, by result.", ["result"])

_adapters: dict[str, TypeAdapter[Any]] = {each.name: TypeAdapter(each) for each in TEMPLATES}
_log = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mailer:
    """The sender, the open transport and the settings with which a worker sends messages."""

    sender: Sender
    transport: Transport
    base_url: str
    is_tracking: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """A claimed message whose content is unsealed."""

    key: Key
    claimed: Claimed
    to: str
    route: str
    template: EmailTemplate


@asynccontextmanager
async def open_mailer(settings: Settings) -> AsyncIterator[Mailer]:
    """Open the mailer of the settings. Raise ValueError, with the text for the operator."""
    sender = read_sender(settings)
    client = None
    if settings.smtp_url is not None:
        try:
            server = transports.parse_url(settings.smtp_url.get_secret_value())
        except ValueError as error:
            raise ValueError(f"BUILDERS_SMTP_URL: {error}") from None
        client = SmtpTransport(server, own_name=sender.domain)
    try:
        yield Mailer(
            sender=sender,
            transport=client or FolderTransport(settings.data_dir),
            base_url=settings.url,
            is_tracking=settings.mail_tracking,
        )
    finally:
        if client is not None:
            await client.close()


async def send(
    conn: Conn,
    *,
    keyring: Keyring,
    account_id: UUID,
    to: str,
    template: EmailTemplate,
    expires_at: datetime | None = None,
) -> UUID:
    """Enqueue an email, which is sent after the transaction of `conn` commits; return the message's id.

    It is not sent after `expires_at`, as when its code has expired. When the recipient is opted out of its topic,
    the message is `suppressed`.
    """
    key = Key(account_id, ids.new())
    is_out = template.topic is not None and await optouts.is_opted_out(
        conn, keyring=keyring, address=to, topic=template.topic
    )
    content = None
    if not is_out:
        fields = _adapters[template.name].dump_python(template, mode="json")
        text = json.dumps({"to": to, "template": fields}).encode()
        content = keyring.seal(_PURPOSE, text, context=key.account_id.bytes + key.id.bytes)
        await _enqueue(conn, key)
    await store.insert(
        conn,
        key=key,
        template=template.name,
        category=template.category,
        recipient=addresses.mask(to),
        content=content,
        status=Status.SUPPRESSED if is_out else Status.QUEUED,
        expires_at=expires_at,
        next_try_at=None if is_out else clock.now() + REQUEUE_AFTER,
    )
    return key.id


async def withdraw(conn: Conn, *, account_id: UUID, message_id: UUID) -> bool:
    """Suppress a message that is not sent yet, and delete its content; False when it was final."""
    return await store.finish(conn, key=Key(account_id, message_id), status=Status.SUPPRESSED)


async def forget(conn: Conn, *, account_id: UUID, address: str, message_ids: Collection[UUID]) -> None:
    """Delete the messages and published events with their address; publish mail.forgotten.

    Opt-outs of the address stay, sealed, because they prevent further email.
    """
    await store.delete_messages(conn, account_id=account_id, message_ids=message_ids)
    await outbox.delete_events(conn, MAIL_UNSUBSCRIBED, account_id=account_id, member="address", value=address)
    if message_ids:
        data = MailForgotten(message_ids=list(message_ids))
        await outbox.publish(conn, MAIL_FORGOTTEN, account_id=account_id, data=data)


async def delete_files(conn: Conn, *, account_ids: Sequence[UUID], data_dir: Path) -> int:
    """Delete the files of the development outbox with messages of these accounts; return their number."""
    by_id = {UUID(each.stem.split("-")[1]): each for each in await asyncio.to_thread(list_outbox, data_dir)}
    own = await store.list_own(conn, account_ids=account_ids, ids=by_id)
    for message_id in own:
        by_id[message_id].unlink(missing_ok=True)
    return len(own)


async def find_message(conn: Conn, *, account_id: UUID, message_id: UUID) -> Message | None:
    """Return a message of the account; kept for 90 days."""
    return await store.find(conn, key=Key(account_id, message_id))


async def list_messages(
    conn: Conn, *, account_id: AccountSelection, status: Status | None = None, limit: int = 50
) -> Sequence[Message]:
    """Return the newest messages of the account, or of all accounts for the operator."""
    return await store.list_newest(conn, account_id=selection_parameter(account_id), status=status, limit=limit)


def list_outbox(data_dir: Path) -> Sequence[Path]:
    """Return the `.eml` files of the development outbox, oldest first."""
    return FolderTransport(data_dir).list_files()


async def load_origins(conn: Conn, *, message_ids: Collection[UUID]) -> Mapping[UUID, Origin]:
    """Return the accounts and sending times of those messages that still exist. One statement."""
    return await store.load_origins(conn, message_ids=message_ids)


async def list_notices(conn: Conn, *, account_id: UUID, before: UUID, limit: int) -> Sequence[Message]:
    """Return the account's notices with ids below `before`, newest first; kept for 90 days."""
    return await store.list_notices(conn, account_id=account_id, before=before, limit=limit)


async def _enqueue(conn: Conn, key: Key) -> None:
    """Enqueue a job that attempts to deliver the message."""
    await queue.defer(
        conn, DELIVER, once=f"{DELIVER} {key.id}", account_id=str(key.account_id), message_id=str(key.id)
    )


async def sweep(conn: Conn) -> int:
    """Enqueue a batch of due messages; return their number."""
    now, due = clock.now(), list[Key]()
    for account_id, found in by_account(await store.list_due(conn, now=now, limit=SWEEP_BATCH)):
        due += await store.sweep(conn, account_id=account_id, ids=found, now=now, again=now + REQUEUE_AFTER)
    for key in due:
        await _enqueue(conn, key)
    return len(due)


async def deliver(database: Database, *, mailer: Mailer, keyring: Keyring, key: Key) -> None:
    """Make one attempt, unless the message is final, expired, opted out of, or claimed by another worker."""
    async with database.transaction() as conn:
        attempt = await _claim(conn, mailer, keyring=keyring, key=key)
    if attempt is None:
        return
    outcome = await _send(attempt, mailer, keyring)
    ATTEMPTS.labels(outcome.status).inc()
    async with database.transaction() as conn:
        await _record(conn, key, attempt.claimed, outcome)


async def _claim(conn: Conn, mailer: Mailer, *, keyring: Keyring, key: Key) -> _Attempt | None:
    """Claim the message; return None when it is claimed or not sent, which is then recorded."""
    now = clock.now()
    header_id = f"<{key.id}@{mailer.sender.domain}>"  # the same for every attempt
    claimed = await store.claim(conn, key=key, header_id=header_id, now=now, until=now + LEASE)
    if claimed is None:
        return None
    found = await _read(conn, keyring, key, claimed)
    if isinstance(found, Outcome):
        await _record(conn, key, claimed, found)
        return None
    return found


async def _read(conn: Conn, keyring: Keyring, key: Key, claimed: Claimed) -> _Attempt | Outcome:
    """Return the attempt, or why the message is not sent."""
    if claimed.expires_at is not None and claimed.expires_at <= clock.now():
        return Outcome(status=Status.EXPIRED, text="The email expired before it was sent.")
    context = key.account_id.bytes + key.id.bytes
    try:
        content = json.loads(keyring.unseal(_PURPOSE, claimed.content, context=context))
        template: EmailTemplate = _adapters[claimed.template].validate_python(content["template"])
        to: str = content["to"]
    except Unsealable:
        return Outcome(status=Status.BOUNCED, text="The secret key that sealed the email is missing.")
    except (KeyError, ValueError):  # a worker of a newer version may have the template
        _log.error("mail_unreadable", message_id=key.id, template=claimed.template)
        return Outcome(status=Status.DEFERRED, text=UNREADABLE, is_local_error=True)
    is_held = not template.to_suspended and await suspensions.find_reason(conn, key.account_id) is not None
    if is_held or (
        template.topic is not None
        and await optouts.is_opted_out(conn, keyring=keyring, address=to, topic=template.topic)
    ):
        return Outcome(status=Status.SUPPRESSED)
    route = addresses.find_route(to)
    if route is None:
        return Outcome(status=Status.BOUNCED, text="No mail server accepts this address.")
    return _Attempt(key=key, claimed=claimed, to=to, route=route, template=template)


async def _send(attempt: _Attempt, mailer: Mailer, keyring: Keyring) -> Outcome:
    """Send the message. Return an outcome also for an unexpected error, so that retries end."""
    try:
        # In a thread: a signature takes milliseconds, and other jobs of the worker would wait.
        message = await asyncio.to_thread(_render, attempt, mailer, keyring)
    except Exception:  # noqa: BLE001 - the next attempt would fail alike
        _log.exception("mail_render_failed", message_id=attempt.key.id, template=attempt.claimed.template)
        return Outcome(status=Status.BOUNCED, text=UNRENDERED)
    try:
        outcome = await mailer.transport.send(message)
    except Exception as error:  # noqa: BLE001 - transports return expected failures; a retry may succeed
        _log.exception("mail_transport_failed", message_id=attempt.key.id)
        return Outcome(status=Status.DEFERRED, text=f"{UNSENT} ({type(error).__name__})", is_local_error=True)
    text = addresses.one_line(outcome.text)
    for address in {attempt.to, attempt.route}:
        text = text.replace(address, addresses.mask(address))
    return replace(outcome, text=redact(text)[:MAX_ERROR])


def _render(attempt: _Attempt, mailer: Mailer, keyring: Keyring) -> OutgoingMessage:
    message_id, template = attempt.key.id, attempt.template
    unsubscribe = tracked = None
    if template.topic is not None:
        about = Subscription(account_id=attempt.key.account_id, topic=template.topic, address=attempt.to)
        unsubscribe = optouts.link(keyring, base_url=mailer.base_url, subscription=about)
        if mailer.is_tracking:
            tracked = links.mint_links(keyring, base_url=mailer.base_url, message_id=message_id)
    email = renderer.render(template, links=tracked, unsubscribe=unsubscribe)
    return OutgoingMessage(
        id=message_id,
        template=template.name,
        created_at=attempt.claimed.created_at,
        sender=mailer.sender.return_path(links.token(keyring, message_id)),
        recipient=attempt.route,
        content=renderer.pack(
            email, to=attempt.route, sender=mailer.sender, claimed=attempt.claimed, unsubscribe=unsubscribe
        ),
    )


async def _record(conn: Conn, key: Key, claimed: Claimed, outcome: Outcome) -> None:
    """Record the outcome: schedule the next attempt of a deferred message, unless that would be too late."""
    status, code, error, attempts = outcome.status, outcome.code, outcome.text or None, claimed.attempts
    if status is Status.DEFERRED:
        level = _log.error if outcome.is_local_error else _log.warning
        level("mail_deferred", message_id=key.id, attempts=attempts, code=code, error=error)
        delay = RETRY_DELAYS[min(attempts, len(RETRY_DELAYS)) - 1]
        # Varied by up to a tenth, to spread retries.
        next_try_at = clock.now() + delay * (1 + (key.id.int % 201 - 100) / 1000)
        if claimed.expires_at is not None and next_try_at >= claimed.expires_at:
            status = Status.EXPIRED
        elif next_try_at > claimed.created_at + RETRY_FOR:
            status, error = Status.BOUNCED, f"Failed after {attempts} attempts. {error or ''}".strip()
        else:
            await store.defer(conn, key=key, attempts=attempts, code=code, error=error, next_try_at=next_try_at)
            return
    if status is Status.SENT:
        # Even when a newer attempt is under way, the message is sent.
        await store.finish(conn, key=key, status=status, code=code, error=error, sent_at=clock.now())
        _log.info("mail_sent", message_id=key.id, template=claimed.template, attempts=attempts)
        return
    is_ended = await store.finish(conn, key=key, status=status, code=code, error=error, attempts=attempts)
    if is_ended and status is Status.BOUNCED:
        _log.warning("mail_bounced", message_id=key.id, template=claimed.template, code=code, error=error)
        data = MailBounced(message_id=key.id, template=claimed.template, code=code)
        await outbox.publish(conn, MAIL_BOUNCED, account_id=key.account_id, data=data)
