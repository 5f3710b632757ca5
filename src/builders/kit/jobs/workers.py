"""Which workers are alive, and what waits in their queues."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.kit.values import clock

SILENT = timedelta(seconds=30)  # without a heartbeat, which each worker writes every 10 s


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The jobs of a lane of the queue."""

    lane: str
    waiting: int  # due now
    planned: int  # due later: another try, or a delay
    running: int
    failed: int
    oldest_at: datetime | None  # since when the first one waits


# The queue writes the heartbeats by the clock of the database, which may differ from ours by seconds.
find_last_heartbeat = query("SELECT max(last_heartbeat) FROM procrastinate_workers").scalar(datetime)
# A worker has three entries, one for each lane.
count_lanes_served = query("""
    SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > %(after)s
""").value(int)
# The oldest is the first job that is due: when it was enqueued, or later when it became due.
list_lanes = query("""
    WITH lanes AS (
        SELECT queue_name AS lane,
               count(*) FILTER (WHERE status = 'todo' AND coalesce(scheduled_at <= %(now)s, true)) AS waiting,
               count(*) FILTER (WHERE status = 'todo' AND scheduled_at > %(now)s) AS planned,
               count(*) FILTER (WHERE status = 'doing') AS running,
               count(*) FILTER (WHERE status = 'failed') AS failed,
               min(id) FILTER (WHERE status = 'todo' AND coalesce(scheduled_at <= %(now)s, true)) AS first_id
        FROM procrastinate_jobs GROUP BY 1
    )
    SELECT lane, waiting, planned, running, failed,
           (SELECT greatest(min(event.at), max(job.scheduled_at))
            FROM procrastinate_jobs AS job JOIN procrastinate_events AS event ON event.job_id = job.id
            WHERE job.id = first_id) AS oldest_at
    FROM lanes ORDER BY lane
""").all(Lane)


async def find_silence(conn: Conn) -> timedelta | None:
    """Return for how long no worker has responded; None if there is none."""
    last = await find_last_heartbeat(conn)
    return None if last is None else max(clock.now() - last, timedelta())
