"""Machines with backups, and an archive of their log that goes on when a test says so."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from click.testing import CliRunner, Result

from builders.backup import archive, repositories
from builders.cli.archiver import Archiver
from builders.cli.embedded import upgrade
from builders.cli.embedded.directory import MAJOR
from builders.cli.embedded.server import DATABASE, EmbeddedServer
from builders.cli.main import main
from builders.kit.process.settings import Settings
from tests import log_lines

SEGMENT = "SELECT pg_logical_emit_message(false, 'test', repeat('x', 100)), pg_switch_wal()"


@dataclass(frozen=True, slots=True)
class Machine:
    """A data folder, and the folder of backups."""

    data: Path
    to: Path
    bucket: str | None = None  # in place of the folder

    @property
    def place(self) -> str:
        """Return what BUILDERS_BACKUP_TO is."""
        return self.bucket or str(self.to)

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the settings of commands."""
        return {"BUILDERS_DATA_DIR": str(self.data), "BUILDERS_BACKUP_TO": self.place}

    def run(self, *words: str, key: str | None = None) -> Result:
        """Run a command in this process; `key` is what the descriptor of the private key has."""
        given = [*words]
        if key is not None:
            reading, writing = os.pipe()
            os.write(writing, key.encode())
            os.close(writing)
            given += ["--key-fd", str(reading)]
        result = CliRunner().invoke(main, given, env=self.environment)
        log_lines.write_errors_only()
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        return result

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a command as a process of its own."""
        command, pipe = [sys.executable, "-P", "-m", "builders", *words], subprocess.PIPE
        environment = {**os.environ, **self.environment}
        return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def read(self, *words: str, key: str | None = None) -> Any:
        done = self.run(*words, "--json", key=key)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)


class Service:
    """A running embedded database, whose log is archived when a test says so."""

    def __init__(self, machine: Machine, conninfo: str) -> None:
        self.conninfo = conninfo
        settings = Settings(data_dir=machine.data, database_url=conninfo, backup_to=machine.place)
        public = (machine.data / "backup.pub").read_text().strip()
        repository = repositories.opened(settings)
        assert repository is not None
        self.repository = repository
        self._archiver = Archiver(settings, self.repository, public_key=public)

    def execute(self, text: LiteralString, *values: object) -> datetime:
        """Commit a statement; return a moment after it and before the next one."""
        with psycopg.connect(self.conninfo, autocommit=True) as conn:
            conn.execute(text, values)
            row = conn.execute("SELECT clock_timestamp()").fetchone()
        assert row is not None
        moment: datetime = row[0]
        return moment

    def archive(self) -> None:
        """Archive what is written, and make a backup if one is due."""

        async def turn() -> None:
            await self._archiver.turn()
            await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})  # a backup that was begun

        asyncio.run(turn())


@contextmanager
def running(machine: Machine) -> Iterator[Service]:
    with EmbeddedServer(machine.data, durable=False) as embedded:
        yield Service(machine, embedded.conninfo)


class Archived(Service):
    """A running database, and a folder of backups that can be away."""

    def __init__(self, machine: Machine, conninfo: str) -> None:
        super().__init__(machine, conninfo)
        self.machine = machine

    def turn(self) -> None:
        """Archive, wait for a backup that is due, and measure."""
        self.archive()
        self.archive()

    def take_away(self) -> None:
        """Put a file in the place of the folder of backups."""
        shutil.rmtree(self.machine.to)
        self.machine.to.write_text("")

    def unmount(self) -> None:
        """Let the folder of backups be missing."""
        self.machine.to.rename(self.machine.to.with_name("unmounted"))

    def mount(self) -> None:
        """Undo it."""
        self.machine.to.with_name("unmounted").rename(self.machine.to)

    def fill(self, *, segments: int) -> None:
        """Write so many segments of the log."""
        with psycopg.connect(self.conninfo, autocommit=True) as conn:
            for _ in range(segments):
                conn.execute(SEGMENT)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Return a folder that the user of PostgreSQL can reach."""
    path = Path(tempfile.mkdtemp(prefix="builders-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def archiving() -> Iterator[Archived]:
    """Return a running database whose log is archived."""
    folder = Path(tempfile.mkdtemp(prefix="builders-test-"))
    folder.chmod(0o755)
    machine = Machine(folder / "data", folder / "backups")
    machine.read("backup", "init")
    with EmbeddedServer(machine.data, durable=False) as embedded:
        yield Archived(machine, embedded.conninfo)
    shutil.rmtree(folder)


def give_up(machine: Machine) -> bool:
    """Return whether a log that waits for too long is given up, and then kept again."""
    data = machine.data.with_name("waiting")
    with EmbeddedServer(data, durable=False):
        pass  # it is created
    with upgrade.opened(data, durable=False) as place:
        cluster = replace(place.cluster(MAJOR), settings={"max_slot_wal_keep_size": "32MB"})
        cluster.start()
        try:
            return asyncio.run(_give_up(place.directory.conninfo(DATABASE)))
        finally:
            cluster.stop()


async def _give_up(conninfo: str) -> bool:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
        await archive.keep(conn)
        for _ in range(8):
            await conn.execute(SEGMENT)
            await conn.execute("CHECKPOINT")
        is_lost = (await archive.get_position(conn)).is_given_up
        is_kept = await archive.keep(conn)
        return is_lost and is_kept and not (await archive.get_position(conn)).is_given_up
