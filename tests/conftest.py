"""Fixtures: the service on PostgreSQL, and the people Alice, Bob (another account) and Dana (another preset)."""

import asyncio
import gc
import os
import shutil
import signal
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import hypothesis
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped] # it has no types

from builders import worker
from builders.app import GC_THRESHOLDS, Service, create_app, lifespan
from builders.cli.embedded.server import EmbeddedServer
from builders.identity.records import Preset
from builders.kit.db import connections, migrations
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from tests import log_lines
from tests.cast import Client, Person, make_person
from tests.citus import cluster
from tests.demo_server import demo, demo_in_a_year, registrars
from tests.random_cases import cases
from tests.shared_servers import NEXT_TEST, end_all, group_of

__all__ = ["demo", "demo_in_a_year", "registrars"]

log_lines.write_errors_only()
os.environ.setdefault("BUILDERS_EXCHANGE_RATES", "off")  # workers of tests would load 230,000 rates
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell and its children ignore it
hypothesis.settings.register_profile("tests", cases(10))
hypothesis.settings.load_profile("tests")
sys.modules["sniffio"] = None  # type: ignore[assignment] # httpx would look for it on the disk in each request
gc.disable()  # until all tests are collected: what is imported stays, and to look through it takes long

JOBS = worker.JOBS  # importing them declares the tasks that requests enqueue by name
MakePerson = Callable[..., Awaitable[Person]]
SWEEP = """
    CREATE FUNCTION pg_temp.sweep() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        DELETE FROM procrastinate_jobs WHERE status IN ('todo', 'doing');
        DELETE FROM kit_outbox_pending;
        UPDATE mail_messages SET next_try_at = NULL WHERE next_try_at IS NOT NULL;
        UPDATE domains_domains SET next_check_at = NULL WHERE next_check_at IS NOT NULL;
        UPDATE aliases SET renews_at = NULL WHERE renews_at IS NOT NULL AND status IN ('active', 'disabled');
        UPDATE aliases_destinations SET ask_at = NULL WHERE ask_at IS NOT NULL;
        UPDATE invoices_invoices SET status = 'void', voided_at = now() WHERE status = 'open';
        UPDATE plans_promotions SET status = 'failed', finished_at = now() WHERE status = 'running';
        UPDATE portfolio_runs_parts SET state = 'failed', finished_at = now() WHERE state IN ('queued', 'running');
        UPDATE portfolio_transfers SET next_check_at = NULL WHERE next_check_at IS NOT NULL;
        UPDATE erasure_requests SET next_at = NULL WHERE next_at IS NOT NULL;
        DELETE FROM kit_quotas;
        UPDATE portfolio_domains SET lifecycle_due_at = NULL WHERE lifecycle_due_at IS NOT NULL;
    END $$
"""  # a function, because PostgreSQL keeps the plans of its statements


