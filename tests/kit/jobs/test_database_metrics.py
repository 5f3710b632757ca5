"""What a worker measures of the database."""

from datetime import timedelta

from psycopg import AsyncConnection, sql

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import database_metrics, queue, worker_metrics
from builders.kit.process import metrics
from builders.kit.process.settings import Settings
from builders.worker import JOBS
from tests.kit.jobs.recorder import Recorder


def read(name: str, **labels: str) -> float:
    found = metrics.REGISTRY.get_sample_value(name, labels)
    assert found is not None, name
    return found


async def test_the_server_and_its_largest_tables_are_measured(database: Database) -> None:
    await database_metrics.measure_database(database)
    tables = [
        each.labels["table"]
        for family in metrics.REGISTRY.collect()
        for each in family.samples
        if each.name == "builders_table_bytes" and each.value
    ]
    assert read("builders_database_bytes") > 1_000_000
    assert 0 < read("builders_database_connections") <= read("builders_database_max_connections")
    assert read("builders_database_oldest_transaction_seconds") >= 0
    assert len(tables) == 10


async def test_a_partition_counts_for_its_table(conn: Conn) -> None:
    sizes = await database_metrics.list_largest(conn)
    names = await (await conn.execute("SELECT inhrelid::regclass::text FROM pg_inherits")).fetchall()
    assert not sizes.keys() & {name for (name,) in names}


async def test_jobs_are_measured_by_lane_and_state(
    own_database: Database, jobs_conn: Conn, recorder: Recorder
) -> None:
    await queue.defer(jobs_conn, recorder.task, lane=queue.EXTERNAL, number=1)
    await queue.defer(jobs_conn, recorder.task, lane=queue.EXTERNAL, number=2, delay=timedelta(hours=1))
    await database_metrics.measure_queue(own_database)
    assert read("builders_jobs", lane="external", state="waiting") == 1
    assert read("builders_jobs", lane="external", state="planned") == 1
    assert 0 <= read("builders_oldest_job_seconds", lane="external") < 60


async def test_a_lane_whose_jobs_have_ended_is_empty(
    own_database: Database, own: Settings, jobs_conn: Conn, recorder: Recorder
) -> None:
    await queue.defer(jobs_conn, recorder.task, lane=queue.EXTERNAL, number=1)
    await database_metrics.measure_queue(own_database)
    await queue.run_pending(own_database, own)
    await database_metrics.measure_queue(own_database)
    assert read("builders_jobs", lane="external", state="waiting") == 0
    assert read("builders_oldest_job_seconds", lane="external") == 0


async def test_connections_to_other_databases_do_not_count_for_the_limit_of_one(
    own_database: Database, own: Settings, server: str
) -> None:
    assert own.database_url is not None
    async with own_database.connection() as conn, await AsyncConnection.connect(server) as other:
        assert other
        (name,) = await (await conn.execute("SELECT current_database()")).fetchone() or ("",)
        limit = sql.SQL("ALTER DATABASE {} CONNECTION LIMIT {}")
        await conn.execute(
            limit.format(sql.Identifier(name), 1)
        )  # nearer than that of the server, also under load
        try:
            await database_metrics.measure_database(own_database)
        finally:
            await conn.execute(limit.format(sql.Identifier(name), -1))
        count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        (ours,) = await (await conn.execute(count)).fetchone() or (0,)
    assert read("builders_database_max_connections") == 1
    assert read("builders_database_connections") <= ours


async def test_a_worker_measures_with_a_port_only(database: Database, settings: Settings) -> None:
    assert database_metrics in JOBS
    async with worker_metrics.measuring(database, settings=settings):
        assert settings.metrics_port is None
