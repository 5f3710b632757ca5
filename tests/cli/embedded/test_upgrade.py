"""A database of PostgreSQL 16 becomes one of 18, by the programs of the wheel."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from datetime import timedelta
from io import StringIO
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from builders.backup import repositories, seals
from builders.backup.records import Backup, Part
from builders.backup.repositories import Repository
from builders.cli import doctor
from builders.cli.commands import require_consent
from builders.cli.embedded import directory, upgrade
from builders.cli.embedded.directory import ROLE, open_directory
from builders.cli.embedded.server import DATABASE, Cluster, EmbeddedServer
from builders.cli.embedded.system_user import EmbeddedServerError, choose_user
from builders.cli.embedded.upgrade import Place
from builders.cli.main import main
from builders.kit.db import layouts, migrations
from builders.kit.values import clock
from tests.cli.embedded.conftest import _open_folder
from tests.cli.embedded.servers import ask, kill, processes, python_path, wait_until

OLD, NEW = 16, directory.MAJOR
PASSWORD = "of-these-tests"
SYSTEM = directory.SYSTEM_DIR
KEPT = "SELECT sum(n) FROM kept"


def cluster(data: Path, major: int) -> Cluster:
    user = choose_user(data / "postgres", data)
    return Cluster(
        directory=open_directory(data, user, SYSTEM),
        binaries=directory.get_for_user(user, SYSTEM, major=major),
        user=user,
        durable=False,
        grace_s=0.3,
    )


@pytest.fixture(scope="session")
def of_16() -> Iterator[Path]:
    """A data directory with a database of PostgreSQL 16, in the form that this service gives it."""
    for folder in _open_folder():
        data = folder / "data"
        data.mkdir(mode=0o755)
        old = cluster(data, OLD)
        place = old.directory
        old.user.shell('printf "%s" "$2" >"$1"', place.password, f"{PASSWORD}\n*:*:*:{ROLE}:{PASSWORD}\n")
        old.initialize("--encoding=UTF8", "--locale=C", "--set=max_connections=37")
        old.user.run("mv", place.fresh, place.cluster)
        old.start()
        migrations.create_database(place.conninfo("postgres"), DATABASE)
        ask(place.conninfo(DATABASE), "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
        old.stop()
        yield data


@pytest.fixture
def data(of_16: Path) -> Iterator[Path]:
    """A copy of it, which is not running."""
    for folder in _open_folder():
        subprocess.run(["cp", "-a", of_16, folder / "data"], check=True)
        yield folder / "data"


def step(data: Path, of: Callable[[Place], str]) -> str:
    with upgrade.opened(data, durable=False) as place:
        return of(place)


def major(data: Path) -> int:
    return int((data / "postgres" / "cluster" / "PG_VERSION").read_text())


def test_the_service_refuses_it_with_the_command_to_run(data: Path) -> None:
    with pytest.raises(EmbeddedServerError, match=r"belongs to PostgreSQL 16; .*`builders postgres upgrade`"):
        EmbeddedServer(data, durable=False).start()


def test_an_upgrade_keeps_rows_settings_and_layout_until_it_is_confirmed(data: Path) -> None:
    said = step(data, Place.upgrade)
    assert "builders postgres confirm" in said

    with EmbeddedServer(data, durable=False) as running:
        assert ask(running.conninfo, "SHOW server_version").split(".")[0] == str(NEW)  # type: ignore[attr-defined] # a text
        assert ask(running.conninfo, KEPT) == 500500
        assert ask(running.conninfo, "SHOW max_connections") == "37"
        assert ask(running.conninfo, "SELECT reltuples::int FROM pg_class WHERE relname = 'kept'") == 1000
        assert layouts.read_options(running.conninfo) == [
            *("--encoding=UTF8", "--lc-collate=C", "--lc-ctype=C"),
            *("--locale-provider=libc", "--no-data-checksums"),
        ]
    (finding,) = (each for each in doctor.check_embedded_database(data) if each.check == "upgrade")
    assert finding.ok
    assert "builders postgres revert" in (finding.next_action or "")

    assert "Start the service and try it" in step(data, Place.upgrade)  # again
    step(data, Place.confirm)
    assert sorted(each.name for each in (data / "postgres").iterdir() if each.is_dir()) == ["cluster", "socket"]
    assert "nothing to do" in step(data, Place.upgrade)
    for of in (Place.revert, Place.confirm):
        with pytest.raises(EmbeddedServerError, match="No upgrade waits"):
            step(data, of)


def test_a_return_uses_the_old_rows_again(data: Path) -> None:
    step(data, Place.upgrade)
    with EmbeddedServer(data, durable=False) as running:
        ask(running.conninfo, "INSERT INTO kept VALUES (7)")
    assert "PostgreSQL 16 again" in step(data, Place.revert)
    assert major(data) == OLD
    assert not (data / "postgres" / "cluster.new").exists()

    old = cluster(data, OLD)
    old.start()
    assert ask(old.directory.conninfo(DATABASE), KEPT) == 500500
    old.stop()


def test_a_kill_between_the_renames_leaves_the_old_one(data: Path) -> None:
    home = data / "postgres"
    subprocess.run(["mkdir", home / "cluster.new"], check=True)
    (home / "cluster").rename(home / "cluster.old")
    (finding,) = doctor.check_embedded_database(data)
    assert "`builders postgres upgrade`" in (finding.detail)
    (home / "cluster").rename(home / "cluster.old")
    with pytest.raises(EmbeddedServerError, match="belongs to PostgreSQL 16"):
        EmbeddedServer(data, durable=False).start()
    assert major(data) == OLD
    assert not (home / "cluster.new").exists()


@pytest.mark.parametrize(
    ("word", "deleted"), [("revert", "all that was written since the upgrade"), ("confirm", "cluster.old")]
)
def test_what_deletes_a_database_asks_first(
    data: Path, monkeypatch: pytest.MonkeyPatch, word: str, deleted: str
) -> None:
    monkeypatch.delenv("BUILDERS_DATABASE_URL", raising=False)
    monkeypatch.setenv("BUILDERS_DATA_DIR", str(data))
    step(data, Place.upgrade)

    refused = CliRunner().invoke(main, ["postgres", word])
    assert (refused.exit_code, major(data)) == (2, NEW)
    assert deleted in refused.output
    assert "Add --yes." in refused.output
    assert (data / "postgres" / "cluster.old").exists()

    done = CliRunner().invoke(main, ["postgres", word, "--yes"])
    assert (done.exit_code, major(data)) == (0, OLD if word == "revert" else NEW)
    assert not (data / "postgres" / "cluster.old").exists()


@pytest.mark.parametrize(("answer", "goes_on"), [("y\n", True), ("n\n", False)])
def test_the_question_on_a_terminal(monkeypatch: pytest.MonkeyPatch, answer: str, *, goes_on: bool) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    with nullcontext() if goes_on else pytest.raises(click.Abort):
        require_consent("This deletes it. Go on?", yes=False)


def test_a_kill_during_pg_upgrade_is_continued_by_the_next_command(data: Path) -> None:
    program = [sys.executable, "-m", "builders", "postgres", "upgrade", "--without-backup"]
    settings = {name: value for name, value in python_path().items() if "DATABASE_URL" not in name}
    settings |= {"BUILDERS_DATA_DIR": str(data)}
    with subprocess.Popen(program, env=settings, stderr=subprocess.PIPE) as begun:
        wait_until((data / "postgres" / "cluster.new" / "pg_upgrade_output.d").exists)
        begun.send_signal(signal.SIGKILL)
    assert major(data) == OLD

    done = subprocess.run(program, env=settings, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert major(data) == NEW
    with EmbeddedServer(data, durable=False) as running:
        assert ask(running.conninfo, KEPT) == 500500


def test_an_unclean_stop_is_recovered_first(data: Path) -> None:
    old = cluster(data, OLD)
    old.start()
    ask(old.directory.conninfo(DATABASE), "INSERT INTO kept VALUES (500)")
    kill(*processes(data))
    step(data, Place.upgrade)
    with EmbeddedServer(data, durable=False) as running:
        assert ask(running.conninfo, KEPT) == 501000


def test_a_setting_that_the_new_version_does_not_know_changes_nothing(data: Path) -> None:
    with (data / "postgres" / "cluster" / "postgresql.conf").open("a") as settings:
        settings.write("old_snapshot_threshold = -1\n")
    with pytest.raises(EmbeddedServerError, match="old_snapshot_threshold"):
        step(data, Place.upgrade)
    assert major(data) == OLD
    assert not (data / "postgres" / "cluster.old").exists()


def test_too_little_space_changes_nothing(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(data)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=2**20))
    with pytest.raises(EmbeddedServerError, match=r"The upgrade copies the database: \d+ MB must be free"):
        step(data, Place.upgrade)
    assert (major(data), processes(data)) == (OLD, [])


def test_an_upgrade_waits_for_no_process_that_uses_the_database(data: Path) -> None:
    step(data, Place.upgrade)
    with EmbeddedServer(data, durable=False) as running:
        with pytest.raises(EmbeddedServerError, match="Processes of the service use the database"):
            step(data, Place.revert)
        assert ask(running.conninfo, KEPT) == 500500


def test_a_folder_without_a_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedServerError, match="There is no database"):
        step(tmp_path, Place.upgrade)


def test_the_layout_of_a_cluster_of_this_release_has_the_same_options(data: Path) -> None:
    shutil.rmtree(data / "postgres")
    with EmbeddedServer(data, durable=False) as running:
        options = layouts.read_options(running.conninfo)
    assert options == [
        *("--encoding=UTF8", "--lc-collate=C", "--lc-ctype=C", "--locale-provider=builtin"),
        *("--builtin-locale=C.UTF-8", "--data-checksums"),
    ]


def upgrade_by_command(data: Path, to: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "builders", "postgres", "upgrade", *words]
    environment = {**os.environ, "BUILDERS_DATA_DIR": str(data), "BUILDERS_BACKUP_TO": str(to)}
    return subprocess.run(command, env=environment, text=True, capture_output=True, check=False)


def record(to: Path, *, age: timedelta, parts: Mapping[str, Part]) -> Repository:
    """Write down a backup of the former database."""
    repository = repositories.in_folder(to, creates=True)
    made_at = clock.now() - age
    made = Backup(
        id="former",
        system_id="1",
        timeline=1,
        log_from="000000010000000000000001",
        made_at=made_at,
        postgresql=OLD,
        release="1.0.0",
        parts=parts,
    )
    repositories.record(repository, made)
    return repository


def test_an_upgrade_without_a_backup_of_the_last_hour_is_refused(data: Path, tmp_path: Path) -> None:
    record(tmp_path / "backups", age=timedelta(minutes=61), parts={})
    done = upgrade_by_command(data, tmp_path / "backups")
    assert (done.returncode, "There is no backup of the last hour" in done.stderr) == (1, True)
    assert major(data) == OLD


def test_an_upgrade_with_a_changed_backup_is_refused(data: Path, tmp_path: Path) -> None:
    record(tmp_path / "backups", age=timedelta(), parts={"base": Part(size=1, sha256="")})
    done = upgrade_by_command(data, tmp_path / "backups")
    assert (done.returncode, "base is missing." in done.stderr) == (1, True)
    assert major(data) == OLD


def test_an_upgraded_database_has_a_new_backup(data: Path, tmp_path: Path) -> None:
    repository = record(tmp_path / "backups", age=timedelta(minutes=59), parts={})
    (data / "backup.pub").write_text(seals.make_key()[1])
    done = upgrade_by_command(data, tmp_path / "backups")
    assert done.returncode == 0, done.stderr
    newest, _ = repositories.list_backups(repository)
    assert newest.postgresql == NEW
    assert repositories.verify(repository, newest) == []


def test_an_upgrade_goes_on_without_a_backup_on_request(data: Path, tmp_path: Path) -> None:
    done = upgrade_by_command(data, tmp_path / "backups", "--without-backup")
    assert (done.returncode, major(data)) == (0, NEW), done.stderr
