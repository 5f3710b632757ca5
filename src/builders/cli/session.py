"""Shared parts of commands: settings, database, options, errors and output."""

import asyncio
import os
import signal
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TextIO, TypeVar

import click
import psycopg
from pydantic import SecretStr, ValidationError
from pydantic_core import to_json
from redis.connection import parse_url

from builders.cli import doctor
from builders.cli.address import with_address
from builders.cli.embedded.server import EmbeddedServer, open_lock, try_exclusive
from builders.cli.embedded.system_user import EmbeddedServerError
from builders.kit.db import migrations
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid, Problem
from builders.kit.process import log
from builders.kit.process.settings import Settings

T = TypeVar("T")

# What an operator does next after a refusal, by its code. The `next_action` of others is for clients of the API.
NEXT_COMMANDS = {
    "account_not_found": "List the accounts by `builders accounts list`; `builders accounts create` creates one.",
    "account_domain_not_found": "List the domains by `builders domains list`.",
    "api_key_not_found": "List the keys of the account by `builders keys list --account ADDRESS`.",
    "database_unavailable": "Check the database by `builders doctor`.",
    "database_busy": "Run the command again; `builders doctor` checks the database.",
    "delivery_not_found": "List the deliveries by `builders deliveries list`.",
    "invoice_not_found": "List the invoices by `builders invoices list`.",
}

account_option = click.option("--account", "email", required=True, help="Address of the account.")
sandbox_option = click.option("--sandbox", is_flag=True, help="Of its sandbox account.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


class CommandFailed(click.ClickException):
    """A failure with exit status 1; `code` and `next_action` are in the JSON output."""

    def __init__(self, message: str, *, code: str = "command_failed", next_action: str | None = None) -> None:
        super().__init__("\n".join(filter(None, (message, next_action))))
        self.code, self.detail, self.next_action = code, message, next_action


def fail(message: str) -> NoReturn:
    """End the command with a message and exit status 1."""
    raise CommandFailed(message)


def read_settings(**overrides: object) -> Settings:
    """Return the settings of the environment; errors name the setting but not its value."""
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        settings = Settings(**given)  # type: ignore[arg-type] # by field name, validated by the class itself
    except ValidationError as error:
        # The prefix of pydantic means nothing to an operator.
        messages = ((_variable(each["loc"]), each["msg"].removeprefix("Value error, ")) for each in error.errors())
        fail("\n".join(f"{name}: {what}" for name, what in messages))
    try:
        log.configure(level=settings.log_level, style=settings.log_format)
    except ValueError as error:
        fail(f"BUILDERS_LOG_LEVEL: {error}")
    if settings.redis_url is not None:
        try:
            parse_url(settings.redis_url.get_secret_value())  # type: ignore[no-untyped-call] # typed in part only
        except ValueError:  # its text may contain a part of the password
            fail("BUILDERS_REDIS_URL: not a Redis URL; write redis://host:6379/0 or unix:///path.")
    return settings.model_copy(update={"data_dir": settings.data_dir.absolute()})


def _variable(loc: tuple[int | str, ...]) -> str:
    name = str(loc[0]).upper()
    return name if name.startswith("BUILDERS_") else f"BUILDERS_{name}"


def conninfo_of(settings: Settings) -> str:
    """Return the connection string of connected settings."""
    assert settings.database_url is not None  # noqa: S101 - connected settings have one
    return settings.database_url.get_secret_value()


@contextmanager
def connected(settings: Settings, *, migrated: bool = True, watched: bool = False) -> Iterator[Settings]:
    """Return settings with a running database: the configured one, or the embedded one until its last use.

    `watched` restarts the embedded one when it dies.
    """
    try:
        with _unwinding(), _database(settings, watched=watched) as ready:
            if migrated:
                migrate_database(ready)
            yield ready
    except EmbeddedServerError as error:
        fail(str(error))


@contextmanager
def alone(settings: Settings, role: str) -> Iterator[None]:
    """Be the only process of a role on the embedded database; end the command if another one runs.

    With BUILDERS_DATABASE_URL several processes of a role may share a data folder.
    """
    if settings.database_url is not None:
        yield
        return
    descriptor = open_lock(settings.data_dir / f"{role}.lock")
    try:
        if not try_exclusive(descriptor):
            pid = os.read(descriptor, 20).decode()
            fail(
                f"`builders {role}` (pid {pid}) runs on the embedded database in {settings.data_dir}. "
                f"Stop it with `kill {pid}`, choose another folder by BUILDERS_DATA_DIR, or set "
                "BUILDERS_DATABASE_URL to a server that several can share."
            )
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _unwinding() -> Iterator[None]:
    """End the command on SIGTERM or SIGHUP as on Ctrl-C, so that the embedded PostgreSQL is stopped.

    A second signal, as from both a service manager and the parent, does not interrupt the clean-up.
    """
    is_ending = False

    def end(number: int, _: FrameType | None) -> None:
        nonlocal is_ending
        if not is_ending:
            is_ending = True
            raise SystemExit(128 + number)

    handled = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, end) for each in handled}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def _database(settings: Settings, *, watched: bool) -> Iterator[Settings]:
    if settings.database_url is not None:
        yield settings
        return
    with EmbeddedServer(settings.data_dir) as embedded, _watching(embedded, watched=watched):
        yield settings.model_copy(update={"database_url": SecretStr(embedded.conninfo)})


