"""What commands print: JSON for programs, tables for people, tabs for pipes."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import typer

from builders_client.cli.faults import USAGE, Fault
from builders_client.cli.state import State
from builders_client.cli.texts import HIDDEN, note, one_line, plain

_GAP = 2
# Columns with texts that are folded in a narrow terminal, and their least width there.
_FOLDED, _FOLDED_WIDTH = frozenset({"URL", "EVENTS", "TO", "WHAT", "LABEL", "REGISTRAR"}), 12
_NUMBER = re.compile(r"-?\d[\d.,]*( [A-Z]{3,5}(/\w+)?)?")
Column = str | Callable[[Mapping[str, Any]], Any]


def member(value: Any, path: str) -> Any:
    """Return the member at a path such as `price.amount`; None without it."""
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def select(value: Any, fields: Sequence[str]) -> Any:
    """Return the chosen members of an object, or of each object of a list. Raise Fault for an unknown one."""
    if isinstance(value, list):
        return [select(each, fields) for each in value]
    if not fields or not isinstance(value, Mapping):
        return value
    if unknown := [name for name in fields if name.split(".")[0] not in value]:
        raise Fault(
            f"There is no member {', '.join(unknown)}.",
            next_action=f"Choose of: {', '.join(sorted(value))}.",
            code=USAGE,
        )
    return {name: member(value, name) for name in fields}


def print_json(state: State, value: Any) -> None:
    """Print a value as JSON, or each item of a list as a line."""
    fields = state.fields or ()
    if state.jsonl:
        for each in value if isinstance(value, list) else [value]:
            print_line(state, each)
    else:
        typer.echo(_json(select(value, fields), indent=2))


def print_line(state: State, value: Any) -> None:
    """Print a value as a line of JSON, at once."""
    typer.echo(_json(select(value, state.fields or ())))


def _json(value: Any, *, indent: int | None = None) -> str:
    """Return a value as JSON, without control characters."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # a substitute would be another value
        text = json.dumps(value, indent=indent)
    return HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def show_list(state: State, items: Iterable[Any], columns: Mapping[str, Column], *, empty: str) -> None:
    """Print a list, with a column for each title; `empty` says what to do if there is nothing."""
    if state.jsonl:
        for each in items:
            print_line(state, each)
        return
    found = list(items)
    if state.is_json:
        print_json(state, found)
        return
    rows = [[plain(_cell(each, column)) for column in columns.values()] for each in found]
    if not sys.stdout.isatty():
        for row in rows:
            typer.echo("\t".join(map(one_line, row)))
    elif rows:
        _print_table(state, list(columns), rows)
    if not rows:
        note(empty)


def _cell(item: Mapping[str, Any], column: Column) -> Any:
    return member(item, column) if isinstance(column, str) else column(item)


def _print_table(state: State, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not _fits(console.width, titles, rows):
        _print_records(titles, rows)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, cells in zip(titles, zip(*rows, strict=True), strict=True):
        side: Literal["left", "right"] = "right" if all(map(_NUMBER.fullmatch, filter(None, cells))) else "left"
        table.add_column(title, overflow="fold", no_wrap=title not in _FOLDED, justify=side)
    for row in rows:
        table.add_row(*map(Text, row))
    if state.pager and len(rows) >= shutil.get_terminal_size().lines:
        os.environ.setdefault("LESS", "FRX")  # as git does: else less prints the codes of colours
        with console.pager(styles=True):
            console.print(table)
    else:
        console.print(table)


def _fits(width: int, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a table is readable in the width: only texts are folded, not what a person copies."""
    from rich.cells import cell_len

    needed = _GAP * (len(titles) - 1)
    for at, title in enumerate(titles):
        longest = max(cell_len(each) for each in (title, *(row[at] for row in rows)))
        needed += min(longest, _FOLDED_WIDTH) if title in _FOLDED else longest
    return needed <= width


def _print_records(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print the members of each row on lines of their own."""
    for at, row in enumerate(rows):
        _print_members([(title, cell) for title, cell in zip(titles, row, strict=True) if cell])
        if at < len(rows) - 1:
            typer.echo()


def show(state: State, value: Mapping[str, Any], members: Sequence[str] = ()) -> None:
    """Print an object: all of it as JSON, or a line for each member."""
    if state.is_json:
        print_json(state, value)
        return
    _print_members([each for name in members or value for each in _flat(name, member(value, name))])


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Return the members of a member with their paths, those of lists with their numbers."""
    if value in (None, [], {}, ""):
        return
    if isinstance(value, Mapping) and not {"amount", "currency"} <= value.keys():
        for inner, each in value.items():
            yield from _flat(f"{name}.{inner}", each)
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for number, each in enumerate(value, 1):
            yield from _flat(f"{name}.{number}", each)
    else:
        yield name, plain(value)


def _print_members(members: Sequence[tuple[str, str]]) -> None:
    width = max((len(name) for name, _ in members), default=0)
    for name, text in members:
        below = text.replace("\n", f"\n{' ' * (width + _GAP)}")  # not a member of its own
        typer.echo(f"{typer.style(name.ljust(width), dim=True)}  {below}")


def print_file(content: bytes, media_type: str) -> None:
    """Print a reply that is a file: to a pipe its bytes, to a person its text. Raise Fault for other bytes."""
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    elif media_type.startswith("text/"):
        typer.echo(plain(content.decode(errors="replace")), nl=False)
    else:
        raise Fault(f"The reply is {media_type}.", next_action="Add --out FILE.", code=USAGE)


def write_file(path: Path, content: bytes) -> None:
    """Write a file. Raise Fault."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise Fault(
            f"{path}: {error.strerror or error}", next_action="Check the path and its permissions."
        ) from error


def confirm(state: State, question: str, *, yes: bool) -> None:
    """Ask for consent. Raise Fault if nobody can answer, typer.Exit if the answer is no."""
    if yes:
        return
    if not state.may_ask:
        raise Fault(
            "This needs your consent, and there is no terminal to ask in.", next_action="Add --yes.", code=USAGE
        )
    if not typer.confirm(question, err=True):
        raise KeyboardInterrupt
