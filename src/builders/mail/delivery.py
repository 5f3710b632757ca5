"""The way of a message: claimed in one transaction, handed over with none open, its end noted in another.

The row is the truth, the job only a call to look at it: a message whose job is lost, or that is to be tried
again, is found by `sweep`. Retries are not parked in the job queue, which thousands of them would slow.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring, Unsealable
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import addresses, envelope, letters, links, optouts, sealed, senders, server, store
from builders.mail.carriers import Carrier, Outcome, Parcel
from builders.mail.events import MAIL_BOUNCED, MailBounced
from builders.mail.folder import Folder
from builders.mail.optouts import Subscription
from builders.mail.postman import Postman
from builders.mail.records import Letter, Status
from builders.mail.senders import Sender
from builders.mail.store import Claimed, Key, Reply

DELIVER = "mail.deliver"  # the task
AGAIN = timedelta(minutes=10)  # for a job to come up; after it another one is put into the queue
LEASE = timedelta(minutes=3)  # for an attempt; who has not ended it by then is dead
WAITS = tuple(timedelta(minutes=each) for each in (1, 5, 15, 60, 240))  # after each failure; the last one repeats
GIVE_UP = timedelta(days=2)  # since the message was written
SWEPT_AT_ONCE = 500
LONGEST_ERROR = 200  # characters
UNREADABLE = "It could not be read: it is of a version that this worker does not know."
UNWRITABLE = "It could not be written."
UNCARRIED = "It could not be handed over."

_log = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a worker keeps open to send mail."""

    sender: Sender
    carrier: Carrier
    base_url: str
    is_tracking: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """A message in hand."""

    key: Key
    claimed: Claimed
    to: str
    route: str
    letter: Letter


@asynccontextmanager
async def open_desk(settings: Settings) -> AsyncIterator[Desk]:
    """The desk by the settings. Raises ValueError, in words, when they will not do."""
    sender = senders.of(settings)
    postman = None
    if settings.smtp_url is not None:
        try:
            named = server.parse(settings.smtp_url.get_secret_value())
        except ValueError as error:
            raise ValueError(f"BUILDERS_SMTP_URL: {error}") from None
        postman = Postman(named, own_name=sender.domain)
    try:
        yield Desk(
            sender=sender,
            carrier=postman or Folder(settings.data_dir),
            base_url=settings.url,
            is_tracking=settings.mail_tracking,
        )
    finally:
        if postman is not None:
            await postman.close()


async def enqueue(conn: Conn, key: Key) -> None:
    """Has the message looked at soon."""
    await queue.defer(
        conn, DELIVER, once=f"{DELIVER} {key.id}", account_id=str(key.account_id), message_id=str(key.id)
    )


async def sweep(conn: Conn) -> int:
    """Puts messages whose time has come into the queue, some at a time; their number."""
    now = clock.now()
    due = await store.sweep(conn, now=now, again=now + AGAIN, limit=SWEPT_AT_ONCE)
    for key in due:
        await enqueue(conn, key)
    return len(due)


async def attempt(database: Database, desk: Desk, *, keyring: Keyring, key: Key) -> None:
    """One attempt, unless the message is final, expired, unwanted by now, or in other hands."""
    async with database.transaction() as conn:
        begun = await _begin(conn, desk, keyring=keyring, key=key)
    if begun is None:
        return
    outcome = await _carried(begun, desk, keyring)
    async with database.transaction() as conn:
        await _end(conn, begun, outcome)


async def _carried(begun: _Attempt, desk: Desk, keyring: Keyring) -> Outcome:
    """How it ended. What breaks off here is an end too: a message of which nothing is noted is tried for ever."""
    try:
        parcel = _parcel(begun, desk, keyring)
    except Exception:  # noqa: BLE001 - whatever is wrong with this message, it will be so the next time
        _log.exception("mail_not_written", message_id=begun.key.id, letter=begun.claimed.letter)
        return Outcome(status=Status.BOUNCED, text=UNWRITABLE)
    try:
        return await desk.carrier.carry(parcel)
    except Exception as error:  # noqa: BLE001 - carriers say what they expect; of the rest the next try may know
        _log.exception("mail_not_carried", message_id=begun.key.id)
        return Outcome(status=Status.DEFERRED, text=f"{UNCARRIED} ({type(error).__name__})", is_our_fault=True)


async def _begin(conn: Conn, desk: Desk, *, keyring: Keyring, key: Key) -> _Attempt | None:
    now = clock.now()
    named = envelope.header_id(key.id, desk.sender)
    claimed = await store.claim(conn, key=key, header_id=named, now=now, until=now + LEASE)
    if claimed is None:
        return None
    if claimed.expires_at is not None and claimed.expires_at <= now:
        await store.finish(
            conn, key=key, status=Status.EXPIRED, reply=Reply(error="It came too late to be of use.")
        )
        return None
    read = await _read(conn, keyring, key, claimed)
    if read is None:
        return None
    to, letter = read
    if letter.topic is not None and await optouts.is_out(conn, keyring, address=to, topic=letter.topic):
        await store.finish(conn, key=key, status=Status.SUPPRESSED, reply=Reply())
        return None
    route = addresses.find_route(to)
    if route is None:
        await _bounce(conn, key, claimed, Reply(error="No mail server takes such an address."))
        return None
    return _Attempt(key=key, claimed=claimed, to=to, route=route, letter=letter)


