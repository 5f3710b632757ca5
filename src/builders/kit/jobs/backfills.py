"""The job that fills rows before a migration that needs them (`kit/db/backfills.py`)."""

from procrastinate import JobContext

from builders.kit.db import backfills, migrations
from builders.kit.db.connections import Conn
from builders.kit.jobs import queue, time_slices

LIST_APPLIED = "SELECT name FROM kit_migrations"


@queue.run_at_start
@queue.periodic("*/5 * * * *", name="kit.fill_rows", lane=queue.LONG, lock="kit.fill_rows")
async def fill_rows(context: JobContext) -> None:
    """Fill a batch after the other of the rows that a pending migration waits for."""
    if any(each.header.backfill for each in migrations.list_migrations()):
        await time_slices.repeat(context, fill_next)


async def fill_next(conn: Conn) -> bool:
    """Fill a batch of each pending migration; return whether there may be more rows."""
    applied = {name for (name,) in await (await conn.execute(LIST_APPLIED)).fetchall()}
    pending = [each.header.backfill for each in migrations.list_migrations() if each.name not in applied]
    due = [each for each in pending if each is not None and each.column]
    return any([await backfills.fill(conn, each) for each in due])
