"""Carrying a large promotion out in a job, since a request would have to wait for it."""

from uuid import UUID

from procrastinate import JobContext

from builders.kit import jobs
from builders.kit.db import Conn
from builders.sandbox import runner
from builders.sandbox.means import Means
from builders.sandbox.records import ActionKind, Plan

LARGE = 250  # actions; with more a promotion is a job


def is_large(plan: Plan) -> bool:
    """Whether the plan's promotion is a job."""
    return sum(action.action is not ActionKind.NO_OP for action in plan.actions) > LARGE


async def defer(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> None:
    """Has a promotion gone on with by a job, once the transaction of `conn` commits."""
    once = f"sandbox.finish {promotion_id}"
    await jobs.defer(conn, finish, once=once, account_id=str(account_id), promotion_id=str(promotion_id))


@jobs.app.task(name="sandbox.finish", retry=jobs.RETRY, pass_context=True)
async def finish(context: JobContext, account_id: str, promotion_id: str) -> None:
    """Goes on with one promotion."""
    await runner.run(
        jobs.database(context),
        account_id=UUID(account_id),
        promotion_id=UUID(promotion_id),
        means=Means.of(jobs.settings(context), jobs.keyring(context)),
    )
