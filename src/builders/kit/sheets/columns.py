"""Columns and rows of tables. A class of rows declares its columns as descriptors (`Column`)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from builders.kit.http.bulk import RowOutcome, RowProblem, RowResult
from builders.kit.sheets.amounts import AmountRules, read_amount, read_currency
from builders.kit.sheets.cells import CellRefused
from builders.kit.sheets.csv_files import normalize_header
from builders.kit.sheets.dates import DateFormat, read_date, read_moment
from builders.kit.values.money import Money

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How the cells of a table are read."""

    labels: Mapping[str, str]  # by column: its header, as messages name it
    date_format: DateFormat
    currency: str  # of amounts in a row without one
    row_currency: str | None  # of all amounts, when the format names it
    zero_is_blank: bool  # an amount of zero means that none is set


class Column(Generic[T]):
    """A column of a table: the headers that mean it, the reader of its cells, and whether rows need it.

    The headers are its own name and `names`, the best one first, in the languages that files have. A row without a
    `required` value is refused. A bad cell of a `required` or `strict` column refuses its row; in other columns it
    is ignored with a warning, and the row goes in.
    """

    def __init__(
        self,
        *names: str,
        read: Callable[[str], T | None],
        type: str = "text",  # noqa: A002 - as templates name it
        required: bool = False,
        strict: bool = False,
    ) -> None:
        self.names = names
        self.name = ""
        self.required, self.is_strict = required, required or strict
        self.type = type
        self._read = read

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the attribute as the name of the column."""
        self.name = name

    @property
    def headers(self) -> tuple[str, ...]:
        """Return the normalized headers that mean the column, the best one first."""
        return normalize_header(self.name), *self.names

    @overload
    def __get__(self, row: None, owner: type) -> Self: ...

    @overload
    def __get__(self, row: "Row", owner: type) -> T | None: ...

    def __get__(self, row: "Row | None", owner: type) -> Self | T | None:
        """Return the value of the row; None without one."""
        return self if row is None else row.values.get(self.name)

    def read(self, cell: str, row: "Row") -> T | None:
        """Return the value of a cell that is not blank. Raise CellRefused."""
        del row
        return self._read(cell)


def _by_row(cell: str) -> Any:
    raise TypeError(f"{cell} is read by the rules of its row.")


class Currency(Column[str]):
    """A column with the currency of amounts; it is read before them."""

    def __init__(self, *names: str, strict: bool = False) -> None:
        super().__init__(*names, read=read_currency, type="currency", strict=strict)


class Moment(Column[date | datetime]):
    """A column of dates with or without a time."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names, read=_by_row, type="date")

    def read(self, cell: str, row: "Row") -> date | datetime | None:
        """Return the date or the time of a cell. Raise CellRefused."""
        return read_moment(cell, row.rules.date_format)


class Day(Column[date]):
    """A column of dates."""

    def __init__(self, *names: str, required: bool = False, strict: bool = False) -> None:
        super().__init__(*names, read=_by_row, type="date", required=required, strict=strict)

    def read(self, cell: str, row: "Row") -> date | None:
        """Return the date of a cell. Raise CellRefused."""
        return read_date(cell, row.rules.date_format)


class Amount(Column[Money]):
    """A column of amounts. One whose currency cannot be read is bad itself."""

    def __init__(
        self,
        *names: str,
        currency: str = "currency",
        is_signed: bool = False,
        required: bool = False,
        strict: bool = False,
    ) -> None:
        super().__init__(*names, read=_by_row, type="amount", required=required, strict=strict)
        self._currency, self._is_signed = currency, is_signed

    def read(self, cell: str, row: "Row") -> Money | None:
        """Return the money of a cell. Raise CellRefused."""
        rules = AmountRules(row.currency_of(self._currency), row.rules.currency, row.rules.zero_is_blank)
        return read_amount(cell, rules, is_signed=self._is_signed)


class Row:
    """A row of a table that was read: its values by column, and the problems of its cells."""

    columns: ClassVar[Mapping[str, Column[Any]]] = {}

    def __init_subclass__(cls) -> None:
        """Collect the columns of the class."""
        cls.columns = {name: each for name, each in vars(cls).items() if isinstance(each, Column)}

    def __init__(self, position: int, rules: Rules) -> None:
        self.position = position  # the line of a file or text, from 1; of another source the index, from 0
        self.rules = rules
        self.values: dict[str, Any] = {}
        self.blank: set[str] = set()  # columns of the table whose cells are blank
        self.bad: dict[str, CellRefused] = {}  # by column
        self.written: dict[str, str] = {}  # the text of each cell that is not blank
        self.is_total = False  # a sum of other rows
        self.errors: list[RowProblem] = []
        self.warnings: list[RowProblem] = []

    def currency_of(self, name: str) -> str | None:
        """Return the currency in a column, else that of the row. Raise CellRefused."""
        for each in (name, "currency"):
            if each in self.bad:
                raise self.bad[each]
            if each in self.values:
                return str(self.values[each])
        return self.rules.row_currency

    def refuse(self, code: str, message: str, column: Column[Any] | None = None, **more: Any) -> None:
        """Add an error: the row is not imported."""
        self.errors.append(RowProblem(code=code, message=message, field=self._label(column), **more))

    def warn(self, code: str, message: str, column: Column[Any] | None = None) -> None:
        """Add a warning: the row is imported."""
        self.warnings.append(RowProblem(code=code, message=message, field=self._label(column)))

    def take(self, column: Column[Any], cell: str) -> None:
        """Read a cell that is not blank into the row."""
        self.written[column.name] = cell
        try:
            value = column.read(cell, self)
        except CellRefused as refusal:
            self.bad[column.name] = refusal
            if column.is_strict:
                self.refuse(refusal.code, str(refusal), column, did_you_mean=refusal.did_you_mean)
            else:
                self.warn(refusal.code, f"{refusal} The cell was ignored.", column)
        else:
            if value is None:
                self.blank.add(column.name)
            else:
                self.values[column.name] = value

    def result(self, domain: str | None, *, has_lines: bool) -> RowResult:
        """Return the result of the row before it is imported: an error, skipped, or unchanged."""
        outcome = RowOutcome.ERROR if self.errors else RowOutcome.UNCHANGED
        return RowResult(
            outcome=RowOutcome.SKIPPED if self.is_total else outcome,
            index=None if has_lines else self.position,
            line=self.position if has_lines else None,
            domain=domain,
            errors=self.errors,
            warnings=self.warnings,
        )

    def _label(self, column: Column[Any] | None) -> str | None:
        return None if column is None else self.rules.labels.get(column.name)
