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
from builders.leads import store
from builders.leads.records import LINK_LIFE, Erased, Lead, LeadFilter, Receipt, Request, Status
from builders.mail import addresses, optouts, service as mail
from builders.mail.link_pages import Confirmation
from builders.mail.optouts import Subscription
from builders.mail.records import RETENTION as MAIL_RETENTION, VENDOR, Topic
from builders.mail.templates import LeadConfirm

PROCESS_REQUEST = "leads.process_request"  # the task
PATH = "/v1/leads/confirm"
TOKEN_BYTES = 32
TOKEN_PURPOSE, SUPPRESSION_PURPOSE = "leads.token", "leads.suppression"  # the keyring's purposes
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
    data=LeadConfirmed,
    internal=True,
)


async def create(conn: Conn, *, request: Request, is_trapped: bool) -> Receipt:
    """Store a request and enqueue its job; the receipt is the same for every address.

    A request that a machine filled in is dropped.
    """
    request_id = ids.new()
    if not is_trapped:
        await store.insert_request(conn, request_id=request_id, request=request, now=clock.now())
        await queue.defer(conn, PROCESS_REQUEST, request_id=str(request_id))
    return Receipt(id=request_id, email_masked=addresses.mask(request.email))


async def process_request(conn: Conn, *, keyring: Keyring, settings: Settings, request_id: UUID) -> None:
    """Create or find the lead of a request, and send a link unless one was sent recently."""
    email = await store.find_email(conn, request_id=request_id)
    if email is None:
        return  # already processed, or erased
    await store.lock_address(conn, email=email)
    is_suppressed = await store.is_suppressed(conn, hashes=keyring.hashes(SUPPRESSION_PURPOSE, email))
    lead = None if is_suppressed else await store.ensure(conn, email=email, now=clock.now())
    if lead is None or lead.status is Status.SUPPRESSED:
        await store.delete_request(conn, request_id=request_id)
        return
    if not await store.assign(conn, request_id=request_id, lead_id=lead.id):
        return
    if await store.reserve(conn, lead_id=lead.id, now=clock.now()):
        if lead.status is Status.UNSUBSCRIBED:  # the new request needs an email to be confirmed
            await optouts.subscribe(conn, keyring=keyring, address=lead.email, topic=Topic.LEADS)
        if lead.message_id is not None:
            await mail.withdraw(conn, account_id=VENDOR, message_id=lead.message_id)
        text, expires_at = secrets.token_urlsafe(TOKEN_BYTES), clock.now() + LINK_LIFE
        digest = keyring.hash_token(TOKEN_PURPOSE, text)
        await store.put_token(conn, lead_id=lead.id, request_id=request_id, digest=digest, expires_at=expires_at)
        message_id = await mail.send(
            conn,
            keyring=keyring,
            account_id=VENDOR,
            to=lead.email,
            template=LeadConfirm(link=f"{settings.url}{PATH}?token={text}", hours=LINK_LIFE // timedelta(hours=1)),
            expires_at=expires_at,
        )
        oldest = ids.lowest(clock.now() - MAIL_RETENTION)
        await store.set_message(conn, lead_id=lead.id, message_id=message_id, oldest=oldest)
    await store.trim(conn, lead_id=lead.id)


async def find_unused_link(conn: Conn, *, keyring: Keyring, token: str) -> str | None:
    """Return the masked address of the link; None for a link that is unknown, used or expired."""
    found = await store.find_token(conn, digests=keyring.hashes(TOKEN_PURPOSE, token), now=clock.now())
    return None if found is None or found.used_at is not None else addresses.mask(found.email)


async def confirm(conn: Conn, *, keyring: Keyring, token: str, client: str | None) -> Confirmation:
    """Confirm the request of the link, from `client`; publish lead.confirmed.

    Can be repeated until the link expires or a newer one is sent. Raise TokenInvalid.
    """
    now, digests = clock.now(), keyring.hashes(TOKEN_PURPOSE, token)
    found = await store.find_token(conn, digests=digests, now=now)
    # Lock the lead before its token, as everywhere; a concurrent request may have used or replaced the token.
    lead = None if found is None or found.used_at is not None else await store.lock(conn, email=found.email)
    is_new = lead is not None and await store.use_token(conn, digests=digests, now=now)
    if found is not None and lead is not None and is_new:
        source, interest, marketing = await store.confirm(
            conn, lead_id=lead.id, request_id=found.request_id, client=client, now=now
        )
        data = LeadConfirmed(
            lead_id=lead.id,
            request_id=found.request_id,
            source=source,
            interest=interest,
            marketing=marketing,
            first=lead.status is not Status.CONFIRMED,
        )
        await outbox.publish(conn, LEAD_CONFIRMED, account_id=VENDOR, data=data)
    elif lead is not None:
        found = await store.find_token(conn, digests=digests, now=now)
    if found is None:
        raise TokenInvalid("This link is not valid or has expired.", next_action="Submit the address again.")
    return Confirmation(repeated=not is_new, email=addresses.mask(found.email))


async def list_newest(conn: Conn, *, filters: LeadFilter, limit: int, before: UUID = ids.LAST) -> Sequence[Lead]:
    """Return the matching leads older than the id `before`, newest first."""
    return await store.list_newest(conn, filters=filters, before=before, limit=limit)


async def list_all(database: Database, *, filters: LeadFilter, page_size: int = PAGE) -> AsyncIterator[Lead]:
    """Yield all matching leads, newest first, page by page."""
    before: UUID | None = ids.LAST
    while before is not None:
        async with database.connection() as conn:
            page = await list_newest(conn, filters=filters, limit=page_size, before=before)
        for lead in page:
            yield lead
        before = page[-1].id if len(page) == page_size else None


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
    await store.unsubscribe(conn, email=address, at=at)


async def erase(conn: Conn, *, keyring: Keyring, email: str) -> Erased:
    """Delete all data of an address, its mail and tracking events included, except a hash that suppresses it.

    The address is in canonical form.
    """
    await store.lock_address(conn, email=email)
    digest = keyring.hash_token(SUPPRESSION_PURPOSE, email)
    requests, message_ids = await store.erase(conn, email=email, digest=digest, now=clock.now())
    await mail.forget(conn, account_id=VENDOR, address=email, message_ids=message_ids or ())
    return Erased(leads=int(message_ids is not None), requests=requests)
