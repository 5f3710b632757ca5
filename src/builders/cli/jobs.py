"""`builders jobs`."""

import asyncio
from collections.abc import Sequence

import click
import psycopg

from builders.cli import commands
from builders.cli.doctor import Finding
from builders.cli.session import fail
from builders.kit.jobs import failed_jobs

REMEDY = "List them by `builders jobs list`. Run them again by `builders jobs retry`, or delete them by `discard`."
task_option = click.option("--task", help="Of this task, as `mail.deliver`.")
ids_argument = click.argument("ids", nargs=-1, type=int)


@click.group()
def jobs() -> None:
    """Manage background jobs that have failed."""


@jobs.command("list")
@commands.limit_option(1_000)
@commands.reads
async def list_jobs(session: commands.Session, limit: int) -> commands.Output:
    """List the failed jobs of the last 30 days, newest first; `job_attempt_failed` in the log has their errors."""
    found = await failed_jobs.list_failed(session.conn, limit=limit)
    head = ("ID", "TASK", "FAILED", "ATTEMPTS", "ARGUMENTS")
    return commands.Output(found, commands.table(head, map(_cells, found), empty="No job has failed."))


def _cells(job: failed_jobs.FailedJob) -> Sequence[object]:
    failed_at = "-" if job.failed_at is None else f"{job.failed_at:%Y-%m-%dT%H:%M:%SZ}"
    arguments = " ".join(f"{name}={value}" for name, value in job.arguments.items())
    return job.id, job.task, failed_at, job.attempts, arguments


@jobs.command()
@task_option
@ids_argument
@commands.writes
async def retry(session: commands.Session, task: str | None, ids: Sequence[int]) -> commands.Output:
    """Run failed jobs again, by their ids, or those of a task.

    Of jobs that the queue holds only once, as periodic ones, the newest runs, unless one waits.
    """
    _require(task, ids)
    try:
        done = await failed_jobs.retry(session.conn, task=task, ids=ids)
    except psycopg.errors.UniqueViolation:
        fail("One of these jobs was enqueued meanwhile. Run the command again.")
    return _counted("retried", done, ids)


@jobs.command()
@task_option
@ids_argument
@commands.writes
async def discard(session: commands.Session, task: str | None, ids: Sequence[int]) -> commands.Output:
    """Delete failed jobs, by their ids, or those of a task; their work is not done."""
    _require(task, ids)
    return _counted("discarded", await failed_jobs.discard(session.conn, task=task, ids=ids), ids)


def _require(task: str | None, ids: Sequence[int]) -> None:
    if task is None and not ids:
        raise click.UsageError("Name jobs by their ids, or all of a task by --task.")


def _counted(verb: str, done: Sequence[int], wanted: Sequence[int]) -> commands.Output:
    text = f"{commands.counted(len(done), 'job')} {verb}."
    return commands.Output({verb: sorted(done)}, text, is_failure=not {*wanted} <= {*done})


def check_failed(conninfo: str) -> Finding:
    """Report failed jobs. Those that a schedule repeats are no fault: the next run does their work."""

    async def count() -> Sequence[failed_jobs.FailedTask]:
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
            return await failed_jobs.count_failed(conn)

    found = asyncio.run(count())
    detail = ", ".join(f"{each.task} {each.number}" for each in found)
    return Finding(
        check="failed jobs",
        ok=all(each.is_periodic for each in found),
        detail=f"In the last 30 days: {detail}." if found else "No job has failed in the last 30 days.",
        next_action=REMEDY if found else None,
    )
