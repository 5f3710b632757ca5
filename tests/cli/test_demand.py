"""What the processes of a service open of the database's connections, and what they need beside it."""

import json
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from builders.cli import doctor
from builders.kit.db import demand
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.cli.conftest import Cli
from tests.cli.embedded.servers import wait_until
from tests.cli.serving import Serving, builders as builders_process, data_folder, free_port

ROOT = Path(__file__).parents[2]
SIZE = 3
COUNT = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'builders' AND backend_type = 'client backend'
"""
TIMEOUTS = ("LOCK_TIMEOUT_S", "STATEMENT_TIMEOUT_S", "DATABASE_ANSWER_TIMEOUT_S")
PATIENT = {"BUILDERS_POOL_TIMEOUT_S": "30"} | {f"BUILDERS_{name}": "300" for name in TIMEOUTS}
POOLED = {
    "database_pooled": True,
    "database_url": SecretStr("postgresql://pool/b"),
    "database_direct_url": SecretStr("postgresql://db/b"),
}


def test_a_service_under_load_opens_what_is_computed(unused_database: str) -> None:
    settings = Settings(pool_size=SIZE)
    given = {"BUILDERS_DATABASE_URL": unused_database, "BUILDERS_POOL_SIZE": str(SIZE), "BUILDERS_LIMITS": "off"}
    most = demand.of_parts(["http-1", "worker"], settings).of_server(settings)
    with data_folder() as data, psycopg.connect(unused_database, autocommit=True) as conn, ExitStack() as stack:

        def count() -> int:
            ((found,),) = conn.execute(COUNT).fetchall()
            return int(found)

        keys = [create_key(data, **given) for _ in range(SIZE)]  # an account has one heavy request at a time
        before = count()
        holder = stack.enter_context(psycopg.connect(unused_database))
        # The dispatcher, the sender and the jobs of the start wait for these, as do the requests.
        holder.execute("LOCK TABLE kit_outbox_pending, webhooks_deliveries, mail_messages, portfolio_domains")
        running = stack.enter_context(Serving(data, port=None, **given, **PATIENT))
        running.wait()
        over = threading.Event()

        def ask(path: str, key: str = "", within_s: float = 5) -> None:
            while not over.is_set():
                running.status(path, key, within_s=within_s)

        clients = stack.enter_context(ThreadPoolExecutor(4 * SIZE))
        stack.callback(over.set)
        for key in keys:
            # It keeps its connection of the second loop, and first needs a main one, which the others leave.
            clients.submit(ask, "/v1/portfolio/summary", key, 300)
            clients.submit(ask, "/v1/portfolio/domains", key)
            clients.submit(ask, "/v1/portfolio/domains", key)
            clients.submit(ask, "/readyz")
        # The worker looks for jobs of killed workers once a minute; /readyz seldom needs both of its connections.
        wait_until(lambda: count() - before >= most - demand.LOCKS - demand.PROBES)
        assert count() - before <= most
        over.set()
        holder.rollback()
        assert running.stop() == 0


def create_key(data: Path, **given: str) -> str:
    """Return a key of a new account."""
    email = f"ada-{ids.new().hex}@example.net"
    assert builders_process(data, "accounts", "create", "--email", email, **given).returncode == 0
    words = ("keys", "create", "--account", email, "--kind", "live", "--preset", "domainer_full", "--json")
    secret: str = json.loads(builders_process(data, *words, **given).stdout)["secret"]
    return secret


@pytest.mark.parametrize(
    ("settings", "pooled", "direct"),
    [
        (Settings(), 10 + 4 + 2 + 10, 4),
        (Settings(pool_size=1), 1 + 1 + 2 + 1, 4),
        (Settings(pool_size=200), 200 + 4 + 2 + 200, 4),
    ],
)
def test_a_small_pool_bounds_all_of_a_process(settings: Settings, pooled: int, direct: int) -> None:
    found = demand.of_parts(["http-1", "worker"], settings)
    assert found == demand.Demand(pooled, direct)
    assert found.of_server(settings) == pooled + direct
    assert found.of_server(settings.model_copy(update=POOLED)) == direct


def test_all_processes_are_counted() -> None:
    settings = Settings.model_validate(
        {"lookup_listen": "127.0.0.1:9470", "filter_listen": "127.0.0.1:9471", "mail_log": "/var/log/mail"}
    )
    parts = demand.list_usual_parts(settings)
    assert parts == ["http-1", "worker", "lookup", "filter", "mail-log"]
    assert demand.of_parts(parts, settings).of_server(settings) == 30 + 11 + 10 + 1


@pytest.mark.parametrize("word", ["serve", "doctor"])
def test_a_pool_beyond_the_connections_of_the_server_is_refused(
    builders: Cli, plain_environment: pytest.MonkeyPatch, word: str
) -> None:
    plain_environment.setenv("BUILDERS_POOL_SIZE", "200")
    result = builders(word)
    assert result.exit_code == (os.EX_CONFIG if word == "serve" else 1)
    assert "http-1, worker open up to 410 connections, and the server allows " in result.output
    assert demand.LOWER in result.output


def test_the_limit_of_a_role_counts(unused_database: str) -> None:
    with psycopg.connect(unused_database, autocommit=True) as conn:
        conn.execute("CREATE ROLE builders_few LOGIN SUPERUSER PASSWORD 'few' CONNECTION LIMIT 7")
        try:
            few = psycopg.conninfo.make_conninfo(unused_database, user="builders_few", password="few")
            limit, connected = demand.read_limit(few)
        finally:
            conn.execute("DROP ROLE builders_few")
    assert limit == 7
    assert connected >= 1
    assert demand.find_excess(["mail-log"], Settings(), limit) is None
    assert demand.find_excess(["filter"], Settings(pool_size=7), limit) is None
    assert demand.find_excess(["filter"], Settings(pool_size=8), limit) is not None


def test_a_server_without_a_connection_left_is_not_said_to_be_down(unused_database: str) -> None:
    with psycopg.connect(unused_database, autocommit=True) as conn:
        conn.execute("CREATE ROLE builders_none LOGIN PASSWORD 'none' CONNECTION LIMIT 0")
        try:
            none = psycopg.conninfo.make_conninfo(unused_database, user="builders_none", password="none")
            [found] = doctor.check_server(none)
        finally:
            conn.execute("DROP ROLE builders_none")
    assert "too many connections for role" in found.detail
    assert found.next_action == doctor.FULL


@pytest.mark.parametrize(
    "said",
    [
        "FATAL:  sorry, too many clients already",
        "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
        "FATAL:  no more connections allowed (max_client_conn)",
    ],
)
def test_each_text_of_a_full_server_has_the_remedy(said: str) -> None:
    assert doctor.remedy_of(said) == doctor.FULL


@pytest.mark.parametrize("words", [("worker",), ("serve", "--worker-only")])
def test_a_taken_port_of_metrics_ends_the_start(
    builders: Cli, plain_environment: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        plain_environment.setenv("BUILDERS_METRICS_PORT", str(port))
        result = builders(*words)
    assert result.exit_code == 1
    assert f"BUILDERS_METRICS_PORT, {port}: Address already in use" in result.stderr


def test_a_host_of_metrics_that_is_none_ends_the_start(
    builders: Cli, plain_environment: pytest.MonkeyPatch
) -> None:
    plain_environment.setenv("BUILDERS_METRICS_HOST", "no.such.host.invalid")
    plain_environment.setenv("BUILDERS_METRICS_PORT", str(free_port()))
    result = builders("worker")
    assert result.exit_code == 1
    assert "BUILDERS_METRICS_HOST, no.such.host.invalid" in result.stderr


def test_the_numbers_of_the_page_are_those_of_the_program() -> None:
    text = (ROOT / "docs/how-to/use-your-own-postgresql.md").read_text(encoding="utf-8")
    names = {
        "http-1": "an HTTP process",
        "worker": "the worker",
        "lookup": "the look-up server",
        "filter": "the mail filter",
        "mail-log": "the reader of the mail log",
    }
    for part, name in names.items():
        assert f"| {name} | {demand.of_part(part, Settings()).of_server(Settings())} |" in text
    of_four = demand.of_parts(["http-1", "http-2", "http-3", "http-4", "worker"], Settings())
    usual = demand.of_parts(demand.list_usual_parts(Settings()), Settings())
    said = f"`builders serve` opens up to {usual.of_server(Settings())}, and with `--workers 4` up to "
    assert f"{said}{of_four.of_server(Settings())}." in text
