"""What commands print: JSON for programs, tables for people, tabs for pipes."""

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import typer

from builders_client.cli.faults import USAGE, Fault
from builders_client.cli.state import State

Column = str | Callable[[Mapping[str, Any]], Any]
# Text of other parties could move the cursor or rename the window.
_HIDDEN = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # JSON escapes the others
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f]|{_HIDDEN.pattern}")


def plain(value: Any) -> str:
    """Return a value as text for a person, without control characters."""
    match value:
        case None:
            text = ""
        case bool():
            text = "yes" if value else "no"
        case {"amount": amount, "currency": currency, **rest}:
            text = f"{amount} {currency}" + (f"/{rest['interval']}" if rest.get("interval") else "")
        case Mapping():
            text = ", ".join(f"{name}={plain(each)}" for name, each in value.items())
        case list():
            text = ", ".join(map(plain, value))
        case _:
            text = str(value)
    return _CONTROL.sub("\ufffd", text)


def one_line(value: Any) -> str:
    """Return a value as text on one line: text of other parties could look like lines of ours."""
    return plain(value).replace("\t", " ").replace("\n", " ")


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
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


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

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        table.add_column(title, overflow="fold", no_wrap=title == "ID")  # an id is copied
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console()
    if state.pager and len(rows) >= shutil.get_terminal_size().lines:
        with console.pager(styles=True):
            console.print(table)
    else:
        console.print(table)


def show(state: State, value: Mapping[str, Any], members: Sequence[str] = ()) -> None:
    """Print an object: all of it as JSON, or a line for each member."""
    if state.is_json:
        print_json(state, value)
        return
    names = [name for name in members or value if member(value, name) not in (None, [], {}, "")]
    width = max(map(len, names), default=0)
    for name in names:
        text = plain(member(value, name)).replace("\n", f"\n{' ' * (width + 2)}")  # below, not a member of its own
        typer.echo(f"{typer.style(name.ljust(width), dim=True)}  {text}")


def note(text: str) -> None:
    """Tell the person something that is not the result."""
    typer.secho(_CONTROL.sub("\ufffd", text), err=True)


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
