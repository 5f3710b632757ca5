"""`builders status` and `builders reload`."""

import asyncio
import os
import platform
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

import click
import psycopg

from builders.backup import archive, repositories
from builders.cli import address
from builders.cli.address import LastStart, with_address
from builders.cli.commands import counted, json_option, show, table
from builders.cli.session import connected, fail, on_database, read_settings
from builders.kit.db import demand, migrations
from builders.kit.jobs import workers
from builders.kit.jobs.workers import Lane
from builders.kit.process.parts import Parts
from builders.kit.process.version import REVISION, VERSION
from builders.kit.values import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What runs, and what waits."""

    version: str
    specification: str
    python: str
    postgresql: str
    pending_migrations: Sequence[str]
    processes: Parts  # of the `serve` of this data folder, with their troubles
    worker_silent_s: int | None  # since a worker of any machine responded; None: none runs
    lanes_served: int  # three of each worker
    lanes: Sequence[Lane]
    connections: int
    max_connections: int
    last_start: LastStart = field(default_factory=LastStart)  # of `serve` with this data folder
    last_migrations: Mapping[str, datetime] = field(default_factory=dict)  # by name
    last_backup: datetime | None = None  # in BUILDERS_BACKUP_TO; those of other programs are not recorded
    backups: int = 0  # that are kept there
    log_archived_at: datetime | None = None  # the newest segment of the log there

    @property
    def is_well(self) -> bool:
        """Return whether the migrations are applied, no process has trouble, and a worker responds."""
        return not self.pending_migrations and bool(self.lanes_served) and not any(self.processes.values())


@click.command("status")
@json_option
def status_command(*, as_json: bool) -> None:
    """Show versions, processes, workers and queues.

    The exit status is 1 if migrations are pending, a process has trouble, or no worker responds.
    """
    given = with_address(read_settings())
    with connected(given, migrated=False) as settings:
        pending = on_database(settings, migrations.list_pending)
        if len(pending) >= len(migrations.list_migrations()):
            fail("The database is empty. Start the service by `builders serve`.")
        applied = on_database(settings, migrations.list_last)
        found = on_database(settings, lambda conninfo: _read(conninfo, pending, address.load_parts(given)))
    found = replace(found, last_start=address.load_last_start(given), last_migrations=applied)
    with suppress(OSError):  # doctor says why it cannot be read
        found = _with_backups(found, repositories.opened(given))
    show({**_members(found), "is_well": found.is_well}, as_json=as_json, text=_describe(found))
    if not found.is_well:
        raise SystemExit(1)


def _read(conninfo: str, pending: Sequence[str], parts: Parts) -> Status:
    limit, connections = demand.read_limit(conninfo)

    async def read() -> Status:
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
            silence = await workers.find_silence(conn)
            return Status(
                version=VERSION,
                specification=REVISION,
                python=platform.python_version(),
                postgresql=conn.info.parameter_status("server_version") or "",
                pending_migrations=pending,
                processes=parts,
                worker_silent_s=None if silence is None else round(silence.total_seconds()),
                lanes_served=await workers.count_lanes_served(conn, after=clock.now() - workers.SILENT),
                lanes=await workers.list_lanes(conn, now=clock.now()),
                connections=connections,
                max_connections=limit,
            )

    return asyncio.run(read())


def _with_backups(found: Status, repository: repositories.Repository | None) -> Status:
    """Return the status with what a repository has. Raise OSError."""
    backups = [] if repository is None else repositories.list_backups(repository)
    if repository is None or not backups:
        return found
    segments = archive.list_segments(repository, backups[0]).values()
    archived_at = max((each.written_at for each in segments), default=None)
    return replace(found, last_backup=backups[0].made_at, backups=len(backups), log_archived_at=archived_at)


def _describe_backups(found: Status) -> str:
    if found.last_backup is None:
        return "not recorded"
    hours = (clock.now() - found.last_backup).total_seconds() / 3600
    kept = f"{_age(found.last_backup)}, {hours:.1f} hours ago; {counted(found.backups, 'backup')} kept"
    return f"{kept}; log archived until {_age(found.log_archived_at)}"


def _members(found: Status) -> Mapping[str, object]:
    return {name: getattr(found, name) for name in Status.__dataclass_fields__}


def _describe(found: Status) -> str:
    worker = "none runs" if found.worker_silent_s is None else f"last response {found.worker_silent_s} s ago"
    processes = [f"{name} {trouble or 'runs'}" for name, trouble in found.processes.items()]
    rows = [
        (each.lane, each.waiting, each.planned, each.running, each.failed, _age(each.oldest_at))
        for each in found.lanes
    ]
    start = found.last_start
    names = ", ".join(
        f"BUILDERS_{each.upper()}: now {start.present.get(each, 'another value than here')}"
        for each in start.changed
    )
    changed = f"{start.changed_at}, {names}" if start.changed_at else "not since the first recorded start"
    applied = ", ".join(f"{name} {_age(at)}" for name, at in found.last_migrations.items()) or "none"
    return "\n".join(
        (
            f"builders     {found.version}, specification {found.specification}, Python {found.python}",
            f"PostgreSQL   {found.postgresql}, {found.connections} of {found.max_connections} connections",
            f"migrations   {counted(len(found.pending_migrations), 'migration')} pending; last: {applied}",
            f"last start   {start.started_at or 'not recorded'}; settings changed: {changed}",
            f"processes    {', '.join(processes) or 'no `builders serve` runs with this data folder'}",
            f"workers      {found.lanes_served // 3} respond; {worker}",
            f"last backup  {_describe_backups(found)}",
            "",
            table(("LANE", "WAITING", "LATER", "RUNNING", "FAILED", "OLDEST"), rows, empty="No jobs."),
        )
    )


def _age(moment: object) -> str:
    return "-" if moment is None else f"{moment:%Y-%m-%dT%H:%M:%SZ}"


@click.command("reload")
def reload_command() -> None:
    """Let the `serve` of this data folder replace its processes, one after the other, without a failed request."""
    pid = address.find_serve(read_settings())
    if pid is None:
        fail("No `builders serve` runs with this data folder. Set BUILDERS_DATA_DIR to its folder.")
    os.kill(pid, signal.SIGUSR1)
    click.echo(f"`builders serve` (pid {pid}) replaces its processes; its log has `child_replaced` for each.")
