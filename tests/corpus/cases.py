"""The files of the corpus: a table as somebody sends it, and the answer that is right.

A case is a TOML file in the folder of its kind. Its keys are the fields of `Case` and of `Problem`. Of `rows`,
each member that is not listed is blank or has its default. An amount has its currency, such as `12.50 EUR`.
"""

import csv
import io
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from tests.kit.sheets.workbook_files import DATE, cell, ods, ods_cell, ods_row, xls, xlsx

FOLDER = Path(__file__).parent
_EPOCH = date(1899, 12, 30)  # day 0 of spreadsheets
Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The codes of a row, and the name that its first error suggests."""

    line: int
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    did_you_mean: str | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table, and what is right for it."""

    title: str
    source: str  # where such a file, its header or its report is public
    text: str
    encoding: str = "utf-8"  # of Python; the file is the text in it
    line_end: str = "\n"
    workbook: str | None = None  # xlsx, xls or ods: the text is its sheet; numbers and ISO dates are typed cells
    query: dict[str, str] = field(default_factory=dict)  # options of the request

    refused: str | None = None  # code of the refusal of the whole file
    detected: Json = field(default_factory=dict)  # members that must be there, `format` always
    unmapped: list[str] = field(default_factory=list)  # headers of all columns that are omitted
    warnings: list[str] = field(default_factory=list)  # codes of all warnings of `detected`
    problems: list[Problem] = field(default_factory=list)  # all rows that have one
    rows: list[Json] = field(default_factory=list)

    def content(self) -> bytes:
        """Return the file."""
        if self.workbook is not None:
            return _BOOKS[self.workbook](list(csv.reader(io.StringIO(self.text), strict=True)))
        return self.text.replace("\n", self.line_end).encode(self.encoding)


def list_paths() -> Sequence[Path]:
    return sorted(FOLDER.glob("*/*.toml"))


def read_case(path: Path) -> Case:
    """Read a case. Raise TypeError for an unknown key, and ValueError for a value that is not TOML."""
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    problems = [Problem(**each) for each in written.pop("problems", ())]
    return Case(problems=problems, **written)


def _xlsx(rows: Sequence[Sequence[str]]) -> bytes:
    written = [
        f'<row r="{at + 1}">{"".join(_xlsx_cell(at, column, each) for column, each in enumerate(cells))}</row>'
        for at, cells in enumerate(rows)
    ]
    return xlsx("".join(written))


def _xlsx_cell(at: int, column: int, text: str) -> str:
    value = _typed(text)
    if isinstance(value, date):
        return cell(at, column, float((value - _EPOCH).days), DATE)
    return cell(at, column, value or None)


def _ods(rows: Sequence[Sequence[str]]) -> bytes:
    return ods("".join(ods_row(*map(_ods_cell, cells)) for cells in rows))


def _ods_cell(text: str) -> str:
    value = _typed(text)
    return ods_cell(text if isinstance(value, date) else value)


def _xls(rows: Sequence[Sequence[str]]) -> bytes:
    return xls(*[[each if isinstance(value := _typed(each), date) else value for each in cells] for cells in rows])


_BOOKS = {"xlsx": _xlsx, "ods": _ods, "xls": _xls}


def _typed(text: str) -> str | float | date:
    for read in (float, date.fromisoformat):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def filled(value: Any, defaults: Mapping[str, Any]) -> Any:
    """Return a value of a reply without what is blank or a default; an amount with its currency is one text."""
    if isinstance(value, list):
        return [filled(each, defaults) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"amount", "currency"}:
        return f"{value['amount']} {value['currency']}"
    if isinstance(value.get("amount"), str) and "currency" in value:
        money = f"{value['amount']} {value['currency']}"
        value = {name: each for name, each in value.items() if name != "currency"} | {"amount": money}
    shown = {name: filled(each, defaults) for name, each in value.items()}
    return {
        name: each
        for name, each in shown.items()
        if each is not None and each not in ([], {}, "") and each != defaults.get(name, ...)
    }
