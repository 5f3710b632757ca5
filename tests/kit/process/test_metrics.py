"""The metrics of several processes: what each counts is summed, also after its end."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from builders.kit.process import metrics

# Counts, says that it has, and waits for its end.
COUNTING = """
import sys
from builders.kit.process import metrics
of = metrics.counter("builders_probe", "A count.", ["kind"])
times = metrics.histogram("builders_probe_seconds", "Times.", buckets=(1, 2))
open_ = metrics.total("builders_probe_open", "A gauge.")
newest = metrics.latest("builders_probe_newest", "A gauge.")
of.labels("a").inc(int(sys.argv[1]))
times.observe(1.5)
open_.inc(2)
newest.set(int(sys.argv[1]))
print(flush=True)
sys.stdin.read()
"""


class Counting:
    """A process that has counted."""

    def __init__(self, environment: Mapping[str, str], count: int) -> None:
        program = [sys.executable, "-c", COUNTING, str(count)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(program, env={**environment}, stdin=pipe, stdout=pipe, text=True)
        assert self.process.stdout is not None
        self.process.stdout.readline()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def environment() -> Iterator[Mapping[str, str]]:
    """Return the environment of processes that count in one folder."""
    with metrics.shared() as shared:
        yield {**shared, "PYTHONPATH": ":".join(filter(None, sys.path))}


def read(environment: Mapping[str, str]) -> Mapping[str, float]:
    """Return the samples, by name and labels."""
    registry = CollectorRegistry()
    registry.register(metrics.Processes(Path(environment[metrics.FOLDER])))
    return {
        "".join((each.name, *map(str, each.labels.values()))): each.value
        for family in registry.collect()
        for each in family.samples
    }


def test_the_sums_of_killed_processes_stay_and_their_gauges_end(environment: Mapping[str, str]) -> None:
    first, second = Counting(environment, 3), Counting(environment, 4)
    both = read(environment)
    first.kill()
    one = read(environment)
    third = Counting(environment, 5)
    second.kill()
    last = read(environment)
    again = read(environment)
    third.kill()
    none = read(environment)
    assert both["builders_probe_totala"] == one["builders_probe_totala"] == 7
    assert last["builders_probe_totala"] == again["builders_probe_totala"] == none["builders_probe_totala"] == 12
    assert (both["builders_probe_seconds_bucket2.0"], none["builders_probe_seconds_bucket2.0"]) == (2, 3)
    assert (both["builders_probe_seconds_count"], none["builders_probe_seconds_count"]) == (2, 3)
    assert [each.get("builders_probe_open") for each in (both, one, last, none)] == [4, 2, 2, None]
    assert [each.get("builders_probe_newest") for each in (both, one, last, none)] == [4, 4, 5, None]


def test_files_of_ended_processes_do_not_pile_up(environment: Mapping[str, str]) -> None:
    for _ in range(3):
        Counting(environment, 1).kill()
    assert read(environment)["builders_probe_totala"] == 3
    names = {each.name for each in Path(environment[metrics.FOLDER]).iterdir()}
    assert names == {"counter_0.db", "histogram_0.db"}


def test_a_process_that_was_killed_before_it_counted_ends_no_metrics(environment: Mapping[str, str]) -> None:
    killed = Counting(environment, 1)
    killed.kill()
    Path(environment[metrics.FOLDER], f"counter_{killed.process.pid}.db").write_bytes(b"")
    assert read(environment)["builders_probe_seconds_count"] == 1


def test_the_folder_ends_with_the_parent() -> None:
    with metrics.shared() as environment:
        folder = Path(environment[metrics.FOLDER])
        assert folder.is_dir()
    assert not folder.exists()


def test_the_folder_of_a_killed_parent_is_deleted_by_the_next_one() -> None:
    text = "from builders.kit.process import metrics\nwith metrics.shared() as it: print(it, flush=True); input()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", text], stdin=pipe, stdout=pipe, text=True) as parent:
        assert parent.stdout is not None
        folder = Path(ast.literal_eval(parent.stdout.readline())[metrics.FOLDER])
        with metrics.shared():
            assert folder.is_dir()
        parent.kill()
        parent.wait()
    with metrics.shared():
        assert not folder.exists()


def test_the_machine_tells_its_version_and_disk(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    registry.register(metrics.Machine(tmp_path))
    found = {each.name: each for each in registry.collect()}
    assert 0 < found["builders_disk_free_bytes"].samples[0].value < found["builders_disk_bytes"].samples[0].value
    assert found["builders_build"].samples[0].labels.keys() == {"version", "specification"}


def test_a_disk_that_is_away_leaves_the_other_metrics(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    registry.register(metrics.Machine(tmp_path / "absent"))
    assert [each.name for each in registry.collect()] == ["builders_build"]
