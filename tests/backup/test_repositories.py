"""Folders of backups and of segments of the log, without a database."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from builders.backup import archive, repositories
from builders.backup.records import Backup
from builders.backup.repositories import Repository
from builders.cli.embedded import backups

MADE = datetime(2026, 11, 1, tzinfo=UTC)
NEVER = datetime.min.replace(tzinfo=UTC)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return repositories.in_folder(tmp_path / "backups", creates=True)


@pytest.mark.parametrize(
    ("timeline", "number", "name"),
    [
        (1, 0, "000000010000000000000000"),
        (1, 255, "0000000100000000000000FF"),
        (1, 256, "000000010000000100000000"),
        (10, 70000, "0000000A0000011100000070"),
    ],
)
def test_a_segment_has_the_name_that_postgresql_gives_it(timeline: int, number: int, name: str) -> None:
    assert (archive.name_of(timeline, number), archive.number_of(name)) == (name, number)


def test_a_missing_file_is_an_error_of_the_system(repository: Repository) -> None:
    with pytest.raises(FileNotFoundError):
        repository.read("none")


def test_what_does_not_exist_is_deleted(repository: Repository) -> None:
    repository.write("one", b"1")
    repository.delete(["none", "one"])
    assert repository.list() == {}


def made(day: int, *, segment: int = 1) -> Backup:
    at = MADE + timedelta(days=day)
    return Backup(
        id=f"{at:%Y%m%dT%H%M%SZ}",
        system_id="7",
        timeline=1,
        log_from=archive.name_of(1, segment),
        made_at=at,
        postgresql=18,
        release="1.0.0",
        parts={},
    )


def record(repository: Repository, days: Sequence[int]) -> None:
    for day in days:
        repositories.record(repository, made(day))


def write(repository: Repository, number: int, content: bytes = b"1") -> str:
    digest = hashlib.sha256(content).hexdigest()
    path = f"7-1/log/{archive.name_of(1, number)}-{digest}.gz.age"
    repository.write(path, content)
    return path


def test_a_clock_that_jumps_ahead_deletes_no_earlier_backup(repository: Repository) -> None:
    record(repository, [*range(30), 400])
    assert backups.prune(repository, days=31) == []


def test_a_prune_keeps_the_last_days_with_a_backup(repository: Repository) -> None:
    record(repository, [0, 1, 2, 9])
    assert backups.prune(repository, days=2) == [made(1).id, made(0).id]
    assert [each.id for each in repositories.list_backups(repository)] == [made(9).id, made(2).id]


def test_a_prune_removes_what_was_not_completed_before_the_last_backup(repository: Repository) -> None:
    record(repository, [2])
    for day in (1, 3):
        repository.write(f"7-1/{made(day).id}/base.tar.gz.age", b"1")
    write(repository, 1)
    backups.prune(repository, days=35)
    assert sorted(repository.list_folders("7-1")) == [f"7-1/{made(2).id}", f"7-1/{made(3).id}", "7-1/log"]


def test_a_folder_of_the_disk_is_no_backup(repository: Repository) -> None:
    assert repository.folder is not None
    record(repository, [0])
    (repository.folder / "lost+found").mkdir(mode=0o000)
    (repository.folder / "7-1").rename(repository.folder / "7-1.copy")
    assert repositories.list_backups(repository) == []


def test_a_backup_that_says_to_be_another_one_does_not_count(repository: Repository) -> None:
    repositories.record(repository, made(5))
    repository.write("7-2/forged/backup.json", repository.read(f"7-1/{made(5).id}/backup.json"))
    assert len(repositories.list_backups(repository)) == 1


def test_of_a_segment_that_was_archived_twice_the_last_file_is_used(repository: Repository) -> None:
    assert repository.folder is not None
    paths = [write(repository, 1, content) for content in (b"1", b"2", b"3")]
    for age, path in zip((3, 1, 2), paths, strict=True):
        os.utime(repository.folder / path, (1_790_000_000 - age,) * 2)
    [found] = archive.list_segments(repository, made(0)).values()
    assert found.path == paths[1]


@pytest.mark.parametrize(
    ("missing", "wrong"), [(2, ["000000010000000000000002"]), (3, []), (5, ["000000010000000000000005"])]
)
def test_the_log_of_each_backup_is_verified(repository: Repository, missing: int, wrong: list[str]) -> None:
    found = [made(1, segment=4), made(0, segment=1)]
    for number in {*range(1, 7)} - {missing}:
        write(repository, number)
    errors = archive.verify(repository, found, after=NEVER)
    assert errors == [f"Segment {each} of the log is missing, and later ones are there." for each in wrong]


def test_a_changed_segment_of_an_earlier_backup_is_found(repository: Repository) -> None:
    found = [made(1, segment=2), made(0, segment=1)]
    path, _ = write(repository, 1), write(repository, 2)
    repository.write(path, b"2")
    [error] = archive.verify(repository, found, after=NEVER)
    assert error == "Segment 000000010000000000000001 of the log was changed: its SHA-256 differs."


def test_the_logs_are_named_if_a_new_service_archives_beside_a_lost_one(repository: Repository) -> None:
    lost, empty = made(1), replace(made(2), system_id="8")

    assert archive.list_rivals(repository, [empty, lost]) == {each.id: each.made_at for each in (empty, lost)}


def test_one_service_has_no_rival(repository: Repository) -> None:
    assert archive.list_rivals(repository, [made(2), made(1)]) == {}