@contextmanager
def _watching(embedded: EmbeddedServer, *, watched: bool) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=embedded.watch, args=(stop,), daemon=True)
    if watched:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if watched:
            thread.join()


def migrate_database(settings: Settings) -> list[str]:
    """Apply pending migrations and return their names; end the command with a message when that fails."""
    conninfo = conninfo_of(settings)
    try:
        return migrations.migrate(conninfo)
    except migrations.MigrationError as error:
        fail(str(error))
    except (psycopg.Error, OSError, UnicodeError) as error:  # the text may contain the password of a malformed URL
        wrong = next((each for each in doctor.check_server(conninfo) if not each.ok), None)
        reason = (
            f"{wrong.detail} {wrong.next_action or ''}" if wrong else f"The database returned an error: {error}"
        )
        raise CommandFailed(reason, next_action=NEXT_COMMANDS["database_unavailable"]) from None


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Database]:
    """Open the database of connected settings."""
    database = Database(conninfo_of(settings), settings)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


def run(work: Callable[[Database, Settings], Coroutine[Any, Any, T]]) -> T:
    """Run a command on the database; end it with a message when the service refuses."""

    async def inside(settings: Settings) -> T:
        async with opened(settings) as database:
            return await work(database, settings)

    try:
        with connected(with_address(read_settings())) as settings:
            return asyncio.run(inside(settings))
    except Problem as problem:
        next_action = NEXT_COMMANDS.get(problem.code) or problem.members.get("next_action")
        raise CommandFailed(problem.detail, code=problem.code, next_action=next_action) from None
    except Invalid as invalid:
        raise CommandFailed(str(invalid.errors[0]["msg"]), code=invalid.code) from None


def query(read: Callable[[Conn], Awaitable[T]]) -> T:
    """Run a command that reads on one connection, as `run` does."""

    async def work(database: Database, _: Settings) -> T:
        async with database.connection() as conn:
            return await read(conn)

    return run(work)


def transact(change: Callable[[Conn], Awaitable[T]]) -> T:
    """Run a command that writes in one transaction, as `run` does."""

    async def work(database: Database, _: Settings) -> T:
        async with database.transaction() as conn:
            return await change(conn)

    return run(work)


def show(value: object, *, as_json: bool, text: str) -> None:
    """Print a result as JSON, in the form of the HTTP API, or as text."""
    click.echo(to_json(value, indent=2, ensure_ascii=True) if as_json else text)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> str:
    """Return rows as a text table with a header; `empty` when there are none."""
    cells = [[plain(str(each)) for each in row] for row in rows]
    if not cells:
        return empty
    cells.insert(0, list(head))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, whose plural has an s, as `1 row` and `2 rows`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def plain(text: str) -> str:
    """Return untrusted text for a terminal: without control characters."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def note(message: str) -> None:
    """Print a message to stderr."""
    print(message, file=sys.stderr)


@contextmanager
def open_output(output: Path | None) -> Iterator[TextIO]:
    """Open a file that is replaced atomically and readable by its owner alone; standard output for None.

    Concurrent writers have separate drafts, and the last one replaces the file.
    """
    if output is None:
        yield sys.stdout
        return
    draft: Path | None = None
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{output.name}.", suffix=".part", dir=output.parent)
        draft = Path(name)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # before the rename, in case the machine stops
        draft.replace(output)
    except OSError as error:
        fail(f"Cannot write {output}: {error.strerror}.")
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)
