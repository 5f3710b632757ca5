"""The log is read once from its first to its last line, while it is rotated."""

import os
import shutil
from pathlib import Path

import pytest

from builders.forwarding import log_file
from builders.forwarding.log_file import START
from builders.forwarding.records import Position


class Log:
    """A log, and its reader."""

    def __init__(self, path: Path) -> None:
        self.path, self.position, self.gaps = path, START, 0

    def write(self, *lines: str, end: str = "\n") -> None:
        with self.path.open("a") as file:
            file.write("".join(f"{each}{end}" for each in lines))

    def read(self, *, size: int = log_file.CHUNK) -> list[str]:
        """Return all lines that follow."""
        found: list[str] = []
        while (chunk := log_file.read(self.path, self.position, size=size)).lines:
            found += [each.decode().rstrip("\n") for each in chunk.lines]
            self.position, self.gaps = chunk.position_after(len(chunk.lines)), self.gaps + chunk.is_gap
        return found

    def older(self, name: str, *, at: int) -> Path:
        """Return the path of a rotated file, whose last line is from that time."""
        path = self.path.with_name(self.path.name + name)
        if path.exists():
            os.utime(path, (at, at))
        return path


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Return an empty log."""
    return Log(tmp_path / "mail.log")


def test_lines_are_read_once_and_a_half_written_one_when_it_is_whole(log: Log) -> None:
    assert log.read() == []
    log.write("one", "two")
    log.write("thr", end="")
    assert log.read() == ["one", "two"]
    log.write("ee", "four")
    assert log.read() == ["three", "four"]
    assert log.read() == []


def test_a_renamed_log_is_read_to_its_end_before_the_new_one(log: Log) -> None:
    log.write("one")
    assert log.read() == ["one"]
    older = log.older(".1", at=0)
    log.path.rename(older)
    with older.open("a") as file:  # until the mail server opens the new one
        file.write("two\n")
    assert log.read() == ["two"]
    log.path.touch()
    with older.open("a") as file:
        file.write("three\nhalf")
    log.write("four")
    assert log.read() == ["three", "four"]
    assert log.gaps == 0


def test_two_rotations_while_nobody_reads_lose_nothing(log: Log) -> None:
    log.write("one")
    assert log.read() == ["one"]
    log.write("two")
    log.path.rename(log.path.with_name("mail.log.2"))
    log.older(".2", at=1_000)
    log.write("three")
    log.path.rename(log.path.with_name("mail.log-20261123"))
    log.older("-20261123", at=2_000)
    (log.path.with_name("mail.log.3.gz")).write_bytes(b"compressed")
    (log.path.with_name("mail.login.1")).write_text("of another log\n")
    log.write("four")
    assert log.read() == ["two", "three", "four"]


@pytest.mark.parametrize("after", [[], ["four", "five, which is longer than what was there before"]])
def test_a_copied_and_truncated_log_loses_nothing_that_the_copy_has(log: Log, after: list[str]) -> None:
    log.write("one", "two")
    assert log.read(size=6) == ["one", "two"]
    log.write("three")
    shutil.copy(log.path, log.path.with_name("mail.log.1"))
    os.truncate(log.path, 0)
    log.write(*after)
    assert log.read() == ["three", *after]


def test_after_a_removed_log_the_new_one_is_read_and_the_gap_is_told(log: Log) -> None:
    log.write("one")
    assert log.read() == ["one"]
    log.path.unlink()
    assert log.read() == []
    log.write("two")
    assert (log.read(), log.gaps) == (["two"], 1)


def test_a_position_is_valid_in_the_middle_of_a_chunk(log: Log) -> None:
    log.write("one", "two", "three")
    log.position = log_file.read(log.path, START).position_after(1)
    assert log.read() == ["two", "three"]
    assert log.position != Position(offset=log.position.offset, digest=b"other")


def test_memory_is_bounded_by_chunks_and_an_endless_line_ends(log: Log) -> None:
    log.write("x" * 95, "after")
    found = log.read(size=30)
    assert found[-1] == "after"
    assert max(map(len, found)) <= 30
