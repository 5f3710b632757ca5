"""The rules about silent children, on a clock that the tests move."""

from collections.abc import Collection
from itertools import pairwise

import pytest

from builders.cli.heartbeats import NOTHING, Beats, Ends, Heartbeats, Verdict

TICK_S = 0.5


class Machine:
    """A supervisor with children that beat each second, except the silent ones; the time passes in ticks."""

    def __init__(self, *names: str) -> None:
        self.now = 1000.0
        self.children = {name: Beats() for name in names}
        self.heartbeats = Heartbeats(self.now)
        self.verdicts: list[tuple[float, Verdict]] = []

    def run(self, seconds: float, *, silent: Collection[str] = ()) -> "Machine":
        """Let time pass; a child that is to be replaced is replaced at once."""
        end = self.now + seconds
        while self.now < end:
            self.now += TICK_S
            for name in self.children.keys() - set(silent):
                self.children[name].hear(self.now)
            self.heartbeats.tick(self.now)
            verdict = self.heartbeats.judge(self.children, self.now)
            if verdict != NOTHING:
                self.verdicts.append((self.now - 1000.0, verdict))
            if verdict.replace is not None:
                self.children[verdict.replace] = Beats(first=self.now, last=self.now)
                self.heartbeats.note_replacement(self.now)
        return self

    def stop(self, seconds: float) -> "Machine":
        """Let time pass while nothing runs, as when all processes get SIGSTOP."""
        self.now += seconds
        return self

    @property
    def replaced(self) -> list[tuple[float, str]]:
        return [(at, each.replace) for at, each in self.verdicts if each.replace is not None]

    @property
    def blamed(self) -> list[tuple[float, tuple[str, ...]]]:
        return [(at, each.blame_machine_for) for at, each in self.verdicts if each.blame_machine_for]


def test_a_child_that_is_silent_for_15_seconds_is_replaced() -> None:
    before = Machine("http-1", "worker").run(100).run(14.5, silent=["http-1"])
    assert before.verdicts == []

    assert before.run(0.5, silent=["http-1"]).verdicts == [(115.0, Verdict(replace="http-1"))]


def test_a_child_alone_is_replaced_too() -> None:
    assert Machine("http-1").run(100).run(15, silent=["http-1"]).replaced == [(115.0, "http-1")]


def test_a_child_that_beats_within_15_seconds_is_kept() -> None:
    machine = Machine("http-1", "worker").run(100)
    for _ in range(20):
        machine.run(14.5, silent=["worker"]).run(TICK_S)
    assert machine.verdicts == []


def test_a_child_that_has_not_answered_is_starting_and_not_silent() -> None:
    """Its import may take minutes on a busy machine."""
    assert Machine("http-1", "worker").run(600, silent=["worker"]).verdicts == []


@pytest.mark.parametrize(("served_s", "is_replaced"), [(44.5, False), (45.0, True)])
def test_a_child_is_kept_in_its_first_60_seconds(served_s: float, *, is_replaced: bool) -> None:
    machine = Machine("http-1", "worker").run(served_s + TICK_S).run(15, silent=["worker"])
    assert bool(machine.replaced) is is_replaced


def test_silence_while_the_supervisor_did_not_run_does_not_count() -> None:
    machine = Machine("http-1", "worker").run(100).run(10, silent=["worker"]).stop(30)
    assert machine.run(14.5, silent=["worker"]).verdicts == []  # 54 s after its last byte
    assert machine.run(1, silent=["worker"]).replaced == [(155.5, "worker")]


@pytest.mark.parametrize(("pause_s", "is_late"), [(1.5, False), (2.0, True)])
def test_a_tick_of_the_supervisor_is_late_after_two_seconds(pause_s: float, *, is_late: bool) -> None:
    machine = Machine("http-1").run(100).run(10, silent=["http-1"]).stop(pause_s).run(4, silent=["http-1"])
    assert machine.replaced == ([] if is_late else [(115.0, "http-1")])


def test_two_silent_children_name_the_machine_and_nothing_is_replaced_for_60_seconds() -> None:
    machine = Machine("http-1", "http-2", "worker").run(100).run(30, silent=["http-1", "worker"]).run(100)
    assert machine.verdicts == [(115.0, Verdict(blame_machine_for=("http-1", "worker")))]


@pytest.mark.parametrize(("ahead_s", "is_blamed"), [(10.5, False), (10.0, True)])
def test_a_child_that_is_silent_in_a_part_of_the_window_counts(ahead_s: float, *, is_blamed: bool) -> None:
    machine = Machine("http-1", "worker").run(100)
    machine.run(ahead_s, silent=["http-1"]).run(15 - ahead_s, silent=["http-1", "worker"])
    assert bool(machine.blamed) is is_blamed
    assert bool(machine.replaced) is not is_blamed


def test_children_that_are_silent_for_the_whole_hold_are_replaced_one_at_a_time() -> None:
    machine = Machine("http-1", "http-2", "worker").run(100).run(75, silent=["http-1", "http-2"])
    machine.run(50, silent=["http-2"])
    assert machine.blamed == [(115.0, ("http-1", "http-2"))]
    assert machine.replaced == [(175.0, "http-1"), (205.0, "http-2")]


def test_another_child_that_becomes_silent_names_the_machine_again() -> None:
    machine = Machine("http-1", "http-2", "worker").run(100).run(65, silent=["http-1", "http-2"])
    machine.run(20, silent=["http-1", "http-2", "worker"])
    assert machine.replaced == []
    assert machine.blamed == [(115.0, ("http-1", "http-2")), (175.0, ("http-1", "http-2", "worker"))]


def test_the_pause_between_replacements_doubles_to_ten_minutes() -> None:
    machine = Machine("http-1").run(100)
    for _ in range(5_000):
        machine.run(1, silent=["http-1"])
    times = [at for at, _ in machine.replaced]
    # At least 60 s, for which a new process is kept.
    gaps = [later - sooner for sooner, later in pairwise(times)]
    assert gaps[:8] == [60.0, 60.0, 120.0, 240.0, 480.0, 600.0, 600.0, 600.0]


def test_the_pause_begins_again_after_ten_quiet_minutes() -> None:
    machine = Machine("http-1").run(100)
    for quiet_s in (100, 700, 100):
        machine.run(quiet_s).run(15, silent=["http-1"])
    heartbeats = machine.heartbeats
    assert len(machine.replaced) == 3
    assert heartbeats._pause_s == 2 * 2 * heartbeats.limits.pause_s  # of the second series


def test_a_child_that_ends_is_started_at_once_and_then_after_growing_pauses() -> None:
    ends = Ends()
    assert [ends.note(at, ran_s=0.1) for at in range(7)] == [0, 1, 2, 4, 8, 10, 10]
    assert ends.note(100, ran_s=10.1) == 0


def test_a_child_keeps_ending_from_its_third_end_until_it_has_answered_for_a_minute() -> None:
    ends = Ends()
    found = []
    for at in (0.0, 100.0, 299.0):
        ends.note(at, ran_s=50)
        found.append(ends.are_many(at, serving_since=None))
    assert found == [False, False, True]
    assert ends.are_many(359.0, serving_since=300.0) is False  # the first end is long ago
    ends.note(360.0, ran_s=50)
    assert [ends.are_many(at, serving_since=361.0) for at in (361.0, 398.0, 421.0)] == [True, True, False]
