"""What every command needs: the settings, a database, and words for what went wrong."""

import asyncio
import json
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn, TypeVar

import click
import psycopg
from pydantic import SecretStr, ValidationError
from pydantic_core import to_json
from redis.connection import parse_url

from builders.kit.db import doctor, migrations
from builders.kit.db.connections import Database
from builders.kit.db.embedded.errors import EmbeddedServerError
from builders.kit.db.embedded.server import EmbeddedServer
from builders.kit.errors import Invalid, Problem
from builders.kit.process import log
from builders.kit.process.settings import Settings

T = TypeVar("T")
SERVED = "served-at.json"  # in the data folder

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


class CommandFailed(click.ClickException):
    """A command that ends with status 1, in words; `code` and `next_action` are for programs."""

    def __init__(self, message: str, *, code: str = "command_failed", next_action: str | None = None) -> None:
        super().__init__("\n".join(filter(None, (message, next_action))))
        self.code, self.detail, self.next_action = code, message, next_action


def fail(message: str) -> NoReturn:
    """Ends the command with words and status 1."""
    raise CommandFailed(message)


def read_settings(**overrides: object) -> Settings:
    """Settings from the environment; what is wrong with one is said, and its value is not."""
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        settings = Settings(**given)  # type: ignore[arg-type] # by field name, validated by the class itself
    except ValidationError as error:
        # The prefix is pydantic's, and no word for whoever sets variables.
        said = ((_variable(each["loc"]), each["msg"].removeprefix("Value error, ")) for each in error.errors())
        fail("\n".join(f"{name}: {what}" for name, what in said))
    try:
        log.configure(level=settings.log_level, style=settings.log_format)
    except ValueError as error:
        fail(f"BUILDERS_LOG_LEVEL: {error}")
    if settings.redis_url is not None:
        try:
            parse_url(settings.redis_url.get_secret_value())  # type: ignore[no-untyped-call] # typed in part only
        except ValueError:  # whose text may show a part of the password
            fail("BUILDERS_REDIS_URL: not an address of Redis; write redis://host:6379/0 or unix:///path.")
    return settings.model_copy(update={"data_dir": settings.data_dir.absolute()})


def keep_address(settings: Settings) -> None:
    """Keep the address that `serve` listens on, for the commands that write links to it."""
    with suppress(OSError):
        kept = json.dumps({"host": settings.host, "port": settings.port})
        (settings.data_dir / SERVED).write_text(kept, encoding="utf-8")


def with_address(settings: Settings) -> Settings:
    """Return the settings with the address that `serve` listened on last, where none is set."""
    if settings.model_fields_set & {"host", "port", "base_url"}:
        return settings
    try:
        kept = json.loads((settings.data_dir / SERVED).read_text(encoding="utf-8"))
        return settings.model_copy(update={"host": str(kept["host"]), "port": int(kept["port"])})
    except (OSError, ValueError, KeyError, TypeError):
        return settings


def _variable(loc: tuple[int | str, ...]) -> str:
    name = str(loc[0]).upper()
    return name if name.startswith("BUILDERS_") else f"BUILDERS_{name}"


def conninfo_of(settings: Settings) -> str:
    """The connection string of connected settings."""
    assert settings.database_url is not None  # noqa: S101 - connected settings have one
    return settings.database_url.get_secret_value()


@contextmanager
def connected(settings: Settings, *, migrated: bool = True, watched: bool = False) -> Iterator[Settings]:
    """The settings with a database that runs: the named one, or our own, stopped again if nobody else uses it.

    `watched`: our own is started again whenever it dies.
    """
    try:
        with _unwinding(), _database(settings, watched=watched) as ready:
            if migrated:
                migrate_database(ready)
            yield ready
    except EmbeddedServerError as error:
        fail(str(error))


@contextmanager
def _unwinding() -> Iterator[None]:
    """SIGTERM, or a closed terminal, ends the command as Ctrl-C does: our own PostgreSQL is not left behind.

    Once: told again, as by a service manager and by its parent, a command clears up to the end.
    """
    is_told = False

    def end(number: int, _: FrameType | None) -> None:
        nonlocal is_told
        if not is_told:
            is_told = True
            raise SystemExit(128 + number)

    heard = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, end) for each in heard}
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
    """Applies what is pending and gives its names; a database that will not do is said in words."""
    conninfo = conninfo_of(settings)
    try:
        return migrations.migrate(conninfo)
    except migrations.MigrationError as error:
        fail(str(error))
    except (psycopg.Error, OSError, UnicodeError) as error:  # of a garbled address the text may hold the password
        wrong = next((each for each in doctor.check_database(conninfo) if not each.ok), None)
        fail(f"{wrong.detail} {wrong.next_action or ''}" if wrong else f"The database refused: {error}")


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Database]:
    """The database of connected settings."""
    database = Database(conninfo_of(settings), settings)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


def run(work: Callable[[Database, Settings], Coroutine[Any, Any, T]]) -> T:
    """Does a command's work on the database; a refusal is said in words."""

    async def inside(settings: Settings) -> T:
        async with opened(settings) as database:
            return await work(database, settings)

    try:
        with connected(with_address(read_settings())) as settings:
            return asyncio.run(inside(settings))
    except Problem as problem:
        next_action = problem.members.get("next_action")
        raise CommandFailed(problem.detail, code=problem.code, next_action=next_action) from None
    except Invalid as invalid:
        raise CommandFailed(str(invalid.errors[0]["msg"]), code=invalid.code) from None


def show(value: object, *, as_json: bool, text: str) -> None:
    """Prints a result for a program, written as the HTTP interface writes it, or for a person."""
    click.echo(to_json(value, indent=2, ensure_ascii=True) if as_json else text)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> str:
    """Return rows for a person, below the names of their columns; `empty` when there is none."""
    cells = [[plain(str(each)) for each in row] for row in rows]
    if not cells:
        return empty
    cells.insert(0, list(head))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def counted(number: int, noun: str) -> str:
    """So many of a thing whose plural has an s, as `1 row` and `2 rows`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def plain(text: str) -> str:
    """The text of others for a terminal: on one line, and without what would steer it."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def note(message: str) -> None:
    """Says something beside the result."""
    print(message, file=sys.stderr)
