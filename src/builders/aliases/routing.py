"""Where names send mail on to names: kept as it is while somebody looks at it and changes it.

Two changes that are harmless one by one can close a circle together. So whoever changes where an account's names
forward to takes its routes first, changes them, looks for circles, and keeps the routes until the commit. This
comes before all other locks of the room (names, looks, manifests, destinations): who waits for it holds none of
those, so nobody waits crosswise. Who only reads takes nothing.

A circle can lead over other accounts' names too: of two accounts that forward to each other the second could stop
the mail of the first. Only where a way leaves the account one more lock is taken, last of all and by all accounts:
who has it waits for nobody but their own account's changes, and those wait for them already.
"""

from collections.abc import Sequence
from uuid import UUID

from builders.aliases.records import LIVE, Alias, Name
from builders.aliases.store import routes as store
from builders.kit.db.connections import Conn


async def lock_routes(conn: Conn, *, account_id: UUID) -> None:
    """Until the transaction ends nobody else of the account changes where names forward to."""
    await store.lock(conn, account_id=account_id)


async def list_ahead(
    conn: Conn, *, realm: UUID = LIVE, account_id: UUID, names: Sequence[Name] = (), alias_ids: Sequence[UUID] = ()
) -> list[Alias]:
    """Aliases of these names, or of the account and these ids, and all that they send mail on to, however far.

    Also those of other accounts, for looking for circles and nothing else: they are never to be shown.
    """
    found = await store.list_ahead(conn, realm=realm, account_id=account_id, names=names, alias_ids=alias_ids)
    return [each.alias for each in found]


async def keep_ahead(
    conn: Conn, *, realm: UUID = LIVE, account_id: UUID, names: Sequence[Name] = (), alias_ids: Sequence[UUID] = ()
) -> list[Alias]:
    """As `list_ahead`, for who has the account's routes: until the transaction ends nobody changes these."""
    found = await store.list_ahead(conn, realm=realm, account_id=account_id, names=names, alias_ids=alias_ids)
    if not all(each.is_own for each in found):
        await store.lock_between(conn)
        found = await store.list_ahead(conn, realm=realm, account_id=account_id, names=names, alias_ids=alias_ids)
    return [each.alias for each in found]
