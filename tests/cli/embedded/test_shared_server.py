import stat
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from builders.cli.embedded import directory
from builders.cli.embedded.server import EmbeddedServer
from builders.cli.embedded.system_user import EmbeddedServerError
from tests.cli.embedded.servers import ask, postmaster, processes, read_answer, user_of, wait_until


def test_the_database_has_the_expected_settings(shared: EmbeddedServer) -> None:
    answers = {
        "SELECT current_database() || '/' || current_user": "builders/builders",
        "SHOW listen_addresses": "",
        "SHOW data_checksums": "on",
        "SHOW server_encoding": "UTF8",
        "SHOW max_connections": "200",
        "SHOW synchronous_commit": "on",
        "SHOW timezone": "UTC",
        "SELECT string_agg(t, '' ORDER BY t) FROM unnest(ARRAY['b','a','B','é','z','_']) t": "B_abzé",
        "SELECT upper('é')": "É",
        "SELECT DISTINCT auth_method FROM pg_hba_file_rules": "scram-sha-256",
    }

    assert {question: ask(shared.conninfo, question) for question in answers} == answers


def test_the_password_is_in_a_private_file_only(shared: EmbeddedServer) -> None:
    file = Path(str(conninfo_to_dict(shared.conninfo)["passfile"]))
    password = file.read_text().split("\n")[0]

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(password) >= 40
    assert password not in shared.conninfo
    assert password not in repr(shared)


def test_a_password_in_the_environment_is_not_used(
    shared: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "wrong")
    monkeypatch.setenv("PGPORT", "1")

    assert ask(shared.conninfo, "SELECT 1") == 1


def test_nobody_gets_in_without_the_password(shared: EmbeddedServer) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(f"{shared.conninfo} password=wrong")


def test_environment_variables_of_the_service_do_not_reach_the_server(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGDATA", "/nowhere")

    with EmbeddedServer(data, durable=False) as embedded:
        assert ask(embedded.conninfo, "SHOW port") == "5432"


def test_a_conflicting_variable_is_reported(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSERVICE", "nowhere")

    with pytest.raises(EmbeddedServerError, match="PGSERVICE"):
        EmbeddedServer(data, durable=False).start()


def test_the_last_user_stops_the_server(data: Path) -> None:
    first, second = EmbeddedServer(data, durable=False), EmbeddedServer(data, durable=False)
    assert first.start() == second.start() == first.start()

    first.stop()
    first.stop()
    assert ask(second.conninfo, "SELECT 1") == 1
    second.stop()

    assert processes(data) == []
    with pytest.raises(EmbeddedServerError, match="not started"):
        _ = second.conninfo


def test_data_is_kept_over_a_restart(data: Path) -> None:
    with EmbeddedServer(data, durable=False) as first:
        ask(first.conninfo, "DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT 7 AS n")
    with EmbeddedServer(data, durable=False) as second:
        assert ask(second.conninfo, "SELECT n FROM kept") == 7


def test_three_processes_that_start_together_share_a_server(folder: Path) -> None:
    data = folder / "data"
    with ExitStack() as stack:
        users = [stack.enter_context(user_of(data)) for _ in range(3)]
        strings = {read_answer(user) for user in users}
        pid = postmaster(data).pid

        users[0].communicate(timeout=60)
        assert postmaster(data).pid == pid
        for user in users[1:]:
            user.communicate(timeout=60)

    assert len(strings) == 1
    assert [user.returncode for user in users] == [0, 0, 0]
    assert processes(data) == []


def test_a_long_log_is_rotated(embedded: EmbeddedServer, data: Path) -> None:
    log = data / "postgres" / "log"
    ask(embedded.conninfo, f"DO $$ BEGIN RAISE LOG 'before %', repeat('x', {directory.LOG_LIMIT}); END $$")

    embedded._check()

    ask(embedded.conninfo, "DO $$ BEGIN RAISE LOG 'after'; END $$")
    wait_until(lambda: "after" in log.read_text())
    assert "before" not in log.read_text()
    assert "before" in log.with_name("log.1").read_text()
