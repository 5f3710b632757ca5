"""The door of leads: all of them are the vendor's, so no account is named."""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from builders.leads.leaving import (
    bounce as bounce,
    erase as erase,
    expire as expire,
    unsubscribe as unsubscribe,
)
from builders.leads.opting import (
    confirm as confirm,
    create as create,
    find_unused_link as find_unused_link,
)
from builders.leads.records import Lead, Wanted
from builders.leads.sheet import (
    write_sheet as write_sheet,
)
from builders.leads.store import leads as store
from builders.mail import service as mail
from builders.mail.records import VENDOR, Topic

PAGE = 1_000


async def list_newest(conn: Conn, *, wanted: Wanted, limit: int, before: UUID = ids.LAST) -> Sequence[Lead]:
    """The leads that are wanted, newest first; those older than the one with the id `before`."""
    return await store.list_newest(conn, account_id=VENDOR, wanted=wanted, before=before, limit=limit)


async def list_all(database: Database, *, wanted: Wanted) -> AsyncIterator[Lead]:
    """All that are wanted, newest first, read as they are taken."""
    page: Sequence[Lead] = ()
    while not page or len(page) == PAGE:
        async with database.connection() as conn:
            before = page[-1].id if page else ids.LAST
            page = await list_newest(conn, wanted=wanted, limit=PAGE, before=before)
        for lead in page:
            yield lead
        if not page:
            return


def unsubscribe_link(keyring: Keyring, *, settings: Settings, lead: Lead) -> str:
    """Where the lead ends its mail, for letters that are written elsewhere."""
    return mail.unsubscribe_link(
        keyring, base_url=settings.url, account_id=VENDOR, topic=Topic.LEADS, address=lead.email
    )
