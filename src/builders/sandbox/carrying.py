"""Carrying a large promotion out in a job, since a request would have to wait for it."""

from uuid import UUID

from procrastinate import JobContext, RetryStrategy

from builders.kit.db.connections import Conn
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.sandbox import finishing, runner
from builders.sandbox.means import Means
from builders.sandbox.records import ActionKind, Plan

LARGE = 250  # actions; with more a promotion is a job
TRIES = 7
RETRY = RetryStrategy(max_attempts=TRIES, exponential_wait=3)  # 55 minutes, in which no other plan is promoted

_log = log.get_logger()


def is_large(plan: Plan) -> bool:
    """Whether the plan's promotion is a job."""
    return sum(action.action is not ActionKind.NO_OP for action in plan.actions) > LARGE


async def defer(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> None:
    """Has a promotion gone on with by a job, once the transaction of `conn` commits."""
    once = f"sandbox.finish {promotion_id}"
    await queue.defer(conn, finish, once=once, account_id=str(account_id), promotion_id=str(promotion_id))


@queue.app.task(name="sandbox.finish", retry=RETRY, pass_context=True)
async def finish(context: JobContext, account_id: str, promotion_id: str) -> None:
    """Goes on with one promotion, and gives it up when that fails to the last."""
    database, means = queue.database(context), Means.of(queue.settings(context), queue.keyring(context))
    owner = {"account_id": UUID(account_id), "promotion_id": UUID(promotion_id)}
    try:
        await runner.run(database, **owner, means=means)
    except (DatabaseUnavailable, DatabaseBusy):
        raise  # `sandbox.resume` begins anew, however often
    except Exception:
        if context.job.attempts < TRIES:
            raise
        _log.exception("promotion_given_up", account=account_id, promotion=promotion_id)
        async with database.transaction() as conn:
            await finishing.give_up(conn, **owner, means=means)
