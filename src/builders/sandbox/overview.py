"""The overview of an account's sandbox: open plans, running promotions, contents of the sandbox account."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from builders.aliases import service as aliases
from builders.identity import service as identity
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.projects import service as projects
from builders.sandbox.store import plans, promotions
from builders.sandbox.store.plans import OpenPlan
from builders.webhooks import service as webhooks

NEWEST = 5  # open plans in the overview


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The number of resources of the sandbox account."""

    aliases: int
    projects: int
    webhooks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The state of an account's sandbox."""

    plans_open: int
    promotions_running: int
    email_verified: bool
    open_plans: Sequence[OpenPlan]  # the newest
    sandbox: Contents


async def get_overview(conn: Conn, *, account_id: UUID) -> Overview:
    """Return the overview of a real account's sandbox, in six statements."""
    account = await identity.get_account(conn, account_id=account_id)
    now, sandbox_id = clock.now(), account.sandbox_id
    plans_open, running = await promotions.count_open(conn, account_id=account_id, now=now)
    return Overview(
        plans_open=plans_open,
        promotions_running=running,
        email_verified=account.email_verified_at is not None,
        open_plans=await plans.list_open(conn, account_id=account_id, limit=NEWEST, now=now),
        sandbox=Contents(
            aliases=await aliases.count_aliases(conn, account_id=sandbox_id),
            projects=await projects.count(conn, account_id=sandbox_id),
            webhooks=await webhooks.count_destinations(conn, account_id=sandbox_id),
        ),
    )
