"""How leads end: by their reader, by mail that comes back, by time, by the operator."""

from datetime import datetime, timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, emails
from builders.leads.opting import SUPPRESSED
from builders.leads.records import LINK_LIFE, Erased
from builders.leads.store import leads as store, requests
from builders.mail import service as mail
from builders.mail.records import VENDOR

KEPT = timedelta(days=90)  # those who did not confirm, or whom no mail reaches
FORGOTTEN_AT_ONCE = 5_000


async def unsubscribe(conn: Conn, *, email: str, at: datetime) -> None:
    """The reader wanted no more mail at that time; can be repeated.

    Somebody who had confirmed is unsubscribed and may ask again. Anybody else never asked, and is left alone for
    good: suppressed.
    """
    try:
        address = emails.canonical(email)
    except ValueError:
        return  # of mail that other rooms send: no lead has it
    lead_id = await store.leave(conn, account_id=VENDOR, email=address, at=at)
    if lead_id is not None:
        await store.void_token(conn, account_id=VENDOR, lead_id=lead_id)


async def bounce(conn: Conn, *, message_id: UUID, at: datetime) -> None:
    """The message came back at that time; can be repeated."""
    await store.bounce(conn, account_id=VENDOR, message_id=message_id, at=at)


async def expire(database: Database) -> None:
    """Ends the waiting for links that are over, and forgets what is KEPT no longer."""
    now = clock.now()
    async with database.connection() as conn:
        await store.expire(conn, account_id=VENDOR, before=now - LINK_LIFE, now=now)
        await store.prune_tokens(conn, account_id=VENDOR, now=now)
        await requests.prune(conn, account_id=VENDOR, before=now - KEPT)
        forgotten = FORGOTTEN_AT_ONCE
        while forgotten == FORGOTTEN_AT_ONCE:
            forgotten = await store.forget(conn, account_id=VENDOR, before=now - KEPT, batch=FORGOTTEN_AT_ONCE)


async def erase(conn: Conn, *, keyring: Keyring, email: str) -> Erased:
    """Removes all that is kept of an address but a hash, by which nothing is ever kept or sent again.

    That is its mail too, with what was seen of its reading. The address is in canonical form.
    """
    await requests.lock_address(conn, email=email)
    digest = keyring.hash_token(SUPPRESSED, email)
    await requests.suppress(conn, account_id=VENDOR, digest=digest, now=clock.now())
    count = await requests.delete_of_address(conn, account_id=VENDOR, email=email)
    message_ids = await store.delete(conn, account_id=VENDOR, email=email)
    await mail.forget(conn, account_id=VENDOR, address=email, message_ids=message_ids or ())
    return Erased(leads=int(message_ids is not None), requests=count)
