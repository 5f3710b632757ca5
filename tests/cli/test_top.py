"""`builders top`: what the processes of a service do, and for which accounts."""

import json
import signal
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from builders.cli.top import INTERVAL_S, _address, _largest, _name, _quantile_ms, _rate, _Rates
from builders.kit.db.connections import Database
from builders.kit.process import activity
from tests.cast import Person
from tests.cli.conftest import Cli
from tests.cli.embedded.servers import lives, wait_until
from tests.cli.serving import Serving, builders, data_folder

ADDRESS = "busy@example.net"


class WithKey(NamedTuple):
    """A running service, and a key of an account."""

    service: Serving
    key: str

    def send(self) -> int:
        return self.service.status("/v1/builders/projects", self.key)


@pytest.fixture(scope="module")
def serving() -> Iterator[WithKey]:
    with data_folder() as data, Serving(data, "--workers", "2") as running:
        running.wait()
        wait_until(lambda: running.is_whole(workers=2))
        assert builders(data, "accounts", "create", "--email", ADDRESS).returncode == 0
        words = ("keys", "create", "--account", ADDRESS, "--kind", "live", "--preset", "developer_full", "--json")
        yield WithKey(running, json.loads(builders(data, *words).stdout)["secret"])


def read(serving: WithKey) -> dict[str, Any]:
    done = builders(serving.service.data, "top", "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_busiest_account_has_its_address(serving: WithKey) -> None:
    for _ in range(5):
        assert serving.send() == 200
    found = read(serving)
    assert (ADDRESS, False) in {(each["email"], each["sandbox"]) for each in found["accounts"]}
    assert "projects_list_projects" in {each["operation"] for each in found["operations"]}
    assert found["requests"]["p95_ms"] > 0


async def test_a_sandbox_account_is_marked_by_its_owner(alice: Person, database: Database) -> None:
    real, sandbox = alice.account.id, alice.account.sandbox_id
    named = await _name(database, [{"id": str(real)}, {"id": str(sandbox)}])
    assert [(each["email"], each["sandbox"]) for each in named] == [
        (alice.account.email, False),
        (alice.account.email, True),
    ]
    assert _address(named[1]) == f"{alice.account.email} (sandbox)"


def test_all_processes_answer(serving: WithKey) -> None:
    names = [each.partition(".")[0] for each in read(serving)["processes"]]
    assert sorted(names) == ["http", "http", "worker"]


def test_the_screen_says_what_waits(serving: WithKey) -> None:
    serving.send()
    done = builders(serving.service.data, "top", "--once")
    assert done.returncode == 0, done.stderr
    heads = {line.partition("  ")[0] for line in done.stdout.splitlines()}
    assert heads >= {"requests", "jobs", "loop lag", "waits", "events", "deliveries", "emails", "disk", "database"}
    assert heads >= {"machine", "largest", "LANE", "OPERATION OR JOB", "BUSIEST ACCOUNT", "default", "long"}
    assert "undelivered: oldest" in done.stdout
    assert ADDRESS in done.stdout


def test_a_killed_process_is_left_out(serving: WithKey) -> None:
    former = serving.service.children("http")[0]
    former.send_signal(signal.SIGKILL)
    wait_until(lambda: not lives(former))
    assert f"http.{former.pid}" not in read(serving)["processes"]
    wait_until(serving.service.is_ready)


def test_top_needs_a_process(command: Cli) -> None:
    result = command("top")
    assert result.exit_code == 1
    assert "No process of the service runs with the data folder" in result.stderr


def test_the_largest_tables_come_first() -> None:
    sizes = {f"small_{at}": 1_000.0 for at in range(5)} | {"large": 3e9, "medium": 2e6}
    assert _largest(sizes)[:2] == ["large 3 GB", "medium 2 MB"]


def test_rates_are_those_of_all_processes() -> None:
    work = {"kind": "request", "number": 30, "refused": 6, "failed": 0, "busy_s": 3.0, "classes": {"0": 30}}
    one = {"window_s": 60, "names": {"probe": work}, "samples": [["a_total", {"result": "b"}, 4.0]]}
    rates = _Rates({}, {"http.1": one, "http.2": {**one, "window_s": 30}})
    (found,) = rates.works("names")
    assert (found["number"], found["refused"], found["busy_s"]) == pytest.approx((1.5, 0.3, 0.15))
    assert found["classes"] == {0: 60}
    assert rates.total("a_total", result="b") == 8 / INTERVAL_S


@pytest.mark.parametrize(("per_s", "shown"), [(0, "0.00/s"), (0.016, "0.02/s"), (0.1, "0.1/s"), (12.34, "12.3/s")])
def test_a_low_rate_is_not_shown_as_none(per_s: float, shown: str) -> None:
    assert _rate(per_s) == shown


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_a_quantile_is_exact_to_five_percent(share: float) -> None:
    seconds = [number / 1000 for number in range(1, 1001)]
    for each in seconds:
        activity.note_request("quantile", "answered", seconds=each, waits_ms={}, account_id=None)
    classes = activity.summarize()["names"]["quantile"]["classes"]
    assert _quantile_ms(classes, share) == pytest.approx(share * 1000, rel=0.05)
