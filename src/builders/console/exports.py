"""The list of domains of a portfolio as a CSV file: the rows, the columns and the order that a view shows."""

import asyncio
import csv
import io
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from builders.console import portfolio
from builders.console.calls import Api, Call
from builders.console.portfolio import COLUMNS, Column
from builders.kit.http import slices
from builders.kit.http.deadline import Deadlines
from builders.kit.http.heavy_requests import STREAM_TIMEOUT_S
from builders.kit.http.internal_calls import Answer
from builders.kit.sheets.cells import reversible_cell
from builders.portfolio.domains.filters import FILTER_NAMES

_SELECTS = frozenset((*FILTER_NAMES, "sort"))


_deadlines = Deadlines()


class ViewFile(StreamingResponse):
    """The file of a view. The calls of the API read its rows within their own limits; slices write them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file. Raise RequestTimeout, without the last chunk, when the client reads too slowly."""
        await _deadlines.run(super().__call__(scope, receive, send), timeout_s=STREAM_TIMEOUT_S)


class FileIncompleteError(Exception):
    """A page of the list was refused after the file had begun."""


async def open_file(api: Api, query: Mapping[str, str]) -> tuple[Answer, AsyncIterator[str]]:
    """Return the answer to the first page of a view, and the lines of its file if that is no refusal."""
    pages = portfolio.read_pages(api, {name: value for name, value in query.items() if name in _SELECTS})
    first, saved = await asyncio.gather(anext(pages), api.send(Call("GET", portfolio.VIEWS)))
    own = saved.body["columns"] if saved.is_ok else ()
    return first, _lines(first, pages, query.get(COLUMNS, ""), own)


async def _lines(
    answer: Answer, following: AsyncGenerator[Answer], asked: str, saved: Sequence[str]
) -> AsyncIterator[str]:
    """Yield the lines of the file, those of a page at a time. Raise FileIncompleteError."""
    items = answer.body["items"]
    sees_money = not (items and items[0]["redacted"])
    columns = portfolio.columns_of(asked, saved, sees_money=sees_money)
    yield _line(["domain", *(name for each in columns for name in _names(each))])
    yield await slices.run(_written(items, columns))
    async for each in following:
        if not each.is_ok:
            raise FileIncompleteError(each.body["detail"])
        yield await slices.run(_written(each.body["items"], columns))


def _written(items: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> Generator[None, None, str]:
    lines = []
    for item in items:
        lines.append(
            _line([item["domain"], *(cell for each in columns for cell in _cells(each, item[each.name]))])
        )
        yield
    return "".join(lines)


def _names(column: Column) -> Iterator[str]:
    yield column.name
    if column.kind == "money":
        yield f"{column.name}_currency"


def _cells(column: Column, value: Any) -> Iterator[str]:
    """Yield a member as cells, of which no spreadsheet takes one for a formula. A number is none."""
    match value:
        case {"amount": amount, "currency": currency}:
            yield from (amount, currency)
        case None:
            yield from ("" for _ in _names(column))
        case bool():
            yield "yes" if value else "no"
        case int() | float():
            yield str(value)
        case list():
            yield reversible_cell(", ".join(value))
        case _:
            yield reversible_cell(str(value))


def _line(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()
