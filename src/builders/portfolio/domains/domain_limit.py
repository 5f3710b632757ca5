"""How many domains a portfolio holds at most."""

from uuid import UUID

from builders.identity import accounts
from builders.kit.db.connections import Conn
from builders.kit.http.bulk import RowProblem
from builders.kit.limits import maximums
from builders.portfolio.domains.errors import DomainLimit
from builders.portfolio.domains.store import domains as store

MAX_DOMAINS = maximums.declare(
    "portfolio_domains", 200_000, of="portfolio", counts="Domains, in any status.", code=DomainLimit.code
)
MAX_TEST_DOMAINS = maximums.declare(
    "test_portfolio_domains",
    10_000,
    of="portfolio of a sandbox account",
    counts="Domains, in any status.",
    code=DomainLimit.code,
)
FULL = f"A portfolio has at most {MAX_DOMAINS:,} domains, and one of test keys {MAX_TEST_DOMAINS:,}."
FULL_PROBLEM = RowProblem(code=DomainLimit.code, message=f"{FULL} Delete some, then send the row again.")


async def lock_capacity(conn: Conn, *, account_id: UUID, max_domains: int = MAX_DOMAINS) -> int:
    """Return how many domains the portfolio can still add; lock their number until the transaction ends.

    A transaction that also changes domains calls this first: all take the locks in one order.
    """
    await store.lock_portfolio(conn, account_id=account_id)
    real = await accounts.find_real_accounts(conn, account_ids=[account_id])
    is_test = real.get(account_id, account_id) != account_id
    held = await store.count(conn, account_id=account_id)
    return max(min(max_domains, MAX_TEST_DOMAINS) - held if is_test else max_domains - held, 0)
