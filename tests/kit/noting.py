"""A task that writes down what it did."""

from typing import Any

from procrastinate import JobContext
from procrastinate.tasks import Task

from builders.kit import jobs
from builders.kit.db import Conn

AnyTask = Task[Any, Any, Any]  # any arguments


class Done:
    """What was done, by a task that writes it down."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.fails = False
        self.task: AnyTask = jobs.app.task(name="test.note", retry=jobs.RETRY, pass_context=True)(self.note)

    async def note(self, context: JobContext, number: int) -> None:
        async with jobs.database(context).reading() as conn:
            await conn.execute("SELECT 1")
        assert jobs.settings(context).worker_concurrency >= 1
        if self.fails:
            raise ZeroDivisionError
        self.numbers.append(number)


async def waiting(conn: Conn) -> list[tuple[str, str, int]]:
    found = await conn.execute("SELECT task_name, status::text, attempts FROM procrastinate_jobs ORDER BY id")
    return [row for row in await found.fetchall() if row[0].startswith("test.")]
