"""The inventory: the domains at registrars, by their latest listings."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.values import clock, ids
from builders.portfolio.registrars.inventory_records import (
    FRESH_FOR,
    Holding,
    InventoryFilters,
    InventoryItem,
    Snapshot,
)
from builders.portfolio.registrars.store import holdings as store


async def list_inventory(
    conn: Conn, *, account_id: UUID, filters: InventoryFilters, page: PageRequest
) -> Page[InventoryItem]:
    """Return a page of the inventory, by domain."""
    after = ("", ids.NIL) if page.after is None else (str(page.after[0]), UUID(str(page.after[1])))
    rows = await store.list_page(
        conn,
        account_id=account_id,
        filters=filters,
        after=after,
        limit=page.limit + 1,
        fresh=clock.now() - FRESH_FOR,
    )
    return page.cut(rows, key=lambda each: (each.domain, str(each.connection_id)))


async def list_snapshots(conn: Conn, *, account_id: UUID) -> Sequence[Snapshot]:
    """Return the latest listing of each connection, by provider."""
    return await store.list_snapshots(conn, account_id=account_id)


async def find_holdings(
    conn: Conn, *, account_id: UUID, domains: Sequence[str]
) -> Mapping[str, Sequence[Holding]]:
    """Return the holdings of some domains at all connections, by domain, without domains that are held nowhere."""
    found: dict[str, list[Holding]] = {}
    for each in await store.list_of_domains(conn, account_id=account_id, domains=domains):
        found.setdefault(each.domain, []).append(each)
    return found


async def list_leaving(conn: Conn, *, account_id: UUID, limit: int) -> Sequence[str]:
    """Return the first domains, by name, that registrars list as on their way to another registrar."""
    return await store.list_leaving(conn, account_id=account_id, limit=limit)


async def delete_inventory(conn: Conn, *, account_id: UUID, connection_id: UUID) -> int:
    """Delete the inventory of a connection; return the number of domains."""
    return await store.delete(conn, account_id=account_id, connection_id=connection_id)
