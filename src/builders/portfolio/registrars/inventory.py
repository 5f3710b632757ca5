"""The inventory: the domains at registrars, by their latest listings, and how many a portfolio may have."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from builders.identity import accounts
from builders.kit.db.connections import Conn
from builders.kit.http.pagination import PageRequest
from builders.kit.limits import maximums
from builders.kit.pages import Page
from builders.kit.values import clock, ids
from builders.portfolio.registrars.errors import InventoryLimit
from builders.portfolio.registrars.records import Holding, InventoryFilters, Snapshot
from builders.portfolio.registrars.store import holdings as store

FRESH_FOR = timedelta(hours=48)  # a domain that no listing had for longer is stale
MAX_HELD = maximums.declare(
    "registrar_inventory",
    200_000,
    of="portfolio",
    counts="Domains of the inventory of registrars.",
    code="inventory_limit",
)
MAX_SANDBOX_HELD = maximums.declare(
    "sandbox_registrar_inventory",
    10_000,
    of="portfolio of a sandbox account",
    counts="Domains of the inventory of registrars.",
    code="inventory_limit",
)


async def list_inventory(
    conn: Conn, *, account_id: UUID, filters: InventoryFilters, page: PageRequest
) -> tuple[Page[Holding], Sequence[Snapshot]]:
    """Return a page of the inventory, by domain, and the latest listing of each connection, by provider."""
    domain, connection_id = page.position(str, UUID) or ("", ids.NIL)
    fresh = clock.now() - FRESH_FOR
    rows = await store.list_page(
        conn,
        account_id=account_id,
        filters=filters,
        after=(domain, connection_id),
        limit=page.limit + 1,
        fresh=fresh,
    )
    snapshots = await store.list_snapshots(conn, account_id=account_id)
    return page.cut(rows, key=lambda each: (each.domain, str(each.connection_id))), snapshots


async def load_holdings(
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


def max_held(*, is_sandbox: bool) -> int:
    """Return how many domains the inventory of a portfolio may hold."""
    return MAX_SANDBOX_HELD if is_sandbox else MAX_HELD


async def is_sandbox(conn: Conn, *, account_id: UUID) -> bool:
    """Return whether an account is a sandbox account, which test keys act on."""
    owners = await accounts.load_real_accounts(conn, account_ids=[account_id])
    return owners.get(account_id, account_id) != account_id


async def require_below_maximum(conn: Conn, *, account_id: UUID, new: int, listed: int = 0) -> None:
    """Raise InventoryLimit when `new` domains exceed the maximum, or one connection has `listed` more.

    Each batch asks, so that concurrent listings exceed the maximum by a batch each at most.
    """
    most = max_held(is_sandbox=await is_sandbox(conn, account_id=account_id))
    if listed <= most and (
        not new or await store.count_up_to(conn, account_id=account_id, most=most) + new <= most
    ):
        return
    raise InventoryLimit(f"The inventory of a portfolio holds at most {most:,} domains.")
