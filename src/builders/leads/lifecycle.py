"""The lifecycle of leads: request, confirmation by an emailed link, lists, opt-out, bounce, expiry and erasure.

A client must not learn whether an address is known. So a request inserts a row and enqueues a job, without a
look-up; the job reads the state of the address.
"""

import secrets
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from pydantic import BaseModel

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import TokenInvalid
from builders.kit.events import outbox
from builders.kit.events.outbox import declare
from builders.kit.jobs import queue
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids, texts
from builders.leads.records import (
    LINK_LIFE,
    Confirmation,
    Erased,
    Lead,
    LeadFilter,
    LeadState,
    Receipt,
    Request,
    Status,
    Token,
)
from builders.leads.store import leads as store, requests
from builders.mail import addresses, optouts, service as mail
from builders.mail.optouts import Subscription
from builders.mail.records import RETENTION as MAIL_RETENTION, VENDOR, Topic
from builders.mail.templates import LeadConfirm

PROCESS_REQUEST = "leads.process_request"  # the task
PATH = "/v1/leads/confirm"
MIN_INTERVAL = timedelta(minutes=15)  # between two messages to a mailbox, for all spellings of its address
DAY = timedelta(days=1)
MAX_MESSAGES = 5  # a day
BOUNCE_PAUSE = timedelta(days=7)  # after a bounce
MAX_REQUESTS = 20  # unconfirmed ones per lead
TOKEN_BYTES = 32
TOKEN_PURPOSE, SUPPRESSION_PURPOSE = "leads.token", "leads.suppression"  # the keyring's purposes
RETENTION = timedelta(days=90)  # of expired and bounced leads
DELETE_BATCH = 5_000
PAGE = 1_000  # leads that one statement reads for `list_all`


class LeadConfirmed(BaseModel):
    """A lead that confirmed the request of an emailed link."""

    lead_id: UUID
    request_id: UUID
    source: str | None
    interest: str | None
    marketing: bool
    first: bool  # whether it is the first confirmation of the lead


LEAD_CONFIRMED = declare(
    name="lead.confirmed",
    description="A lead confirmed its request by the emailed link.",
    example=LeadConfirmed(
        lead_id=UUID("0193a1b2-0000-7000-8000-000000000005"),
        request_id=UUID("0193a1b2-0000-7000-8000-000000000006"),
        source="harbour-lander",
        interest="mailbox",
        marketing=True,
        first=True,
    ),
    internal=True,
)


async def create(conn: Conn, *, request: Request) -> Receipt:
    """Store a request and enqueue its job; the receipt is the same for every address.

    A request that a machine filled in is dropped.
    """
    request_id = ids.new()
    if not request.is_trapped:
        await requests.insert(conn, account_id=VENDOR, request_id=request_id, request=request, now=clock.now())
        await queue.defer(conn, PROCESS_REQUEST, request_id=str(request_id))
    return Receipt(id=request_id, email_masked=addresses.mask(request.email))


async def process_request(conn: Conn, *, keyring: Keyring, settings: Settings, request_id: UUID) -> None:
    """Create or find the lead of a request, and send a link unless one was sent recently."""
    email = await requests.find_email(conn, account_id=VENDOR, request_id=request_id)
    if email is None:
        return  # already processed, or erased
    await requests.lock_address(conn, email=email)
    hashes = keyring.hashes(SUPPRESSION_PURPOSE, email)
    if await requests.is_suppressed(conn, account_id=VENDOR, hashes=hashes):
        await requests.delete(conn, account_id=VENDOR, request_id=request_id)
        return
    lead = await store.ensure(conn, account_id=VENDOR, lead_id=ids.new(), email=email, now=clock.now())
    if lead.status is Status.SUPPRESSED:
        await requests.delete(conn, account_id=VENDOR, request_id=request_id)
        return
    if not await requests.assign(conn, account_id=VENDOR, request_id=request_id, lead_id=lead.id):
        return
    if await _reserve(conn, lead):
        await _mail_link(conn, keyring, settings, lead=lead, request_id=request_id)
    await requests.trim(conn, account_id=VENDOR, lead_id=lead.id, max_requests=MAX_REQUESTS)


async def _reserve(conn: Conn, lead: LeadState) -> bool:
    now = clock.now()
    return await store.reserve(
        conn,
        account_id=VENDOR,
        lead_id=lead.id,
        now=now,
        gap_ago=now - MIN_INTERVAL,
        day_ago=now - DAY,
        rested=now - BOUNCE_PAUSE,
        max_messages=MAX_MESSAGES,
    )