async def _read(conn: Conn, keyring: Keyring, key: Key, claimed: Claimed) -> tuple[str, Letter] | None:
    """To whom, and what; None when it cannot be read, which is noted."""
    try:
        return sealed.unseal(keyring, claimed.content, key=key, name=claimed.letter)
    except Unsealable:
        await _bounce(conn, key, claimed, Reply(error="The secret key that sealed it is gone."))
    except (KeyError, ValueError):  # a newer worker may know the letter
        _log.error("mail_unreadable", message_id=key.id, letter=claimed.letter)
        await _put_off(conn, key, claimed, Reply(error=UNREADABLE))
    return None


def _parcel(begun: _Attempt, desk: Desk, keyring: Keyring) -> Parcel:
    message_id, letter = begun.key.id, begun.letter
    unsubscribe = tracked = None
    if letter.topic is not None:
        about = Subscription(account_id=begun.key.account_id, topic=letter.topic, address=begun.to)
        unsubscribe = optouts.link(keyring, base_url=desk.base_url, subscription=about)
        if desk.is_tracking:
            tracked = links.mint_links(keyring, base_url=desk.base_url, message_id=message_id)
    written = letters.write(letter, links=tracked, unsubscribe=unsubscribe)
    return Parcel(
        id=message_id,
        letter=letter.name,
        created_at=begun.claimed.created_at,
        sender=desk.sender.return_path(links.token(keyring, message_id)),
        recipient=begun.route,
        content=envelope.pack(
            written, to=begun.route, sender=desk.sender, claimed=begun.claimed, unsubscribe=unsubscribe
        ),
    )


async def _end(conn: Conn, begun: _Attempt, outcome: Outcome) -> None:
    key, claimed = begun.key, begun.claimed
    reply = Reply(code=outcome.code, error=_clean(outcome.text, begun))
    if outcome.status is Status.SENT:
        # Whatever a newer attempt is doing: it has been sent.
        await store.finish(conn, key=key, status=Status.SENT, reply=reply, sent_at=clock.now())
        _log.info("mail_sent", message_id=key.id, letter=claimed.letter, attempts=claimed.attempts)
        return
    if outcome.status is Status.BOUNCED:
        await _bounce(conn, key, claimed, reply)
        return
    level = _log.error if outcome.is_our_fault else _log.warning
    level("mail_deferred", message_id=key.id, attempts=claimed.attempts, code=reply.code, error=reply.error)
    await _put_off(conn, key, claimed, reply)


async def _put_off(conn: Conn, key: Key, claimed: Claimed, reply: Reply) -> None:
    """Until the next attempt, unless it has no time for one."""
    next_try_at = clock.now() + wait(key.id, claimed.attempts)
    if claimed.expires_at is not None and next_try_at >= claimed.expires_at:
        await store.finish(conn, key=key, status=Status.EXPIRED, reply=reply, attempts=claimed.attempts)
    elif next_try_at > claimed.created_at + GIVE_UP:
        said = f"Gave up after {claimed.attempts} attempts. {reply.error or ''}".strip()
        await _bounce(conn, key, claimed, Reply(code=reply.code, error=said))
    else:
        await store.defer(conn, key=key, attempts=claimed.attempts, reply=reply, next_try_at=next_try_at)


async def _bounce(conn: Conn, key: Key, claimed: Claimed, reply: Reply) -> None:
    if not await store.finish(conn, key=key, status=Status.BOUNCED, reply=reply, attempts=claimed.attempts):
        return  # another worker was faster
    _log.warning("mail_bounced", message_id=key.id, letter=claimed.letter, code=reply.code, error=reply.error)
    data = MailBounced(message_id=key.id, letter=claimed.letter, code=reply.code)
    await outbox.publish(conn, MAIL_BOUNCED, account_id=key.account_id, data=data)


def wait(message_id: UUID, attempts: int) -> timedelta:
    """Until the next attempt, after so many; up to a tenth more or less, so that a crowd spreads out."""
    return WAITS[min(attempts, len(WAITS)) - 1] * (1 + (message_id.int % 201 - 100) / 1000)


def _clean(text: str, begun: _Attempt) -> str | None:
    """What a server said, on one line, without the reader's address."""
    line = addresses.one_line(text)
    for written in {begun.to, begun.route}:
        line = line.replace(written, addresses.mask(written))
    return log.redact(line)[:LONGEST_ERROR] or None
