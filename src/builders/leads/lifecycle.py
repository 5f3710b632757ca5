"""The end of leads: opt-out, bounce, expiry, and erasure by the operator."""

from datetime import datetime, timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, emails
from builders.leads.opt_in import SUPPRESSED
from builders.leads.records import LINK_LIFE, Erased
from builders.leads.store import leads as store, requests
from builders.mail import service as mail
from builders.mail.records import VENDOR

KEPT = timedelta(days=90)  # of expired and bounced leads
DELETE_BATCH = 5_000


async def unsubscribe(conn: Conn, *, email: str, at: datetime) -> None:
    """Record that the address opted out at that time; can be repeated.

    A confirmed lead is unsubscribed and can subscribe again. Any other lead is suppressed permanently.
    """
    try:
        address = emails.canonical(email)
    except ValueError:
        return  # no lead has such an address; mail of other packages may
    lead_id = await store.unsubscribe(conn, account_id=VENDOR, email=address, at=at)
    if lead_id is not None:
        await store.void_token(conn, account_id=VENDOR, lead_id=lead_id)


async def bounce(conn: Conn, *, message_id: UUID, at: datetime) -> None:
    """Record that the message bounced at that time; can be repeated."""
    await store.bounce(conn, account_id=VENDOR, message_id=message_id, at=at)


async def expire(database: Database) -> None:
    """Expire leads whose link has expired, and delete old tokens, requests and leads."""
    now = clock.now()
    async with database.connection() as conn:
        await store.expire(conn, account_id=VENDOR, before=now - LINK_LIFE, now=now)
        await store.prune_tokens(conn, account_id=VENDOR, now=now)
        await requests.prune(conn, account_id=VENDOR, before=now - KEPT)
        deleted = DELETE_BATCH
        while deleted == DELETE_BATCH:
            deleted = await store.delete_old(conn, account_id=VENDOR, before=now - KEPT, batch=DELETE_BATCH)


async def erase(conn: Conn, *, keyring: Keyring, email: str) -> Erased:
    """Delete all data of an address, its mail and tracking events included, except a hash that suppresses it.

    The address is in canonical form.
    """
    await requests.lock_address(conn, email=email)
    digest = keyring.hash_token(SUPPRESSED, email)
    await requests.suppress(conn, account_id=VENDOR, digest=digest, now=clock.now())
    count = await requests.delete_of_address(conn, account_id=VENDOR, email=email)
    message_ids = await store.delete(conn, account_id=VENDOR, email=email)
    await mail.forget(conn, account_id=VENDOR, address=email, message_ids=message_ids or ())
    return Erased(leads=int(message_ids is not None), requests=count)
