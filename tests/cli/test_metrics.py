"""The metrics that `builders serve` serves for all its processes."""

import re
import signal
import urllib.request
from collections.abc import Iterator

import psutil
import pytest

from tests.cli.embedded.servers import wait_until
from tests.cli.serving import Serving, data_folder, free_port

ANSWERED = 'builders_http_request_seconds_count{operation="probes_livez",result="answered"}'


def read(port: int) -> dict[str, float]:
    """Return the value of each series."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
        text = response.read().decode()
    return {name: float(value) for name, value in re.findall(r"^([^#\n]+) (\S+)$", text, re.MULTILINE)}


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def serving(port: int) -> Iterator[Serving]:
    with data_folder() as data, Serving(data, "--workers", "2", BUILDERS_METRICS_PORT=str(port)) as running:
        running.wait()
        yield running


def test_a_sum_never_falls_when_a_process_is_killed(serving: Serving, port: int) -> None:
    for _ in range(20):
        assert serving.status("/livez") == 200
    wait_until(lambda: read(port)[ANSWERED] >= 20)  # a request is counted after its response
    before = read(port)[ANSWERED]
    former = serving.children("http")[0]
    former.send_signal(signal.SIGKILL)
    wait_until(lambda: not former.is_running() or former.status() == psutil.STATUS_ZOMBIE)
    assert read(port)[ANSWERED] >= before
    wait_until(serving.is_ready)
    assert serving.status("/livez") == 200
    wait_until(lambda: read(port)[ANSWERED] > before)


def test_each_process_reports_the_lag_of_its_loop(serving: Serving, port: int) -> None:
    lags = ('builders_loop_lag_seconds_count{process="http"}', 'builders_loop_lag_seconds_count{process="worker"}')
    assert serving.is_ready()
    wait_until(lambda: all(read(port).get(each) for each in lags))


def test_the_worker_measures_the_database(serving: Serving, port: int) -> None:
    wait_until(lambda: read(port).get("builders_database_bytes", 0) > 0)
    assert serving.is_ready()
