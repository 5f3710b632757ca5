import fcntl
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import psycopg
import pytest
from psycopg.pq import PGconn

from builders.cli.embedded import locks, server
from builders.cli.embedded.server import EmbeddedServer
from builders.cli.embedded.system_user import EmbeddedServerError, choose_user
from tests.cli.embedded.servers import (
    QUICK,
    ask,
    kill,
    lives,
    postmaster,
    process_of,
    processes,
    python_path,
    read_answer,
    user_of,
    wait_until,
)

# A step of a turn that takes as long as we like.
STEP = """
import sys
from pathlib import Path
from builders.cli.embedded import locks, system_user
lock, begun, signal_pipe = map(Path, sys.argv[1:])
with locks.exclusive(lock, wait_s=0) as turn:
    me = system_user.SystemUser(uid=0, gid=0, must_switch=False, lock_fd=turn)
    me.shell('echo >"$1"; cat "$2"', begun, signal_pipe)
"""


def test_a_killed_server_starts_again(embedded: EmbeddedServer, data: Path) -> None:
    ask(embedded.conninfo, "DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT 7 AS n")
    kill(postmaster(data))

    with EmbeddedServer(data, durable=False, timing=QUICK) as again:
        assert ask(again.conninfo, "SELECT n FROM kept") == 7


def test_a_child_that_outlives_its_server_is_ended(embedded: EmbeddedServer, data: Path) -> None:
    # It computes, and so would never look up to see that its parent is gone.
    busy = PGconn.connect(embedded.conninfo.encode())
    busy.send_query(b"DO $$ BEGIN LOOP PERFORM 1; END LOOP; END $$")
    child = process_of(busy.backend_pid)
    wait_until(lambda: child.cmdline()[0].endswith(" DO"))
    kill(postmaster(data))
    assert lives(child)

    with EmbeddedServer(data, durable=False, timing=QUICK) as again:
        assert ask(again.conninfo, "SELECT 1") == 1

    assert not lives(child)
    busy.finish()


def test_data_survives_a_kill_of_all_processes(data: Path) -> None:
    with user_of(data) as user:
        conninfo = read_answer(user)
        ask(conninfo, "DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT 7 AS n")
        user.kill()
        kill(*processes(data))

    with EmbeddedServer(data, durable=False, timing=QUICK) as again:
        assert again.conninfo == conninfo
        assert ask(again.conninfo, "SELECT n FROM kept") == 7


def test_a_server_whose_users_were_killed_is_reused_and_stopped(data: Path) -> None:
    with user_of(data) as user:
        read_answer(user)
        pid = postmaster(data).pid
        user.kill()

    with EmbeddedServer(data, durable=False, timing=QUICK):
        assert postmaster(data).pid == pid

    assert processes(data) == []


def test_another_program_with_the_old_process_id_is_not_killed(embedded: EmbeddedServer, data: Path) -> None:
    account = choose_user(data / "postgres")
    with _sleeper(account.uid if account.must_switch else None) as other:
        kill(*processes(data))
        cluster_folder = data / "postgres" / "cluster"
        for file in (
            cluster_folder / "postmaster.pid",
            data / "postgres" / "socket" / ".s.PGSQL.5432.lock",
        ):
            rest = file.read_text().split("\n", 1)[1]
            file.write_text(f"{other.pid}\n{rest}")

        with EmbeddedServer(data, durable=False, timing=QUICK) as again:
            assert ask(again.conninfo, "SELECT 1") == 1
        embedded.stop()

        assert processes(data) == []
        assert other.poll() is None


def test_a_process_id_alone_does_not_identify_a_server(data: Path) -> None:
    account = choose_user(data / "postgres")
    with _sleeper(account.uid if account.must_switch else None) as other:
        (data / "postgres" / "cluster" / "postmaster.pid").write_text(f"{other.pid}\n")

        with locks.exclusive(data / "postgres.lock", wait_s=5) as turn:
            EmbeddedServer(data, durable=False, timing=QUICK)._open_cluster(turn).stop()

        assert other.poll() is None


def test_the_start_lock_is_held_until_the_children_of_a_killed_process_end(folder: Path) -> None:
    lock, begun, signal_pipe = folder / "lock", folder / "begun", folder / "signal_pipe"
    os.mkfifo(signal_pipe)
    with Popen([sys.executable, "-c", STEP, lock, begun, signal_pipe], env=python_path()) as killed:
        wait_until(begun.exists)
        killed.kill()

    with pytest.raises(EmbeddedServerError), locks.exclusive(lock, wait_s=0):
        pass
    signal_pipe.write_text("go on")
    with locks.exclusive(lock, wait_s=20) as turn:
        assert turn


def test_a_server_whose_socket_is_gone_is_replaced(embedded: EmbeddedServer, data: Path) -> None:
    lost = postmaster(data)
    (data / "postgres" / "socket" / ".s.PGSQL.5432").unlink()

    with EmbeddedServer(data, durable=False, timing=QUICK) as again:
        assert ask(again.conninfo, "SELECT 1") == 1

    assert not lives(lost)
    assert ask(embedded.conninfo, "SELECT 1") == 1


def test_the_watcher_restarts_a_killed_server(embedded: EmbeddedServer, data: Path) -> None:
    stop = threading.Event()
    watch = threading.Thread(target=embedded.watch, args=[stop])
    watch.start()
    try:
        for _ in range(2):
            killed = postmaster(data)
            kill(killed)
            wait_until(lambda: _answers(embedded))
            assert postmaster(data).pid != killed.pid
    finally:
        stop.set()
        watch.join(timeout=30)

    assert not watch.is_alive()


def test_the_watcher_does_not_restart_a_stopped_server(embedded: EmbeddedServer, data: Path) -> None:
    embedded.stop()

    embedded._check()

    assert processes(data) == []


def test_the_watcher_continues_after_a_failed_restart(
    embedded: EmbeddedServer, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []
    monkeypatch.setattr(server.logger, "error", lambda event, **reason: tries.append((event, reason)))
    settings = data / "postgres" / "cluster" / "postgresql.conf"
    good = settings.read_text()
    settings.write_text(good + "nonsense = on\n")
    stop = threading.Event()
    watch = threading.Thread(target=embedded.watch, args=[stop])
    kill(*processes(data))
    watch.start()
    try:
        wait_until(lambda: len(tries) > 1)
        settings.write_text(good)
        wait_until(lambda: _answers(embedded))
    finally:
        stop.set()
        watch.join(timeout=30)

    event, reason = tries[0]
    assert event == "embedded_postgresql_unavailable"
    assert "nonsense" in reason["reason"]


def test_a_process_reports_another_one_that_holds_the_lock(data: Path) -> None:
    hasty = server.Timing(lock_timeout_s=0.1)
    holder = locks.open_lock(data / "postgres.lock")
    fcntl.flock(holder, fcntl.LOCK_EX)
    try:
        with pytest.raises(EmbeddedServerError, match=r"Another process holds .*postgres\.lock"):
            EmbeddedServer(data, durable=False, timing=hasty).start()
    finally:
        os.close(holder)


def _answers(embedded: EmbeddedServer) -> bool:
    try:
        return ask(embedded.conninfo, "SELECT 1") == 1
    except psycopg.OperationalError:
        return False


@contextmanager
def _sleeper(uid: int | None) -> Iterator["Popen[bytes]"]:
    """Another program of the user that PostgreSQL runs as."""
    with Popen(["sleep", "300"], user=uid, cwd="/") as other:
        try:
            yield other
        finally:
            other.kill()
