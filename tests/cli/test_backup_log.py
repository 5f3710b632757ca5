"""The log of an embedded database is archived beside its backups, and restored up to any moment."""

import asyncio
import json
import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import LiteralString

import psutil
import psycopg
import pytest

from builders.backup import archive, repositories
from builders.cli import archiver
from builders.cli.embedded import backups
from builders.cli.embedded.server import EmbeddedServer
from builders.kit.process import metrics
from builders.kit.values import clock, ids
from tests.cli.archives import SEGMENT, Archived, Machine, archiving, folder, give_up, running
from tests.cli.embedded.servers import wait_until

__all__ = ["archiving", "folder"]

LOST = "claimed@names.example"
CLAIM = """
    INSERT INTO aliases (account_id, id, domain, local_part, key, status, price_amount, price_currency,
        price_interval, claimed_at, updated_at)
    VALUES (%s, %s, 'names.example', 'claimed', 'claimed', 'active', 1, 'USD', 'year', now(), now())
"""


class Saved:
    """A machine with a backup and a log in which a row is added, and all are deleted later."""

    def __init__(self, folder: Path) -> None:
        self.machine = Machine(folder / "data", folder / "backups")
        self.private = self.machine.read("backup", "init")["private_key"]
        with running(self.machine) as service:
            self.machine.read("accounts", "create", "--email", "ada@shop.example")
            service.archive()
            service.execute("CREATE TABLE kept (n int PRIMARY KEY)")
            self.added = service.execute("INSERT INTO kept VALUES (1)")
            service.archive()
            service.execute(CLAIM, ids.new(), ids.new())
            service.execute("DELETE FROM kept")
            service.archive()

    def copy(self, folder: Path, name: str) -> Machine:
        """Return an empty data folder with a copy of the backups."""
        return beside(self.machine, folder, name)

    def segments(self, machine: Machine) -> list[Path]:
        """Return the archived log, in order."""
        return sorted(machine.to.glob("*-1/log/*"))


@pytest.fixture(scope="module")
def saved(folder: Path) -> Iterator[Saved]:
    saved = Saved(folder)
    with EmbeddedServer(saved.machine.data, durable=False):  # no command has to start it
        yield saved


def rows(machine: Machine, count: LiteralString = "SELECT count(*) FROM kept") -> int:
    """Return how many rows of the test a restored database has."""
    with running(machine) as service, psycopg.connect(service.conninfo) as conn:
        [(found,)] = conn.execute(count).fetchall()
    return int(found)


def restore(machine: Machine, saved: Saved, *words: str) -> object:
    return machine.read("backup", "restore", *words, key=saved.private)


@pytest.fixture(scope="module")
def to_the_row(saved: Saved, folder: Path) -> tuple[Machine, object]:
    """Return a database that was restored to the moment before the deletion, and what the command said."""
    machine = saved.copy(folder, "before")
    return machine, restore(machine, saved, "--to", saved.added.isoformat())


def test_a_restore_goes_to_a_moment_before_a_deletion(to_the_row: tuple[Machine, object]) -> None:
    assert rows(to_the_row[0]) == 1


def test_what_follows_the_moment_is_listed(to_the_row: tuple[Machine, object]) -> None:
    said = json.loads(json.dumps(to_the_row[1]))
    assert [(each["kind"], each["what"]) for each in said["later"]] == [("name", LOST)]


def test_nothing_is_left_beside_a_restored_database(to_the_row: tuple[Machine, object]) -> None:
    assert not list(to_the_row[0].data.glob("drill-*"))
    assert not (to_the_row[0].data / "postgres" / "restored").exists()


def test_secret_keys_come_from_no_backup(to_the_row: tuple[Machine, object]) -> None:
    assert not (to_the_row[0].data / "secret_keys").exists()


def test_a_moment_after_the_end_restores_all_of_the_log_and_says_so(saved: Saved) -> None:
    moment = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    drilled = saved.machine.read("backup", "drill", "--to", moment, key=saved.private)
    assert (drilled["notes"], drilled["names"]) == (["The log ends before that time; all of it is restored."], 1)


def test_a_moment_after_a_gap_is_refused(saved: Saved, folder: Path) -> None:
    machine = saved.copy(folder, "gap")
    saved.segments(machine)[1].unlink()
    done = machine.run("backup", "restore", "--to", datetime.now(UTC).isoformat(), key=saved.private)
    assert (done.exit_code, "The log has a gap before that time" in done.stderr) == (1, True)


def test_a_moment_before_all_backups_is_refused(saved: Saved, folder: Path) -> None:
    machine = Machine(folder / "early", saved.machine.to)
    done = machine.run("backup", "restore", "--to", "2020-01-01T00:00:00Z", key=saved.private)
    assert (done.exit_code, "There is no such backup" in done.stderr) == (1, True)


