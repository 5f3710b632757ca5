"""What every command needs: the settings, a database, and words for what went wrong."""

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NoReturn, TypeVar

import click
import psycopg
from pydantic import SecretStr, ValidationError

from builders.kit import log, migrate
from builders.kit.db import Database
from builders.kit.embedded.errors import EmbeddedFailed
from builders.kit.embedded.server import Embedded
from builders.kit.errors import Problem
from builders.kit.settings import Settings

T = TypeVar("T")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def fail(message: str) -> NoReturn:
    """Ends the command with words and status 1."""
    raise click.ClickException(message)


def read_settings(**overrides: object) -> Settings:
    """Settings from the environment; what is wrong with one is said, and its value is not."""
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        settings = Settings(**given)  # type: ignore[arg-type] # by field name, validated by the class itself
    except ValidationError as error:
        lines = (f"BUILDERS_{'_'.join(map(str, each['loc'])).upper()}: {each['msg']}" for each in error.errors())
        fail("\n".join(lines))
    log.configure(level=settings.log_level)
    return settings.model_copy(update={"data_dir": settings.data_dir.absolute()})


@contextmanager
def connected(settings: Settings, *, migrated: bool = True, watched: bool = False) -> Iterator[Settings]:
    """The settings with a database that runs: the named one, or our own, stopped again if nobody else uses it.

    `watched`: our own is started again whenever it dies.
    """
    try:
        if settings.database_url is not None:
            if migrated:
                migrate.migrate(settings.database_url.get_secret_value())
            yield settings
            return
        with Embedded(settings.data_dir) as embedded, _watching(embedded, watched=watched):
            if migrated:
                migrate.migrate(embedded.conninfo)
            yield settings.model_copy(update={"database_url": SecretStr(embedded.conninfo)})
    except (EmbeddedFailed, migrate.MigrationRefused) as error:
        fail(str(error))
    except psycopg.OperationalError as error:
        fail(f"The database cannot be reached: {error}\nRun `builders doctor` to see what is wrong.")


@contextmanager
def _watching(embedded: Embedded, *, watched: bool) -> Iterator[None]:
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


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Database]:
    """The database of connected settings."""
    if settings.database_url is None:
        fail("There is no database.")
    database = Database(settings.database_url.get_secret_value(), settings)
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
        with connected(read_settings()) as settings:
            return asyncio.run(inside(settings))
    except Problem as problem:
        fail(problem.detail)


def show(value: object, *, as_json: bool, text: str) -> None:
    """Prints a result for a program or for a person."""
    click.echo(json.dumps(value, default=str, indent=2) if as_json else text)


def note(message: str) -> None:
    """Says something beside the result."""
    print(message, file=sys.stderr)
