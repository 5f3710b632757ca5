"""The sandbox account made empty."""

from dataclasses import dataclass
from uuid import UUID

from builders.aliases import service as aliases
from builders.domains import service as domains
from builders.identity import service as identity
from builders.invoices import service as invoices
from builders.kit.db.connections import Conn
from builders.projects import service as projects
from builders.sandbox.store import rehearsals as store
from builders.webhooks import service as webhooks


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """How much there was of each."""

    aliases: int
    projects: int
    domains: int
    invoices: int
    webhooks: int
    deliveries: int


async def reset_account(conn: Conn, *, account_id: UUID) -> Cleared:
    """Empties the sandbox account of a real one, without telling anybody; done again it clears nothing.

    What the real account shares with it stays: keys, plans, profile, audit. A few statements for any number. A
    rehearsal under way is waited for (at the `gate`, before `conn` is had): what it writes would else stand for
    things that are gone.
    """
    twin_id = (await identity.get_account(conn, account_id=account_id)).sandbox_id
    await store.take_turn(conn, account_id=twin_id)
    # What points at others goes before them, so that whoever looks meanwhile finds nothing that points nowhere.
    claimed = await aliases.clear(conn, account_id=twin_id)
    built = await projects.clear(conn, account_id=twin_id)
    owned = await domains.clear(conn, account_id=twin_id)
    billed = await invoices.clear(conn, account_id=twin_id)
    told, delivered = await webhooks.clear_destinations(conn, account_id=twin_id)
    return Cleared(
        aliases=claimed,
        projects=built,
        domains=owned,
        invoices=billed,
        webhooks=told,
        deliveries=delivered,
    )