@pytest.mark.parametrize("moment", ["yesterday", "2026-13-01", "04:00"])
def test_what_is_no_time_is_refused(saved: Saved, folder: Path, moment: str) -> None:
    machine = Machine(folder / "early", saved.machine.to)
    done = machine.run("backup", "restore", "--to", moment, key=saved.private)
    assert (done.exit_code, "--to is a time" in done.stderr) == (1, True)


def test_two_restores_of_a_backup_have_timelines_of_their_own(
    saved: Saved, to_the_row: tuple[Machine, object], folder: Path
) -> None:
    [made], first = saved.machine.read("backup", "list"), to_the_row[0]
    restore(Machine(folder / "second", first.to), saved, made["id"])
    assert [each["timeline"] for each in first.read("backup", "list")] == [3, 2, 1]


@pytest.fixture(scope="module")
def restored(saved: Saved, folder: Path) -> Machine:
    """Return a machine whose database was restored, and has a backup of its own."""
    machine = saved.copy(folder, "restored-first")
    restore(machine, saved)
    return machine


def beside(machine: Machine, folder: Path, name: str) -> Machine:
    """Return an empty data folder with a copy of the backups of a machine."""
    copy = Machine(folder / name, folder / f"{name}-backups")
    shutil.copytree(machine.to, copy.to)
    return copy


def test_the_database_of_a_restore_is_restored_again(restored: Machine, saved: Saved, folder: Path) -> None:
    machine = beside(restored, folder, "restored-again")
    newest, former = machine.read("backup", "list")
    said = json.loads(json.dumps(restore(machine, saved)))
    assert (said["backup"], newest["timeline"], former["timeline"]) == (newest["id"], 2, 1)


def test_a_backup_is_to_be_named_if_the_former_service_went_on(
    restored: Machine, saved: Saved, folder: Path
) -> None:
    machine = beside(restored, folder, "restored-beside")
    later = (datetime.now(UTC) + timedelta(hours=1)).timestamp()
    os.utime(saved.segments(machine)[-1], (later, later))

    done = machine.run("backup", "restore", key=saved.private)

    named = [each["id"] in done.stderr for each in machine.read("backup", "list")]
    assert (done.exit_code, "Name the backup to restore" in done.stderr, named) == (1, True, [True, True])


def test_the_log_of_a_backup_is_as_recorded(saved: Saved) -> None:
    assert saved.machine.read("backup", "verify") == {"backups": 1, "errors": []}


def verify(machine: Machine, *words: str, key: str | None = None) -> list[str]:
    done = machine.run("backup", "verify", "--json", *words, key=key)
    assert done.exit_code == 1, done.stderr
    errors: list[str] = json.loads(done.stdout)["errors"]
    return errors


def test_a_changed_segment_is_found(saved: Saved, folder: Path) -> None:
    machine = saved.copy(folder, "changed")
    first, *_ = saved.segments(machine)
    content = bytearray(first.read_bytes())
    content[-1] ^= 1
    first.write_bytes(content)
    [error] = verify(machine)
    assert error == f"Segment {first.name[:24]} of the log was changed: its SHA-256 differs."


def test_a_missing_segment_is_found(saved: Saved, folder: Path) -> None:
    machine = saved.copy(folder, "missing")
    missing = saved.segments(machine)[1]
    missing.unlink()
    assert f"Segment {missing.name[:24]} of the log is missing, and later ones are there." in verify(machine)


def test_a_log_that_is_not_continued_is_found(saved: Saved, folder: Path) -> None:
    machine = saved.copy(folder, "stopped")
    before = (datetime.now(UTC) - timedelta(minutes=16)).timestamp()
    for each in saved.segments(machine):
        os.utime(each, (before, before))
    [error] = verify(machine)
    assert error.startswith("No log was archived since ")


def test_the_content_is_opened_by_the_key(saved: Saved) -> None:
    done = saved.machine.read("backup", "verify", "--content", key=saved.private)
    assert done == {"backups": 1, "errors": []}


def test_another_key_opens_no_content(saved: Saved, folder: Path) -> None:
    other = Machine(folder / "other-key", folder / "unused").read("backup", "init")["private_key"]
    errors = verify(saved.machine, "--content", key=other)
    assert len(errors) == 2 + len(saved.segments(saved.machine))
    assert all("cannot be opened" in each for each in errors)


def test_a_prune_keeps_the_log_of_a_kept_backup(saved: Saved, folder: Path) -> None:
    machine = saved.copy(folder, "pruned")
    repository = repositories.in_folder(machine.to)
    [earlier] = repositories.list_backups(repository)
    repositories.record(repository, replace(earlier, id="old", made_at=datetime(2026, 1, 1, tzinfo=UTC)))
    kept = saved.segments(machine)
    before_all = kept[0].with_name(f"{int(kept[0].name[:24], 16) - 1:024X}-{'0' * 64}.gz.age")
    before_all.write_bytes(b"")

    assert machine.read("backup", "prune", "--days", "1")["deleted"] == ["old"]

    assert saved.segments(machine) == kept


