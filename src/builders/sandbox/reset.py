"""The reset of a sandbox account."""

from dataclasses import dataclass
from uuid import UUID

from builders.aliases import service as aliases
from builders.domains import service as domains
from builders.identity import service as identity
from builders.invoices import service as invoices
from builders.kit.db.connections import Conn
from builders.projects import service as projects
from builders.sandbox.store import promotions as store
from builders.webhooks import service as webhooks


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """The number of deleted resources of each kind."""

    aliases: int
    projects: int
    domains: int
    invoices: int
    webhooks: int
    deliveries: int


async def reset_account(conn: Conn, *, account_id: UUID) -> Cleared:
    """Delete the contents of the sandbox account of a real one, without events. Idempotent.

    What the real account shares with it stays: keys, plans, profile, audit. The number of statements is fixed.
    Callers hold `account_lock`: a running rehearsal writes rows that refer to these.
    """
    sandbox_id = (await identity.get_account(conn, account_id=account_id)).sandbox_id
    await store.lock_account(conn, account_id=sandbox_id)
    # Rows that refer to others are deleted first, so that a concurrent reader finds no broken reference.
    claimed = await aliases.clear_aliases(conn, account_id=sandbox_id)
    built = await projects.clear(conn, account_id=sandbox_id)
    owned = await domains.clear(conn, account_id=sandbox_id)
    billed = await invoices.clear(conn, account_id=sandbox_id)
    destinations, delivered = await webhooks.clear_destinations(conn, account_id=sandbox_id)
    return Cleared(
        aliases=claimed,
        projects=built,
        domains=owned,
        invoices=billed,
        webhooks=destinations,
        deliveries=delivered,
    )
