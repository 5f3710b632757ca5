"""`builders status` and `builders reload`."""

import json
from datetime import timedelta

import psycopg
import pytest

from builders.kit.process.version import VERSION
from tests.cli.conftest import Cli
from tests.cli.embedded.servers import lives, wait_until
from tests.cli.serving import Serving, builders as builders_process, data_folder

ALIVE = "INSERT INTO procrastinate_workers (last_heartbeat) SELECT now() - %s FROM generate_series(1, 3)"
WAITING = """
    INSERT INTO procrastinate_jobs (queue_name, task_name, status, scheduled_at)
    VALUES ('status', 'a', 'todo', NULL), ('status', 'a', 'todo', now() + interval '1 hour'),
           ('status', 'a', 'failed', NULL)
"""


@pytest.mark.parametrize(("age_s", "exit_code"), [(5, 0), (40, 1), (None, 1)])
def test_the_exit_status_says_whether_a_worker_responds(
    builders: Cli, unused_database: str, age_s: int | None, exit_code: int
) -> None:
    with psycopg.connect(unused_database, autocommit=True) as conn:
        conn.execute("DELETE FROM procrastinate_workers")
        if age_s is not None:
            conn.execute(ALIVE, [timedelta(seconds=age_s)])
        result = builders("status", "--json")
        text = builders("status")
        conn.execute("DELETE FROM procrastinate_workers")
    found = json.loads(result.stdout)
    assert (result.exit_code, text.exit_code, found["is_well"]) == (exit_code, exit_code, exit_code == 0)
    assert (found["version"], found["pending_migrations"], found["last_backup"]) == (VERSION, [], None)
    assert found["lanes_served"] == (3 if exit_code == 0 else 0)
    assert f"workers      {1 if exit_code == 0 else 0} respond" in text.stdout
    assert ("none runs" in text.stdout) is (age_s is None)


def test_the_jobs_of_each_lane_are_counted(builders: Cli, unused_database: str) -> None:
    with psycopg.connect(unused_database, autocommit=True) as conn:
        conn.execute(WAITING)
        try:
            lanes = json.loads(builders("status", "--json").stdout)["lanes"]
            text = builders("status").stdout
        finally:
            conn.execute("DELETE FROM procrastinate_jobs WHERE queue_name = 'status'")
    (lane,) = [each for each in lanes if each["lane"] == "status"]
    assert (lane["waiting"], lane["planned"], lane["running"], lane["failed"]) == (1, 1, 0, 1)
    assert lane["oldest_at"] is not None
    assert "OLDEST" in text


def test_reload_replaces_the_processes_of_the_one_serve(unused_database: str) -> None:
    with data_folder() as data, Serving(data, BUILDERS_DATABASE_URL=unused_database) as running:
        running.wait()
        wait_until(lambda: running.is_whole(workers=1))
        former = running.children("http")
        seen = builders_process(data, "status", BUILDERS_DATABASE_URL=unused_database).stdout
        reloaded = builders_process(data, "reload")
        assert (reloaded.returncode, reloaded.stderr) == (0, "")
        wait_until(lambda: not any(map(lives, former)))
        wait_until(lambda: running.is_whole(workers=1))
    assert "http-1 " in seen


def test_reload_needs_a_serve(command: Cli) -> None:
    result = command("reload")
    assert result.exit_code == 1
    assert "No `builders serve` runs with this data folder." in result.stderr


def test_an_empty_database_is_said(command: Cli, plain_environment: pytest.MonkeyPatch, conninfo: str) -> None:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("CREATE DATABASE status_empty TEMPLATE template0")
        try:
            empty = psycopg.conninfo.make_conninfo(conninfo, dbname="status_empty")
            plain_environment.setenv("BUILDERS_DATABASE_URL", empty)
            result = command("status")
        finally:
            conn.execute("DROP DATABASE status_empty WITH (FORCE)")
    assert result.exit_code == 1
    assert result.stderr == "Error: The database is empty. Start the service by `builders serve`.\n"