ROOT = Path(__file__).parents[1]
# These start, stop, kill or freeze processes: a lane of their own, which `script/test --all` runs after the rest.
PROCESSES = (
    "tests/bench/",
    "tests/cli/",
    "tests/clients/python/cli/test_output.py",
    "tests/clients/test_python.py",
    "tests/deployed/",
    "tests/docs/test_how_tos.py",
    "tests/docs/test_project_files.py",
    "tests/docs/test_python_client.py",
    "tests/docs/test_readme.py",
    "tests/docs/test_snippets.py",
    "tests/examples/",
    "tests/fuzz/",
    "tests/kit/db/test_standby.py",
    "tests/kit/db/test_synchronous_commit.py",
    "tests/kit/jobs/test_workers.py",
    "tests/plans/test_crash",
    "tests/setup/",
    "tests/tracking/test_crash.py",
    "tests/webhooks/engine/test_killed_workers.py",
)
# What takes longest comes first, so that all workers end at about the same time.
LONGEST = (
    "tests/fuzz/",
    "tests/docs/",
    "tests/examples/",
    "tests/deployed/",
    "tests/cli/embedded/",
    "tests/cli/test_processes.py",
    "tests/cli/test_faults.py",
    "tests/cli/test_serve.py",
    "tests/architecture/",
    "tests/console/",
    "tests/plans/",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that chooses a lane."""
    parser.addoption("--lane", choices=["processes", "rest"], help="run the tests of this lane only")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of the other lane."""
    lane = config.getoption("lane")
    if lane is None or collection_path.suffix != ".py":
        return None
    is_of_processes = collection_path.relative_to(ROOT).as_posix().startswith(PROCESSES)
    return None if is_of_processes == (lane == "processes") else True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the longest tests."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


class Scheduling(LoadFileScheduling):  # type: ignore[misc] # xdist has no types
    """Run the tests of a file, or of a group of files, in one worker."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Scheduling:
    """Return the scheduler of all runs with several workers."""
    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Say which test comes next: what tests of a group share ends with the last one."""
    item.session.stash[NEXT_TEST] = "" if nextitem is None else nextitem.nodeid


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Look through the log lines of processes."""
    report = yield
    log_lines.check_report(report)
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End what a stopped run leaves."""
    end_all(session)


def pytest_collection_finish() -> None:
    """Exclude the imported tests from garbage collection, which is then as rare as in a process that serves."""
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Return a PostgreSQL server: that of BUILDERS_TEST_DATABASE_URL, else an embedded one for all workers."""
    given = os.environ.get("BUILDERS_TEST_DATABASE_URL")
    if given:
        yield given
        return
    # One for all xdist workers of a run, beside pytest's folders, which only root could pass through as root.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid.uuid4().hex)
    folder = Path(tempfile.gettempdir()) / f"builders-tests-{run[:16]}"
    folder.mkdir(mode=0o711, exist_ok=True)
    with EmbeddedServer(folder, durable=False) as embedded:
        with psycopg.connect(embedded.conninfo, autocommit=True) as conn:
            # A test that does not let the pool sign in would else hold up everybody's DROP DATABASE for a minute.
            conn.execute("ALTER SYSTEM SET authentication_timeout = '5s'")
            conn.execute("SELECT pg_reload_conf()")
        yield embedded.conninfo
    if not (folder / "postgres" / "cluster" / "postmaster.pid").exists():  # we were the last to use it
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def conninfo(server: str) -> Iterator[str]:
    """Return a migrated database of this test process, distributed if BUILDERS_TEST_CITUS_URL names a cluster."""
    if cluster.URL is not None:
        with cluster.distributed_database(cluster.URL) as distributed:
            yield distributed
        return
    name = f"test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    own = make_conninfo(server, dbname=name)
    migrations.migrate(own)
    yield own
    if os.environ.get("BUILDERS_TEST_DATABASE_URL"):  # a server of our own goes with its folder, which is faster
        with psycopg.connect(server, autocommit=True) as conn:
            conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def settings(conninfo: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Return the settings of the service under test."""
    values: dict[str, Any] = {
        "database_url": conninfo,
        "data_dir": tmp_path_factory.mktemp("data"),
        "key_cache_s": 1,
        "base_url": "http://builders.test",
        "limits": "off",  # the whole suite asks from one address; tests of limits have services of their own
    }
    return Settings(**values)


@pytest.fixture(scope="session")
async def service(settings: Settings) -> AsyncIterator[Service]:
    """Return the running service."""
    app = create_app(settings)
    async with lifespan(app.api):
        await app.api.state.database.pool.wait()  # or a test that is not async would stop it half-way
        yield app


@pytest.fixture
def database(service: Service) -> Database:
    """Return the pool of the service."""
    pool: Database = service.api.state.database
    return pool


@pytest.fixture
async def conn(database: Database) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    """Return a connection in autocommit mode."""
    async with database.connection() as connection:
        connections.start_without_connection()  # a request of the test runs as on a server: in a task of its own
        yield connection


@pytest.fixture
async def people(service: Service) -> AsyncIterator[MakePerson]:
    """Return a function that creates people, each with an account."""
    made: list[Person] = []

    async def make(name: str = "someone", preset: Preset = Preset.DEVELOPER_FULL, **options: Any) -> Person:
        made.append(await make_person(service, name=name, preset=preset, **options))
        return made[-1]

    yield make
    await asyncio.gather(*(person.aclose() for person in made))


@pytest.fixture
async def alice(people: MakePerson) -> Person:
    """Return the owner of a test's resources; `alice` has a live key, `alice.test` a test key."""
    return await people("alice")


@pytest.fixture
async def bob(people: MakePerson) -> Person:
    """Return a person with another account."""
    return await people("bob")


@pytest.fixture
async def dana(people: MakePerson) -> Person:
    """Return a person whose key has another preset than the developers'."""
    return await people("dana", Preset.DOMAINER_FULL)


@pytest.fixture
async def anyone(service: Service) -> AsyncIterator[Client]:
    """Return a client without credentials."""
    async with Client(service) as client:
        yield client


@pytest.fixture(autouse=True)
def _clock() -> Iterator[None]:
    yield
    clock.reset()
    with clock.moved(-timedelta(days=1)):
        ids.new()  # the next test has ids of its time: they stay ahead when the clock goes back by seconds


StopClock = Callable[[datetime], None]
INSTANT = timedelta(microseconds=1)  # the smallest step of time: of the clock and of PostgreSQL


@pytest.fixture
def stop_clock(monkeypatch: pytest.MonkeyPatch) -> StopClock:
    """Return a function that lets the time stand still, so that a test meets the exact instant of a bound."""
    return lambda at: monkeypatch.setattr(clock, "now", lambda: at)


@pytest.fixture(scope="session")
def sweeper(conninfo: str) -> Iterator[psycopg.Connection]:
    """Return a connection outside the pool of the service, with the function `pg_temp.sweep`."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(SWEEP)
        yield connection


@pytest.fixture(autouse=True)
def _nothing_left_to_do(request: pytest.FixtureRequest) -> Iterator[None]:
    """Delete pending jobs and sent mail, and end what jobs would look for: the next test meets its own alone."""
    ours = "service" in request.fixturenames
    if not ours:
        yield
        return
    sweeping: psycopg.Connection = request.getfixturevalue("sweeper")
    outbox: Path = request.getfixturevalue("settings").data_dir / "outbox"
    yield
    sweeping.execute("SELECT pg_temp.sweep()")
    for file in outbox.glob("*.eml"):
        file.unlink()


@pytest.fixture(autouse=True)
def _logs_hold_ids_only(request: pytest.FixtureRequest, _nothing_left_to_do: None) -> Iterator[None]:
    """Fail a test in which the service logs an address, a subject or a token: a log is read by more people."""
    ours = "service" in request.fixturenames
    with log_lines.checked(request.getfixturevalue("settings").data_dir / "outbox" if ours else None):
        yield


@pytest.fixture
def assets(settings: Settings) -> Path:
    """Return the folder of catalog images."""
    folder = settings.data_dir / "assets"
    folder.mkdir(exist_ok=True)
    return folder
