"""The public interface of leads. All leads belong to the vendor, so the functions take no account."""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from builders.leads.export import (
    write_csv as write_csv,
)
from builders.leads.lifecycle import (
    bounce as bounce,
    erase as erase,
    expire as expire,
    unsubscribe as unsubscribe,
)
from builders.leads.opt_in import (
    confirm as confirm,
    create as create,
    find_unused_link as find_unused_link,
)
from builders.leads.records import Lead, LeadFilter
from builders.leads.store import leads as store
from builders.mail import service as mail
from builders.mail.records import VENDOR, Topic

PAGE = 1_000


async def list_newest(conn: Conn, *, filters: LeadFilter, limit: int, before: UUID = ids.LAST) -> Sequence[Lead]:
    """Return the matching leads older than the id `before`, newest first."""
    return await store.list_newest(conn, account_id=VENDOR, filters=filters, before=before, limit=limit)


async def list_all(database: Database, *, filters: LeadFilter) -> AsyncIterator[Lead]:
    """Yield all matching leads, newest first, page by page."""
    page: Sequence[Lead] = ()
    while not page or len(page) == PAGE:
        async with database.connection() as conn:
            before = page[-1].id if page else ids.LAST
            page = await list_newest(conn, filters=filters, limit=PAGE, before=before)
        for lead in page:
            yield lead
        if not page:
            return


def unsubscribe_link(keyring: Keyring, *, settings: Settings, lead: Lead) -> str:
    """Return the unsubscribe link of a lead, for email that other systems send."""
    return mail.unsubscribe_link(
        keyring, base_url=settings.url, account_id=VENDOR, topic=Topic.LEADS, address=lead.email
    )
