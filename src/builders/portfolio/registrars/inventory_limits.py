"""The maximum of domains that the inventory of a portfolio holds, also those that are missing."""

from uuid import UUID

from builders.identity import accounts
from builders.kit.db.connections import Conn
from builders.kit.limits import maximums
from builders.portfolio.registrars.errors import InventoryLimit
from builders.portfolio.registrars.store import listings as store

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


def find_most(*, is_sandbox: bool) -> int:
    """Return how many domains the inventory of a portfolio may hold."""
    return MAX_SANDBOX_HELD if is_sandbox else MAX_HELD


async def is_sandbox(conn: Conn, *, account_id: UUID) -> bool:
    """Return whether an account is a sandbox account, which test keys act on."""
    owners = await accounts.find_real_accounts(conn, account_ids=[account_id])
    return owners.get(account_id, account_id) != account_id


async def require_below_maximum(conn: Conn, *, account_id: UUID, new: int, listed: int = 0) -> None:
    """Raise InventoryLimit when `new` domains exceed the maximum, or one connection has `listed` more.

    Each batch asks, so that concurrent listings exceed the maximum by a batch each at most.
    """
    most = find_most(is_sandbox=await is_sandbox(conn, account_id=account_id))
    if listed <= most and (
        not new or await store.count_up_to(conn, account_id=account_id, most=most) + new <= most
    ):
        return
    raise InventoryLimit(f"The inventory of a portfolio holds at most {most:,} domains.")
