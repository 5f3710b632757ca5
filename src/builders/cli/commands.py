"""What commands share: their options, the database, the account, and output.

A command is an async function that returns its output: `reads` gives it a connection, `writes` a transaction, and
`works` the database. They look up the account of `--account`, and print the output as text or with `--json`.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click
from pydantic_core import to_json

from builders.cli.address import with_address
from builders.cli.session import NEXT_COMMANDS, CommandFailed, connected, fail, read_settings
from builders.identity import accounts
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid, Problem
from builders.kit.http.pagination import MAX_LIMIT, JsonPage, PageRequest
from builders.kit.process.files import written
from builders.kit.process.settings import Settings
from builders.kit.values.texts import canonical_email

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])  # as click declares it
Item = dict[str, Any]  # an item of a list of the HTTP API

account_option = click.option("--account", required=True, help="Address of the account.")
any_account_option = click.option("--account", help="Address of the account; all accounts by default.")
sandbox_option = click.option("--sandbox", is_flag=True, help="Of its sandbox account.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
yes_option = click.option("--yes", "-y", is_flag=True, help="Consent without a question.")
output_option = click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="Output file; standard output by default."
)


def limit_option(maximum: int, *, default: int = 50) -> Callable[[Command], Command]:
    """Return the option for the maximum number of rows."""
    kind = click.IntRange(1, maximum)
    return click.option("--limit", type=kind, default=default, show_default=True, help="Maximum number.")


class Member(click.Choice[Any]):
    """A choice among members of an enumeration by their values."""

    def __init__(self, members: Iterable[StrEnum]) -> None:
        self._members = {each.value: each for each in members}
        super().__init__([*self._members])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> StrEnum:
        """Return the member."""
        return self._members[super().convert(value, param, ctx)]


def email_of(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    """Return an address of a parameter in canonical form."""
    try:
        return canonical_email(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A connection on which a command works, and the settings."""

    conn: Conn
    settings: Settings


@dataclass(frozen=True, slots=True)
class Output:
    """What a command prints: a value in the form of the HTTP API, or text."""

    value: object
    text: str
    is_failure: bool = False  # the exit status is 1


def reads(body: Callable[..., Awaitable[Output]]) -> Callable[..., None]:
    """Return the command of a function that reads on one connection, as its first argument Session says."""
    return _command(body, lambda database: database.connection())


def writes(body: Callable[..., Awaitable[Output]]) -> Callable[..., None]:
    """Return the command of a function that writes in one transaction, as its first argument Session says."""
    return _command(body, lambda database: database.transaction())


def works(body: Callable[..., Coroutine[Any, Any, Output]]) -> Callable[..., None]:
    """Return the command of a function of the database and the settings."""

    @json_option
    @wraps(body)
    def command(*, as_json: bool, **given: Any) -> None:
        output = run(lambda database, settings: body(database, settings, **given))
        show(output.value, as_json=as_json, text=output.text)
        if output.is_failure:
            raise SystemExit(1)

    return command


def _command(
    body: Callable[..., Awaitable[Output]], connect: Callable[[Database], AbstractAsyncContextManager[Conn]]
) -> Callable[..., None]:
    @works
    @wraps(body)
    async def command(database: Database, settings: Settings, **given: Any) -> Output:
        async with connect(database) as conn:
            if given.get("account") is not None:
                given["account"] = await accounts.get_account_by_email(conn, email=given["account"])
            return await body(Session(conn=conn, settings=settings), **given)

    return command


async def list_items(
    read: Callable[[PageRequest], Awaitable[JsonPage]], *, limit: int = sys.maxsize
) -> list[Item]:
    """Return the items of the pages of a list, at most a number of them."""
    items: list[Item] = []
    page = PageRequest(limit=min(limit, MAX_LIMIT), seal=lambda key: str(key[0]))
    while True:
        found = await read(page)
        items += json.loads(found.items)
        if found.next_cursor is None or len(items) >= limit:
            return items[:limit]
        page = replace(page, after=(found.next_cursor,))


def run(work: Callable[[Database, Settings], Coroutine[Any, Any, T]]) -> T:
    """Run a command on the database; end it with a message when the service refuses."""

    async def inside(settings: Settings) -> T:
        async with Database(settings.conninfo, settings) as database:
            return await work(database, settings)

    try:
        with connected(with_address(read_settings())) as settings:
            return asyncio.run(inside(settings))
    except Problem as problem:
        next_action = NEXT_COMMANDS.get(problem.code) or problem.members.get("next_action")
        raise CommandFailed(problem.detail, code=problem.code, next_action=next_action) from None
    except Invalid as invalid:
        raise CommandFailed(str(invalid.errors[0]["msg"]), code=invalid.code) from None


def require_consent(question: str, *, yes: bool) -> None:
    """Ask on the terminal, unless --yes is given; end the command without a yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question}\nThere is no terminal to ask in. Add --yes.")
    click.confirm(question, abort=True, err=True)


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


@contextmanager
def open_output(output: Path | None) -> Iterator[TextIO]:
    """Open a file that is replaced atomically and readable by its owner alone; standard output for None."""
    if output is None:
        yield sys.stdout
        return
    try:
        with written(output) as file:
            yield file
    except OSError as error:
        fail(f"Cannot write {output}: {error.strerror}.")
