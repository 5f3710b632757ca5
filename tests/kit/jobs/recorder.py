"""A task that records its calls."""

from typing import Any

from procrastinate import JobContext
from procrastinate.tasks import Task
from structlog.contextvars import get_contextvars

from builders.kit.db.connections import Conn
from builders.kit.jobs import queue

AnyTask = Task[Any, Any, Any]  # any arguments


class Recorder:
    """A task and the numbers that it was called with."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.requests: list[str | None] = []  # the request ids in the log context
        self.fails = False
        self.enqueues_again: int | None = None  # number of the call that enqueues the job again
        self.task: AnyTask = queue.app.task(name="test.note", retry=queue.RETRY, pass_context=True)(self.note)

    async def note(self, context: JobContext, number: int) -> None:
        async with queue.database(context).connection() as conn:
            await conn.execute("SELECT 1")
            if number == self.enqueues_again:
                await queue.defer(conn, self.task, once="one", number=number + 1)
        assert queue.settings(context).worker_concurrency >= 1
        if self.fails:
            raise ZeroDivisionError
        self.numbers.append(number)
        self.requests.append(get_contextvars().get("request_id"))


async def waiting(conn: Conn) -> list[tuple[str, str, int]]:
    found = await conn.execute("SELECT task_name, status::text, attempts FROM procrastinate_jobs ORDER BY id")
    return [row for row in await found.fetchall() if row[0].startswith("test.")]
