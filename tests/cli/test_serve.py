import errno
import http.client
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from builders.cli import serve, session
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cli.conftest import Cli
from tests.cli.embedded.servers import wait_until
from tests.cli.serving import Serving, builders, data_folder

NEVER = "/v1/events?wait=20&since=2999-01-01T00:00:00Z"
ACCOUNT = ("--account", "ada@example.net")
NAMED = Settings(database_url=SecretStr("postgresql://nobody.invalid/none"))  # not contacted


@pytest.fixture
def data() -> Iterator[Path]:
    """Return a data folder that does not exist."""
    with data_folder() as folder:
        yield folder


def test_a_slow_start_is_said_once_and_ends_with_the_address_and_the_keys(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    answers = iter([False, False, False, True])

    def is_ready(*_: object) -> bool:
        clock.move(timedelta(minutes=2))
        return next(answers)

    monkeypatch.setattr(serve, "is_ready", is_ready)
    serve._announce(Settings(), "developer_full live svc_live_1", threading.Event())
    said = capfd.readouterr().err
    assert said.count("does not respond at http://127.0.0.1:8000 yet") == 1
    assert said.index("Builders responds at ") < said.index("svc_live_1")


def test_serve_starts_on_an_empty_folder_and_stops_all_processes(data: Path) -> None:
    with Serving(data) as serving:
        serving.wait()
        secret = new_key(data)

        assert serving.status("/livez") == 200
        assert serving.status("/v1/api-keys", secret) == 200
        assert serving.status("/v1/api-keys") == 401
        log = serving.log()
        steps = (
            "Starting PostgreSQL in ",
            "Preparing the database",
            "Starting http-1, worker ...",
            "Builders responds at ",
        )
        places = [log.index(step) for step in steps]
        assert places == sorted(places)
        assert f"Builders responds at http://127.0.0.1:{serving.port}" in log

        waiting = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=15)
        waiting.request("GET", NEVER, headers={"X-API-Key": secret})
        assert serving.status("/v1/events", secret) == 200  # the earlier request is being answered

        serving.parent.terminate()
        assert waiting.getresponse().status == 200  # before the timeout of 20 seconds
        assert serving.stop() == 0
        waiting.close()
        assert serving.remaining() == []
        assert secret not in serving.log()

    listed = builders(data, "keys", "list", *ACCOUNT, "--json")  # which starts the database
    assert [item["last4"] for item in json.loads(listed.stdout)] == [secret[-4:]]
    assert serving.remaining() == []


def test_the_port_refuses_connections_until_a_process_can_answer() -> None:
    with serve._bind(Settings(port=0)) as bound, socket.socket() as client:
        assert client.connect_ex(bound.getsockname()) == errno.ECONNREFUSED


def new_key(data: Path) -> str:
    """Return the secret of a key of a new account."""
    made = builders(data, "accounts", "create", "--email", "ada@example.net")
    key = builders(data, "keys", "create", *ACCOUNT, "--kind", "live", "--preset", "developer_full")
    assert (made.returncode, key.returncode) == (0, 0), made.stderr + key.stderr
    return key.stdout.strip()


def test_a_machine_runs_either_http_or_the_worker(builders: Cli) -> None:
    result = builders("serve", "--http-only", "--worker-only")
    assert (result.exit_code, "Choose one of" in result.stderr) == (2, True)


def test_a_stopped_start_leaves_no_process(data: Path) -> None:
    with Serving(data, "--demo") as serving:
        wait_until(lambda: any(data.glob("tmp*")))  # the demo's images are being drawn
        [loading] = serving.children("demo")
        assert os.getsid(loading.pid) == loading.pid  # only its parent signals it

        assert serving.stop() == 128 + signal.SIGTERM
        assert serving.remaining() == []
        assert not any(data.glob("tmp*"))
        assert "Traceback" not in serving.log()


def test_a_killed_load_of_the_demo_is_reported(
    builders: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = tmp_path / "sitecustomize.py"  # every Python process that the command starts imports it
    killed.write_text("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    result = builders("serve", "--demo")
    assert (result.exit_code, "The demo was not loaded: signal 9" in result.stderr) == (1, True)


def test_a_second_signal_does_not_interrupt_the_clean_up() -> None:
    cleared: list[str] = []

    def work() -> None:
        with session.connected(NAMED, migrated=False):
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                signal.raise_signal(signal.SIGTERM)
                signal.raise_signal(signal.SIGHUP)
                cleared.append("all")

    with pytest.raises(SystemExit) as ended:
        work()
    assert (ended.value.code, cleared) == (128 + signal.SIGTERM, ["all"])


def test_the_start_ends_with_the_demo_keys() -> None:
    keys = "  developer_full  test svc_test_x"
    said = serve._summary(Settings(port=8123), keys).strip().splitlines()

    assert said[0].startswith("Builders responds at http://127.0.0.1:8123 ")
    assert said[1:3] == ["Demo keys, for the header X-API-Key:", keys]