def test_a_drill_counts_what_is_restored_and_leaves_nothing(saved: Saved) -> None:
    before = {*saved.machine.data.iterdir()}
    drilled = saved.machine.read("backup", "drill", key=saved.private)
    assert (drilled["accounts"], drilled["names"], drilled["segments"]) == (
        2,
        1,
        len(saved.segments(saved.machine)),
    )
    assert {*saved.machine.data.iterdir()} - before <= {saved.machine.data / "drill.lock"}


def test_a_database_that_has_not_kept_its_log_gets_a_new_backup(saved: Saved, folder: Path) -> None:
    machine = Machine(saved.machine.data, saved.copy(folder, "dropped").to)
    with running(machine) as service:
        service.execute("SELECT pg_drop_replication_slot(%s)", archive.SLOT)
        with psycopg.connect(service.conninfo, autocommit=True) as conn:
            for _ in range(8):
                conn.execute(SEGMENT)
                conn.execute("CHECKPOINT")
        service.archive()
    assert len(machine.read("backup", "list")) == 2


def test_a_log_that_waits_for_too_long_is_given_up_and_begun_again(folder: Path) -> None:
    assert give_up(Machine(folder / "given-up", folder / "unused"))


def test_no_acknowledged_row_is_lost_under_load(saved: Saved, folder: Path) -> None:
    machine = Machine(saved.machine.data, folder / "load-backups")
    machine.to.mkdir()
    acknowledged, stop = [0], threading.Event()
    with running(machine) as service:
        service.execute("CREATE TABLE loaded (n int PRIMARY KEY)")

        def write() -> None:
            with psycopg.connect(service.conninfo, autocommit=True) as conn:
                while not stop.is_set():
                    conn.execute("INSERT INTO loaded VALUES (%s)", [acknowledged[0]])
                    acknowledged[0] += 1

        writer = threading.Thread(target=write)
        writer.start()
        for _ in range(3):
            service.archive()
        counted = acknowledged[0]
        service.archive()
        stop.set()
        writer.join()
    restored = Machine(folder / "load-restored", machine.to)
    restore(restored, saved)
    assert rows(restored, "SELECT count(*) FROM loaded") >= counted > 0


def test_no_other_folder_is_made_in_place_of_a_missing_one(archiving: Archived) -> None:
    archiving.turn()
    archiving.unmount()
    archiving.fill(segments=1)
    archiving.turn()
    assert not archiving.machine.to.exists()


def test_a_log_that_was_not_kept_while_the_folder_was_away_is_followed_by_a_backup(archiving: Archived) -> None:
    archiving.turn()
    archiving.unmount()
    archiving.execute("SELECT pg_drop_replication_slot(%s)", archive.SLOT)
    for _ in range(8):
        archiving.fill(segments=1)
        archiving.execute("CHECKPOINT")
    archiving.turn()
    archiving.mount()
    archiving.turn()
    assert len(archiving.machine.read("backup", "list")) == 2


def test_a_drill_removes_what_a_killed_one_left(saved: Saved) -> None:
    data = saved.machine.data
    with saved.machine.start("backup", "drill", "--key-fd", "0") as killed:
        assert killed.stdin is not None
        killed.stdin.write(saved.private)
        killed.stdin.close()
        wait_until(lambda: any(data.glob("drill-*/postgres/restored/cluster/postmaster.pid")))
        killed.kill()
    [left] = data.glob("drill-*/")

    saved.machine.read("backup", "drill", key=saved.private)

    assert not left.exists()
    running_there = [
        each.pid for each in psutil.process_iter(["cmdline"]) if str(left) in str(each.info["cmdline"])
    ]
    assert running_there == []


def test_a_backup_that_failed_leaves_nothing(archiving: Archived, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(backups, "_pack", fail)
    archiving.turn()
    assert [each.name for each in archiving.machine.to.glob("*/*")] == ["log"]


def test_a_database_without_a_backup_has_an_age(archiving: Archived, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archiver.Archiver, "_back_up", lambda _: asyncio.sleep(0))
    archiving.turn()
    clock.move(timedelta(days=2))
    archiving.turn()
    assert metrics.REGISTRY.get_sample_value("builders_backup_age_seconds") == pytest.approx(2 * 86400, abs=600)


def test_a_backup_of_the_future_is_followed_by_another(archiving: Archived) -> None:
    clock.move(timedelta(days=20))
    archiving.turn()
    clock.move(timedelta(days=-20))
    archiving.turn()
    assert len(repositories.list_backups(archiving.repository)) == 2


def test_an_erasure_is_listed_beside_the_backups_at_once(archiving: Archived) -> None:
    archiving.turn()
    (archiving.machine.data / "erasures.txt").write_text("one 2026-11-27T04:00:00Z\n")
    archiving.turn()
    assert archiving.repository.read("erasures.txt") == b"one 2026-11-27T04:00:00Z\n"
