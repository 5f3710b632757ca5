"""Backups of an embedded database, sealed, and restores into another data folder."""

import asyncio
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from builders.backup import restores
from builders.cli.embedded import copies
from builders.cli.embedded.server import EmbeddedServer
from tests.cli.archives import SEGMENT, Machine, folder, running

__all__ = ["folder"]

EMAIL = "ada@shop.example"


@dataclass(frozen=True, slots=True)
class Saved:
    """A machine with a backup."""

    machine: Machine
    private: str
    backup: Any
    erased: str  # the id of an account that was erased after the backup


@pytest.fixture(scope="module")
def saved(folder: Path) -> Iterator[Saved]:
    """Return a machine with a backup, whose database runs: no command has to start it."""
    machine = Machine(folder / "data", folder / "backups")
    with EmbeddedServer(machine.data, durable=False):
        yield save(machine)


def save(machine: Machine) -> Saved:
    account = machine.read("accounts", "create", "--email", EMAIL)
    other = machine.read("accounts", "create", "--email", f"x{EMAIL}")
    machine.read("keys", "create", "--account", EMAIL, "--kind", "live", "--preset", "developer_full")
    assert account["id"] != other["id"]
    (machine.data / "assets").mkdir(exist_ok=True)
    (machine.data / "assets" / "one.svg").write_text("<svg/>")
    private = machine.read("backup", "init")["private_key"]
    disk = machine.data.with_name("disk")
    disk.mkdir()
    (disk / "two.svg").write_text("<svg/>")
    (machine.data / "images").symlink_to(disk)
    (machine.data / "assets" / "hosts").symlink_to("/etc/hosts")
    os.mkfifo(machine.data / "assets" / "pipe")
    (machine.data / ".secret_keys.abc.part").write_text("a key of the service")
    backup = machine.read("backup", "create")
    (machine.data / "erasures.txt").write_text(f"{other['id']} 2026-11-27T04:00:00Z\n")
    return Saved(machine, private, backup, other["id"])


@pytest.fixture(scope="module")
def restored(saved: Saved, folder: Path) -> Iterator[Machine]:
    """Return a machine that was restored with its secret keys, whose database runs."""
    machine, keys = Machine(folder / "other", folder / "other-backups"), str(folder / "sealed.age")
    shutil.copytree(saved.machine.to, machine.to)
    shutil.copy(saved.machine.data / "erasures.txt", machine.to / "erasures.txt")
    assert saved.machine.run("backup", "create", "--keys", keys).exit_code == 0
    options = ("--last-invoice", "INV-2031-000041", "--secret-keys", keys)
    machine.read("backup", "restore", *options, key=saved.private)
    with EmbeddedServer(machine.data, durable=False):
        yield machine


def test_a_backup_is_listed_and_as_recorded(saved: Saved) -> None:
    assert [each["id"] for each in saved.machine.read("backup", "list")] == [saved.backup["id"]]
    assert saved.machine.read("backup", "verify") == {"backups": 1, "errors": []}


def test_a_second_key_is_made_only_on_request(saved: Saved) -> None:
    assert saved.machine.run("backup", "init").exit_code == 1


def test_no_file_of_the_machine_opens_a_backup(saved: Saved, folder: Path) -> None:
    for path in saved.machine.data.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert saved.private.encode() not in path.read_bytes()
    public = (saved.machine.data / "backup.pub").read_text()
    done = Machine(folder / "thief", saved.machine.to).run("backup", "restore", key=public)
    assert (done.exit_code, "Nothing was restored" in done.stderr) == (1, True)


def test_a_restored_database_has_the_rows_and_the_files(restored: Machine) -> None:
    assert EMAIL in {each["email"] for each in restored.read("accounts", "list")}
    assert (restored.data / "assets" / "one.svg").read_text() == "<svg/>"


def test_a_linked_folder_is_restored_without_what_is_no_file(restored: Machine) -> None:
    assert (restored.data / "images" / "two.svg").read_text() == "<svg/>"
    assert [each.name for each in (restored.data / "assets").iterdir()] == ["one.svg"]


def test_a_draft_of_the_secret_keys_is_in_no_backup(restored: Machine) -> None:
    assert not list(restored.data.glob(".secret_keys*"))


def test_the_keys_of_a_restored_database_are_disabled(restored: Machine) -> None:
    [key] = restored.read("keys", "list", "--account", EMAIL)
    assert key["disabled_at"] is not None


def test_an_erasure_after_the_backup_is_repeated(restored: Machine) -> None:
    assert f"x{EMAIL}" not in {each["email"] for each in restored.read("accounts", "list")}


def test_a_restored_folder_has_the_public_key(restored: Machine, saved: Saved) -> None:
    public = (restored.data / "backup.pub").read_text()
    assert public == (saved.machine.data / "backup.pub").read_text()


def test_a_restore_makes_a_backup_in_a_timeline_of_its_own(restored: Machine, saved: Saved) -> None:
    newest, *_ = restored.read("backup", "list")
    assert (newest["system_id"], newest["timeline"]) == (saved.backup["system_id"], 2)


