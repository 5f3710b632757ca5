"""Jobs of exports."""

import asyncio
from uuid import UUID

from procrastinate import JobContext

from builders.exports import lists, service as exports
from builders.kit.jobs import queue, time_slices


@queue.app.task(name=exports.JOB, queue=queue.LONG, retry=queue.RETRY, pass_context=True)
async def write(context: JobContext, account_id: str, live_account_id: str, export_id: str) -> None:
    """Write an export for a time slice, and enqueue the rest."""
    settings = queue.settings(context)
    time_slice = time_slices.TimeSlice.of(settings)
    await asyncio.to_thread(lists.routes)  # imports them once
    reader = lists.Reader(queue.database(context), keyring=queue.keyring(context), settings=settings)
    own, live, export = UUID(account_id), UUID(live_account_id), UUID(export_id)
    while await exports.write_page(reader, account_id=own, live_account_id=live, export_id=export):
        if time_slice.is_over:
            await time_slices.go_on(context)
            return
