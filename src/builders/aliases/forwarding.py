"""Where names forward to, and whose reader has to be asked first.

In a sandbox nothing is ever delivered: the destinations of a twin count as verified, and nobody is asked.
"""

from collections.abc import Collection, Sequence
from uuid import UUID

from builders.aliases.records import AliasChange, AliasSpec
from builders.aliases.store import forwards as store
from builders.identity import service as identity
from builders.kit.db.connections import Conn
from builders.kit.values import clock


async def replace(conn: Conn, *, account_id: UUID, forwards: Sequence[AliasChange | AliasSpec]) -> None:
    """Where the aliases forward to from now on; readers of new addresses are to be asked (see `asking`).

    As many statements for any number, whatever is new. The account's own verified address needs no asking.
    """
    now, own, is_twin, is_live = clock.now(), None, False, True
    try:
        account = await identity.get_account(conn, account_id=account_id)
    except identity.AccountNotFound:
        is_live, is_twin = False, account_id in await identity.find_real_accounts(conn, account_ids=[account_id])
    else:
        own = account.email if account.email_verified_at else None
    await store.replace(
        conn,
        account_id=account_id,
        forwards=forwards,
        own=own,
        verified_at=now if is_twin else None,
        wanted_at=now if is_live else None,
        now=now,
    )


async def list_unconfirmed(conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], limit: int) -> list[str]:
    """Return the first destinations of these names whose recipients have not agreed, by address."""
    return await store.list_unconfirmed(conn, account_id=account_id, alias_ids=alias_ids, limit=limit)