def test_a_restore_is_accepted_once(restored: Machine) -> None:
    assert restored.read("backup", "accept")["accepted"] is False
    assert restored.read("backup", "accept", "--yes")["accepted"] is True
    assert restored.read("backup", "accept", "--yes")["accepted"] is False


def test_no_restore_replaces_a_database(saved: Saved, folder: Path) -> None:
    machine = Machine(folder / "used", saved.machine.to)
    copies.prepare(machine.data)
    (machine.data / "postgres" / "cluster").mkdir()
    done = machine.run("backup", "restore", key=saved.private)
    assert (done.exit_code, "Move it away" in done.stderr) == (1, True)


def test_a_changed_file_is_found(saved: Saved, folder: Path) -> None:
    copy = Machine(saved.machine.data, folder / "changed")
    shutil.copytree(saved.machine.to, copy.to)
    [path] = copy.to.glob("*/*/files.tar.gz.age")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)

    done = copy.run("backup", "verify", "--json")

    assert done.exit_code == 1
    assert "SHA-256 differs" in json.loads(done.stdout)["errors"][0]


def test_the_secret_keys_are_saved_elsewhere(saved: Saved, folder: Path) -> None:
    beside = saved.machine.run("backup", "create", "--keys", str(saved.machine.to / "keys.age"))
    apart = saved.machine.run("backup", "create", "--keys", str(folder / "keys.age"))

    within = saved.machine.run("backup", "create", "--keys", str(saved.machine.data / "keys.age"))
    assert (beside.exit_code, "do not belong" in beside.stderr) == (1, True)
    assert (within.exit_code, "do not belong" in within.stderr) == (1, True)
    assert apart.exit_code == 0, apart.stderr
    assert (folder / "keys.age").read_bytes().startswith(b"age-encryption.org/v1")


def test_a_restore_brings_the_secret_keys_back(saved: Saved, restored: Machine) -> None:
    keys, former = restored.data / "secret_keys", saved.machine.data / "secret_keys"
    assert keys.read_text() == former.read_text()
    assert keys.stat().st_mode & 0o777 == 0o600


def test_a_refused_restore_replaces_no_secret_keys(saved: Saved, folder: Path) -> None:
    machine = Machine(folder / "running", folder / "running-backups")
    machine.read("accounts", "create", "--email", EMAIL)
    (machine.data / "secret_keys").write_text("own")
    assert saved.machine.run("backup", "create", "--keys", str(folder / "others.age")).exit_code == 0
    shutil.copytree(saved.machine.to, machine.to)

    done = machine.run("backup", "restore", "--secret-keys", str(folder / "others.age"), key=saved.private)

    assert (done.exit_code, "Move it away" in done.stderr) == (1, True)
    assert (machine.data / "secret_keys").read_text() == "own"


def test_what_is_no_public_key_is_refused(folder: Path) -> None:
    machine = Machine(folder / "no-key", folder / "no-key-backups")
    machine.data.mkdir()
    (machine.data / "backup.pub").write_text("age1")
    done = machine.run("backup", "create")
    assert (done.exit_code, "no public key" in done.stderr) == (78, True)


def test_of_two_backups_at_once_one_is_made(saved: Saved, folder: Path) -> None:
    machine = Machine(saved.machine.data, folder / "at-once")
    started = [machine.start("backup", "create") for _ in range(2)]
    done = [(each.communicate()[1], each.returncode) for each in started]
    made = machine.read("backup", "list")
    assert len(made) == [status for _, status in done].count(0) >= 1
    assert machine.read("backup", "verify")["errors"] == []
    assert all("backup create" in error for error, status in done if status)


def test_a_backup_outlasts_checkpoints(saved: Saved) -> None:
    with running(saved.machine) as service, psycopg.connect(service.conninfo, autocommit=True) as conn:
        asyncio.run(outlast_checkpoints(service.conninfo, conn))


async def outlast_checkpoints(conninfo: str, conn: psycopg.Connection) -> None:
    """Fill the log and remove what nobody holds; the log from the begin is still there."""
    async with restores.holding_log(conninfo):
        begin = conn.execute("SELECT pg_walfile_name(pg_current_wal_lsn())").fetchone()
        for _ in range(8):
            conn.execute(SEGMENT)
            conn.execute("CHECKPOINT")
        kept = {name for (name,) in conn.execute("SELECT name FROM pg_ls_waldir()").fetchall()}
    assert begin is not None
    assert begin[0] in kept


def test_the_status_names_the_last_backup(saved: Saved) -> None:
    done = saved.machine.run("status", "--json")
    found = json.loads(done.stdout)
    assert (found["last_backup"], found["backups"]) == (saved.backup["made_at"], 1)
    text = saved.machine.run("status").stdout
    assert "; 1 backup kept; log archived until " in text


def test_a_prune_keeps_the_newest(saved: Saved, folder: Path) -> None:
    copy = Machine(saved.machine.data, folder / "pruned")
    shutil.copytree(saved.machine.to, copy.to)
    assert copy.read("backup", "prune", "--days", "1") == {"deleted": []}
