import json
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.serving import Serving, builders, free_port
from tests.kit.embedded.servers import kill, leftovers, lives, postmaster, processes, wait_until


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """A data folder where PostgreSQL's user may pass, unlike pytest's; the service runs in the one around it."""
    folder = Path(tempfile.mkdtemp(prefix="builders-serve-"))
    folder.chmod(0o755)
    (folder / "redis.py").write_text("raise SystemExit('a module was taken from the current folder')")
    yield folder / "data"
    kill(*processes(folder / "data"), *processes(folder / "running"))
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def running(data: Path) -> Iterator[Serving]:
    """A service with two HTTP processes; a test leaves it whole."""
    with Serving(data.with_name("running"), "--workers", "2") as serving:
        serving.wait()
        wait_until(lambda: serving.is_whole(workers=2))
        yield serving


def test_it_serves_from_an_empty_folder_and_stops_without_a_trace(data: Path) -> None:
    with Serving(data) as serving:
        serving.wait()
        account = ("--account", "ada@example.net")
        made = builders(data, "accounts", "create", "--email", "ada@example.net")
        key = builders(data, "keys", "create", *account, "--kind", "live", "--preset", "developer_full")
        secret = key.stdout.strip()

        assert (made.returncode, key.returncode) == (0, 0), made.stderr + key.stderr
        assert serving.status("/livez") == 200
        assert serving.status("/v1/api-keys", secret) == 200
        assert serving.status("/v1/api-keys") == 401
        assert f"Builders answers at http://127.0.0.1:{serving.port}" in serving.log()

        begin = time.monotonic()
        assert serving.stop() == 0
        assert time.monotonic() - begin < 10
        assert serving.remaining() == []
        assert secret not in serving.log()

    listed = builders(data, "keys", "list", *account, "--json")  # the database is started for it
    assert [item["last4"] for item in json.loads(listed.stdout)] == [secret[-4:]]
    assert serving.remaining() == []


def test_the_doctor_finds_a_running_service_well(running: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILDERS_PORT", str(running.port))

    found = builders(running.data, "doctor")

    assert found.returncode == 0, found.stdout
    assert f"ok     port: 127.0.0.1 port {running.port} is where the service answers." in found.stdout


def test_after_a_kill_the_children_end_and_the_next_start_has_the_port(data: Path) -> None:
    with Serving(data) as killed:
        killed.wait()
        killed.look()
        kill(killed.parent)
        # At once, as a service manager would: the children may not have gone yet.
        with Serving(data, port=killed.port) as serving:
            wait_until(lambda: not any(map(lives, killed.family)))
            serving.wait()
            assert serving.stop(signal.SIGINT) == 0
            assert serving.remaining() == []


def test_a_start_that_is_told_to_stop_leaves_nobody(data: Path) -> None:
    with Serving(data, "--demo") as serving:
        wait_until(lambda: any(data.glob("tmp*")))  # it draws the demo's images

        assert serving.stop() == 128 + signal.SIGTERM
        assert serving.remaining() == []
        assert not any(data.glob("tmp*"))
        assert "Traceback" not in serving.log()


def test_the_database_is_started_again_and_requests_recover(running: Serving) -> None:
    before = postmaster(running.data)
    kill(before)

    wait_until(lambda: leftovers(running.data).find_postmaster() not in {None, before.pid})
    running.wait()

    wait_until(lambda: running.is_whole(workers=2))  # the worker too, if it ended with the database


@pytest.mark.parametrize(("command", "workers"), [("worker", 1), ("http", 2)])
def test_a_child_that_dies_is_started_again(running: Serving, command: str, workers: int) -> None:
    victim, *others = running.children(command)
    kill(victim)

    wait_until(lambda: running.is_whole(workers=2))

    assert len(running.children(command)) == workers
    assert victim not in running.children(command)
    assert set(others) <= set(running.children(command))
    running.wait()


def test_while_one_http_process_is_gone_the_other_answers(running: Serving) -> None:
    victim, other = running.children("http")
    kill(victim)

    statuses = [running.status("/livez") for _ in range(10)]

    assert other in running.children("http")
    wait_until(lambda: running.is_whole(workers=2))
    assert statuses.count(200) >= 9  # the one that had just been taken on by the dead is lost


@pytest.mark.parametrize("held", [0, 1])
def test_the_http_processes_share_the_port(running: Serving, held: int) -> None:
    process = running.children("http")[held]
    process.suspend()

    statuses = [running.status("/livez") for _ in range(5)]

    process.resume()
    assert statuses == [200] * 5


def test_a_second_service_shares_the_database_but_not_the_port(running: Serving) -> None:
    taken = builders(running.data, "serve", "--port", str(running.port))
    with Serving(running.data, port=free_port()) as second:
        second.wait()
        second.stop()
        running.wait()

    assert taken.returncode == 1
    assert "Address already in use" in taken.stderr
    assert "Traceback" not in taken.stderr
