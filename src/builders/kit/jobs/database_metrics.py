"""What a worker measures of the database: its connections, its largest tables and the queue."""

from builders.kit.db.connections import Database
from builders.kit.db.queries import query
from builders.kit.jobs import queue, worker_metrics, workers
from builders.kit.jobs.workers import Lane
from builders.kit.process import metrics
from builders.kit.values import clock

CONNECTIONS = metrics.latest("builders_database_connections", "Connections of clients that count for the limit.")
MAX_CONNECTIONS = metrics.latest(
    "builders_database_max_connections", "The nearest limit: of the server, the worker's role, or the database."
)
OLDEST = metrics.latest(
    "builders_database_oldest_transaction_seconds", "Age of the oldest transaction of a client."
)
SIZE = metrics.latest("builders_database_bytes", "Size of the database.")
TABLES = metrics.latest(
    "builders_table_bytes",
    "Sizes of the ten largest tables, with indexes and partitions; 0 for a former one.",
    ["table"],
)
JOBS = metrics.latest("builders_jobs", "Jobs by lane and state.", ["lane", "state"])
JOB_AGE = metrics.latest("builders_oldest_job_seconds", "Waiting time of the oldest job of a lane.", ["lane"])

measure_server = query("""
    SELECT pg_database_size(current_database()),
           (SELECT coalesce(max(extract(epoch FROM %(now)s - xact_start)), 0)::float FROM pg_stat_activity
            WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND datname = current_database())
""").only(tuple[int, float])
# A role sees the type only of its own sessions; processes of the server have no database.
find_nearest_limit = query("""
    WITH clients AS (
        SELECT usename, datname FROM pg_stat_activity
        WHERE coalesce(backend_type, 'client backend') = 'client backend' AND datid IS NOT NULL
          AND pid <> pg_backend_pid()
    ), limits AS (
        SELECT count(*) AS used,
               current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
                   - coalesce(current_setting('reserved_connections', true)::int, 0) AS most
        FROM clients
        UNION ALL
        SELECT (SELECT count(*) FROM clients WHERE usename = current_user), rolconnlimit
        FROM pg_roles WHERE rolname = current_user AND rolconnlimit > 0
        UNION ALL
        SELECT (SELECT count(*) FROM clients WHERE datname = current_database()), datconnlimit
        FROM pg_database WHERE datname = current_database() AND datconnlimit > 0
    )
    SELECT used, most FROM limits ORDER BY used::float / most DESC LIMIT 1
""").only(tuple[int, int])
# A partition counts for its table.
list_largest = query("""
    SELECT coalesce(parent.relname, table_.relname)::text, sum(pg_total_relation_size(table_.oid))::bigint AS size
    FROM pg_class AS table_
    LEFT JOIN pg_inherits AS part ON part.inhrelid = table_.oid
    LEFT JOIN pg_class AS parent ON parent.oid = part.inhparent
    WHERE table_.relkind = 'r' AND table_.relnamespace = current_schema()::regnamespace
    GROUP BY 1 ORDER BY 2 DESC LIMIT 10
""").pairs(str, int)

_shown: set[str] = set()  # tables that were among the largest


@worker_metrics.measured
async def measure_database(database: Database) -> None:
    """Measure the server and the largest tables."""
    async with database.connection() as conn:
        size, oldest_s = await measure_server(conn, now=clock.now())
        connections, limit = await find_nearest_limit(conn)
        largest = await list_largest(conn)
    SIZE.set(size)
    OLDEST.set(max(0.0, oldest_s))
    CONNECTIONS.set(connections)
    MAX_CONNECTIONS.set(limit)
    _shown.update(largest)
    for table in _shown:
        TABLES.labels(table).set(largest.get(table, 0))


@worker_metrics.measured
async def measure_queue(database: Database) -> None:
    """Measure the jobs of each lane."""
    now = clock.now()
    async with database.connection() as conn:
        lanes = await workers.list_lanes(conn, now=now)
    empty = [Lane(lane=each, waiting=0, planned=0, running=0, failed=0, oldest_at=None) for each in queue.LANES]
    for lane in {each.lane: each for each in (*empty, *lanes)}.values():  # succeeded jobs are deleted
        for state in ("waiting", "planned", "running", "failed"):
            JOBS.labels(lane.lane, state).set(getattr(lane, state))
        age_s = 0.0 if lane.oldest_at is None else (now - lane.oldest_at).total_seconds()
        JOB_AGE.labels(lane.lane).set(max(0.0, age_s))
