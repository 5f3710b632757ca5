"""The double opt-in: somebody leaves an address, its reader gets a link, and whoever follows it was meant.

Whether an address is known is not to be learned here. A request writes a row and defers a job, and looks nobody
up; what the address is to us decides in the job.
"""

import secrets
from datetime import datetime, timedelta
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.jobs import queue
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.leads.errors import bad_link
from builders.leads.events import LEAD_CONFIRMED, LeadConfirmed
from builders.leads.records import LINK_LIFE, Confirmation, Receipt, Request, Standing, Status, Token
from builders.leads.store import leads as store, requests
from builders.mail import service as mail
from builders.mail.records import VENDOR, Topic
from builders.mail.service import LeadConfirm

TAKE = "leads.take"  # the task
PATH = "/v1/leads/confirm"
GAP = timedelta(minutes=15)  # between two messages to a mailbox, however its address is spelled
DAY = timedelta(days=1)
MOST_MESSAGES = 5  # a day
REST = timedelta(days=7)  # of an address that mail came back from
MOST_REQUESTS = 20  # of a lead that are kept; confirmed ones always are
TOKEN_BYTES = 32
HASHED, SUPPRESSED = "leads.token", "leads.suppression"  # the keyring's purposes


async def create(conn: Conn, *, request: Request) -> Receipt:
    """Takes what somebody sent, and answers all alike; a job does the rest once `conn` commits.

    What a machine sent is dropped.
    """
    request_id = ids.new()
    if not request.is_trapped:
        await requests.insert(conn, account_id=VENDOR, request_id=request_id, request=request, now=clock.now())
        await queue.defer(conn, TAKE, request_id=str(request_id))
    return Receipt(id=request_id, email_masked=mail.mask(request.email))


async def take(conn: Conn, *, keyring: Keyring, settings: Settings, request_id: UUID) -> None:
    """Make a lead of who left an address, or find the one there is; mail a link if it is time for one."""
    email = await requests.find_email(conn, account_id=VENDOR, request_id=request_id)
    if email is None:
        return  # done before, or erased
    await requests.lock_address(conn, email=email)
    hashes = keyring.hashes(SUPPRESSED, email)
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
    await requests.trim(conn, account_id=VENDOR, lead_id=lead.id, most=MOST_REQUESTS)


async def _reserve(conn: Conn, lead: Standing) -> bool:
    now = clock.now()
    return await store.reserve(
        conn,
        account_id=VENDOR,
        lead_id=lead.id,
        now=now,
        gap_ago=now - GAP,
        day_ago=now - DAY,
        rested=now - REST,
        most=MOST_MESSAGES,
    )


async def _mail_link(
    conn: Conn, keyring: Keyring, settings: Settings, *, lead: Standing, request_id: UUID
) -> None:
    """Mails a new link, which voids the one before, and that one's message if it still waits."""
    if lead.status is Status.UNSUBSCRIBED:  # who wants it again has to read that we ask
        await mail.subscribe(conn, keyring=keyring, address=lead.email, topic=Topic.LEADS)
    if lead.message_id is not None:
        await mail.withdraw(conn, account_id=VENDOR, message_id=lead.message_id)
    text, expires_at = secrets.token_urlsafe(TOKEN_BYTES), clock.now() + LINK_LIFE
    await store.put_token(
        conn,
        account_id=VENDOR,
        lead_id=lead.id,
        request_id=request_id,
        digest=keyring.hash_token(HASHED, text),
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
    oldest = ids.lowest(clock.now() - mail.KEPT)
    await store.set_message(conn, account_id=VENDOR, lead_id=lead.id, message_id=message_id, oldest=oldest)


async def find_unused_link(conn: Conn, *, keyring: Keyring, token: str) -> str | None:
    """The address, masked, that the link would confirm; None for a link that is unknown, used or expired."""
    found = await store.find_token(conn, account_id=VENDOR, digests=keyring.hashes(HASHED, token), now=clock.now())
    return None if found is None or found.used_at is not None else mail.mask(found.email)


async def confirm(conn: Conn, *, keyring: Keyring, token: str, client: str | None) -> Confirmation:
    """Confirms the request whose link was followed, from `client`; publishes lead.confirmed.

    Can be repeated until the link expires, or a newer one is mailed. Raises TokenInvalid.
    """
    now, digests = clock.now(), keyring.hashes(HASHED, token)
    found = await store.find_token(conn, account_id=VENDOR, digests=digests, now=now)
    if found is not None and found.used_at is None:
        # The lead first, as everywhere; whoever was faster has used the token, or put another in its place.
        lead = await store.lock(conn, account_id=VENDOR, lead_id=found.lead_id)
        if lead is not None and await store.use_token(conn, account_id=VENDOR, digests=digests, now=now):
            await _confirm(conn, lead, found, client=client, now=now)
            return Confirmation(repeated=False, email_masked=mail.mask(found.email))
        found = await store.find_token(conn, account_id=VENDOR, digests=digests, now=now)
    if found is None:
        raise bad_link()
    return Confirmation(repeated=True, email_masked=mail.mask(found.email))


async def _confirm(conn: Conn, lead: Standing, token: Token, *, client: str | None, now: datetime) -> None:
    await store.confirm(conn, account_id=VENDOR, lead_id=lead.id, now=now)
    proven = await requests.confirm(conn, account_id=VENDOR, request_id=token.request_id, client=client, now=now)
    data = LeadConfirmed(
        lead_id=lead.id,
        request_id=token.request_id,
        source=proven.source,
        interest=proven.interest,
        marketing=proven.marketing,
        first=lead.status is not Status.CONFIRMED,
    )
    await outbox.publish(conn, LEAD_CONFIRMED, account_id=VENDOR, data=data)
