"""Jobs of erasures."""

from contextlib import aclosing
from uuid import UUID

from procrastinate import JobContext

from builders.erasure import execution
from builders.identity import accounts
from builders.kit.jobs import queue, time_slices
from builders.kit.jobs.time_slices import TimeSlice

AT_ONCE = 1_000  # accounts


@queue.unheld
@queue.app.task(name=execution.JOB, queue=queue.LONG, retry=queue.RETRY, pass_context=True)
async def erase(context: JobContext, account_id: str) -> None:
    """Erase an account for a time slice, and enqueue the rest."""
    settings = queue.settings(context)
    time_slice = TimeSlice.of(settings)
    running = execution.run(queue.database(context), settings=settings, account_id=UUID(account_id))
    async with aclosing(running) as batches:
        async for _ in batches:
            if time_slice.is_over:
                await time_slices.go_on(context)
                return


@queue.periodic("29 * * * *", name="erasure.resume")
async def resume(context: JobContext) -> None:
    """Enqueue the erasures whose jobs are lost."""
    async with queue.database(context).transaction() as conn:
        for account_id in await accounts.list_erasing(conn, limit=AT_ONCE):
            await execution.enqueue(conn, account_id=account_id)
