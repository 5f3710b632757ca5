"""The door of leads: all of them are the vendor's, so no account is named."""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from builders.kit.crypto import Keyring
from builders.kit.db import Conn, Database
from builders.kit.settings import Settings
from builders.leads import leaving, opting, sheet
from builders.leads.records import Lead, Wanted
from builders.leads.store import leads as store
from builders.mail import service as mail
from builders.mail.records import VENDOR, Topic

PAGE = 1_000

create = opting.create
confirm, find_unused_link = opting.confirm, opting.find_unused_link
unsubscribe = leaving.unsubscribe
bounce = leaving.bounce
expire = leaving.expire
erase = leaving.erase
write_sheet = sheet.write


async def list_newest(conn: Conn, *, wanted: Wanted, limit: int, before: UUID | None = None) -> Sequence[Lead]:
    """The leads that are wanted, newest first; those older than the one with the id `before`."""
    return await store.list_newest(conn, account_id=VENDOR, wanted=wanted, before=before, limit=limit)


async def list_all(database: Database, *, wanted: Wanted) -> AsyncIterator[Lead]:
    """All that are wanted, newest first, read as they are taken."""
    page: Sequence[Lead] = ()
    while not page or len(page) == PAGE:
        async with database.reading() as conn:
            before = page[-1].id if page else None
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
