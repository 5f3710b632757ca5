"""What mail does by itself."""

from procrastinate import JobContext

from builders.kit.jobs import queue
from builders.mail import delivery

deliver = delivery.deliver  # declared beside what it does, since the door defers it


@queue.app.periodic(cron="* * * * *")
@queue.app.task(name="mail.sweep", queueing_lock="mail.sweep", pass_context=True)
async def sweep(context: JobContext, timestamp: int) -> None:
    """Puts messages that are due for another attempt, or whose job was lost, into the queue."""
    del timestamp
    swept = delivery.SWEPT_AT_ONCE
    while swept >= delivery.SWEPT_AT_ONCE:
        async with queue.database(context).transaction() as conn:
            swept = await delivery.sweep(conn)
