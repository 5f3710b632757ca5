"""What a process says of its requests and jobs: over a socket of its user, in bounded memory."""

import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from builders.kit.process import activity

SHARE = 0.05  # that a time in a class differs


@pytest.fixture(autouse=True)
def nothing_ended() -> Iterator[None]:
    """Keep what the process has noted before, and forget what a test notes."""
    before = [*activity._ended]
    activity._ended.clear()
    yield
    activity._ended.clear()
    activity._ended.extend(before)


def note(name: str = "probe", *, account: object = None, seconds: float = 0.01, waited_ms: float = 0) -> None:
    activity.note_request(
        name,
        "answered",
        seconds=seconds,
        waits_ms={"account": waited_ms},
        account_id=account,
    )


def test_requests_count_for_their_account() -> None:
    busy, idle = uuid4(), uuid4()
    for each in (busy, busy, idle):
        note(account=each)
    found = activity.summarize()["accounts"]
    assert {name: each["number"] for name, each in found.items()} == {str(busy): 2, str(idle): 1}


def test_an_account_is_not_busy_while_its_request_waits() -> None:
    note(account="a", seconds=2, waited_ms=1500)
    assert activity.summarize()["accounts"]["a"]["busy_s"] == pytest.approx(0.5)


def test_a_failed_job_counts_as_one_of_its_task() -> None:
    with pytest.raises(LookupError), activity.job("a.task", account_id="a"):
        raise LookupError
    found = activity.summarize()["names"]["a.task"]
    assert (found["kind"], found["number"], found["failed"]) == ("job", 1, 1)


def test_what_is_kept_and_told_has_a_bound() -> None:
    for number in range(activity.MAX_ENDED + activity.MOST):
        note(f"probe {number}", account=number)
    found = activity.summarize()
    assert len(activity._ended) == activity.MAX_ENDED
    assert max(len(found["names"]), len(found["accounts"])) <= 2 * activity.MOST


def test_a_full_ring_says_which_time_it_covers() -> None:
    for _ in range(activity.MAX_ENDED):
        note()
    assert 0 < activity.summarize()["window_s"] < activity.WINDOW_S


def test_a_process_answers_its_user_alone(tmp_path: Path) -> None:
    note(account="a")
    with activity.shown(tmp_path, "probe"):
        (path,) = (tmp_path / activity.FOLDER).iterdir()
        modes = [stat.S_IMODE(each.stat().st_mode) for each in (path.parent, path)]
        (found,) = activity.read(tmp_path).values()
    assert modes == [0o700, 0o600]
    assert [*found["accounts"]] == ["a"]
    assert activity.read(tmp_path) == {}


def test_a_folder_may_have_a_long_name(tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 100) / ("b" * 100)
    with activity.shown(folder, "probe"):
        assert len(activity.read(folder)) == 1


def test_a_killed_process_leaves_a_socket_that_nobody_answers(tmp_path: Path) -> None:
    folder = tmp_path / activity.FOLDER
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / f"{socket.gethostname()}.http.1"))
    assert activity.read(tmp_path) == {}


def test_a_process_runs_without_a_folder_that_can_be_written(tmp_path: Path) -> None:
    (tmp_path / activity.FOLDER).write_text("no folder")
    with activity.shown(tmp_path, "probe"):
        assert activity.read(tmp_path) == {}