async def _mail_link(
    conn: Conn, keyring: Keyring, settings: Settings, *, lead: LeadState, request_id: UUID
) -> None:
    """Send a new link, which voids the previous one and withdraws its message."""
    if lead.status is Status.UNSUBSCRIBED:  # the new request needs an email to be confirmed
        await optouts.subscribe(conn, keyring=keyring, address=lead.email, topic=Topic.LEADS)
    if lead.message_id is not None:
        await mail.withdraw(conn, account_id=VENDOR, message_id=lead.message_id)
    text, expires_at = secrets.token_urlsafe(TOKEN_BYTES), clock.now() + LINK_LIFE
    await store.put_token(
        conn,
        account_id=VENDOR,
        lead_id=lead.id,
        request_id=request_id,
        digest=keyring.hash_token(TOKEN_PURPOSE, text),
        expires_at=expires_at,
    )
    message_id = await mail.send(
        conn,
        keyring=keyring,
        account_id=VENDOR,
        to=lead.email,
        template=LeadConfirm(link=f"{settings.url}{PATH}?token={text}", hours=LINK_LIFE // timedelta(hours=1)),
        expires_at=expires_at,
    )
    oldest = ids.lowest(clock.now() - MAIL_RETENTION)
    await store.set_message(conn, account_id=VENDOR, lead_id=lead.id, message_id=message_id, oldest=oldest)


async def find_unused_link(conn: Conn, *, keyring: Keyring, token: str) -> str | None:
    """Return the masked address of the link; None for a link that is unknown, used or expired."""
    found = await store.find_token(
        conn, account_id=VENDOR, digests=keyring.hashes(TOKEN_PURPOSE, token), now=clock.now()
    )
    return None if found is None or found.used_at is not None else addresses.mask(found.email)


async def confirm(conn: Conn, *, keyring: Keyring, token: str, client: str | None) -> Confirmation:
    """Confirm the request of the link, from `client`; publish lead.confirmed.

    Can be repeated until the link expires or a newer one is sent. Raise TokenInvalid.
    """
    now, digests = clock.now(), keyring.hashes(TOKEN_PURPOSE, token)
    found = await store.find_token(conn, account_id=VENDOR, digests=digests, now=now)
    if found is not None and found.used_at is None:
        # Lock the lead before its token, as everywhere; a concurrent request may have used or replaced the token.
        lead = await store.lock(conn, account_id=VENDOR, lead_id=found.lead_id)
        if lead is not None and await store.use_token(conn, account_id=VENDOR, digests=digests, now=now):
            await _confirm(conn, lead, found, client=client, now=now)
            return Confirmation(repeated=False, email_masked=addresses.mask(found.email))
        found = await store.find_token(conn, account_id=VENDOR, digests=digests, now=now)
    if found is None:
        raise TokenInvalid("This link is not valid or has expired.", next_action="Submit the address again.")
    return Confirmation(repeated=True, email_masked=addresses.mask(found.email))


async def _confirm(conn: Conn, lead: LeadState, token: Token, *, client: str | None, now: datetime) -> None:
    await store.confirm(conn, account_id=VENDOR, lead_id=lead.id, now=now)
    confirmed = await requests.confirm(
        conn, account_id=VENDOR, request_id=token.request_id, client=client, now=now
    )
    data = LeadConfirmed(
        lead_id=lead.id,
        request_id=token.request_id,
        source=confirmed.source,
        interest=confirmed.interest,
        marketing=confirmed.marketing,
        first=lead.status is not Status.CONFIRMED,
    )
    await outbox.publish(conn, LEAD_CONFIRMED, account_id=VENDOR, data=data)


async def list_newest(conn: Conn, *, filters: LeadFilter, limit: int, before: UUID = ids.LAST) -> Sequence[Lead]:
    """Return the matching leads older than the id `before`, newest first."""
    return await store.list_newest(conn, account_id=VENDOR, filters=filters, before=before, limit=limit)


async def list_all(database: Database, *, filters: LeadFilter, page_size: int = PAGE) -> AsyncIterator[Lead]:
    """Yield all matching leads, newest first, page by page."""
    page: Sequence[Lead] = ()
    while not page or len(page) == page_size:
        async with database.connection() as conn:
            before = page[-1].id if page else ids.LAST
            page = await list_newest(conn, filters=filters, limit=page_size, before=before)
        for lead in page:
            yield lead
        if not page:
            return


def unsubscribe_link(keyring: Keyring, *, settings: Settings, lead: Lead) -> str:
    """Return the unsubscribe link of a lead, for email that other systems send."""
    about = Subscription(account_id=VENDOR, topic=Topic.LEADS, address=lead.email)
    return optouts.link(keyring, base_url=settings.url, subscription=about)


async def unsubscribe(conn: Conn, *, email: str, at: datetime) -> None:
    """Record that the address opted out at that time; can be repeated.

    A confirmed lead is unsubscribed and can subscribe again. Any other lead is suppressed permanently.
    """
    try:
        address = texts.canonical_email(email)
    except ValueError:
        return  # no lead has such an address; mail of other packages may
    await store.unsubscribe(conn, account_id=VENDOR, email=address, at=at)


async def bounce(conn: Conn, *, message_id: UUID, at: datetime) -> None:
    """Record that the message bounced at that time; can be repeated."""
    await store.bounce(conn, account_id=VENDOR, message_id=message_id, at=at)


async def expire(database: Database) -> None:
    """Expire leads whose link has expired, and delete old tokens, requests and leads."""
    now = clock.now()
    async with database.connection() as conn:
        await store.expire(conn, account_id=VENDOR, before=now - LINK_LIFE, now=now)
        await store.prune_tokens(conn, account_id=VENDOR, now=now)
        await requests.prune(conn, account_id=VENDOR, before=now - RETENTION)
        deleted = DELETE_BATCH
        while deleted == DELETE_BATCH:
            deleted = await store.delete_old(conn, account_id=VENDOR, before=now - RETENTION, batch=DELETE_BATCH)


async def erase(conn: Conn, *, keyring: Keyring, email: str) -> Erased:
    """Delete all data of an address, its mail and tracking events included, except a hash that suppresses it.

    The address is in canonical form.
    """
    await requests.lock_address(conn, email=email)
    digest = keyring.hash_token(SUPPRESSION_PURPOSE, email)
    await requests.suppress(conn, account_id=VENDOR, digest=digest, now=clock.now())
    count = await requests.delete_of_address(conn, account_id=VENDOR, email=email)
    message_ids = await store.delete(conn, account_id=VENDOR, email=email)
    await mail.forget(conn, account_id=VENDOR, address=email, message_ids=message_ids or ())
    return Erased(leads=int(message_ids is not None), requests=count)
