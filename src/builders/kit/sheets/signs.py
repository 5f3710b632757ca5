"""How the dates, times and amounts of a table are written, as its own cells show it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from builders.kit.rows import RowProblem
from builders.kit.sheets import zones
from builders.kit.sheets.cells import (
    CellRefused,
    DateFormat,
    find_date_format,
    find_zone,
    is_ambiguous,
    read_moment,
    shown,
)
from builders.kit.sheets.numbers import (
    MAX_AMOUNT,
    AmountRules,
    DecimalMark,
    NumberCell,
    find_amount,
    find_decimal_mark,
    is_ambiguous_number,
)
from builders.kit.values import clock
from builders.kit.values.money import NO_CURRENCY

_MAX_WORDS = 20  # different words for zones, and symbols, of a table
_OF_ALL_TIMES = frozenset({"z", "utc", "gmt"})  # zones
_DIGITS = re.compile(r"[\d\s.,'()+\-\u2212\u2013\u2019]+")


class Signs:
    """What the cells of a table show, and the first ones that can mean two things."""

    def __init__(
        self,
        *,
        dates: Sequence[int],
        numbers: Sequence[int],
        amounts: Mapping[int, Sequence[int]],
        keys: Sequence[int],
        normalize_key: Callable[[str], str],
        rivals: Mapping[str, Sequence[int]],
    ) -> None:
        # Positions of columns. `amounts`: those without a currency in their header, each with those that name it.
        # `rivals`: by column, when several headers mean it.
        self._dates, self._numbers, self._amounts, self._keys = dates, numbers, amounts, keys
        self._normalize_key, self._rivals = normalize_key, rivals
        self.conflicts = dict[str, list[tuple[int, str]]]()  # by column: the first different cells, by position
        self.date_formats = dict[DateFormat, str]()  # by each that a date proves: the first such date
        self.marks = set[DecimalMark | None]()  # that numbers prove
        self.ambiguous_date: str | None = None  # the first one
        self.ambiguous_number: str | None = None
        self.zones = dict[str, str]()  # by word for a zone: the first cell with it
        self.amounts = dict[str, str]()  # by what stands beside the digits: the first cell with it
        self.repeats = 0  # rows with the key of an earlier one
        self._seen = set[str]()

    def read(self, cells: Sequence[str]) -> None:
        """Note what a row shows."""
        for cell in _of(cells, self._dates):
            self._read_date(cell)
        for cell in _of(cells, self._numbers):
            if isinstance(cell, NumberCell):
                continue
            self.marks.add(find_decimal_mark(cell))
            if self.ambiguous_number is None and is_ambiguous_number(cell):
                self.ambiguous_number = cell
        for at, currencies in self._amounts.items():
            for cell in () if _of(cells, currencies) else _of(cells, [at]):
                if len(self.amounts) < _MAX_WORDS and any(map(str.isdigit, cell)):
                    self.amounts.setdefault(_DIGITS.sub("", cell[:MAX_AMOUNT]), cell)
        self._compare(cells)
        for each in _of(cells, self._keys)[:1]:
            key = self._normalize_key(each)
            self.repeats += key in self._seen
            self._seen.add(key)

    def _compare(self, cells: Sequence[str]) -> None:
        """Note the columns of one meaning whose cells differ."""
        for name in self._rivals.keys() - self.conflicts.keys():
            found = [(at, each) for at in self._rivals[name] for each in _of(cells, [at])]
            if len({each.casefold() for _, each in found}) > 1:
                self.conflicts[name] = found

    def _read_date(self, cell: str) -> None:
        proven = find_date_format(cell)
        if proven is not None:
            self.date_formats.setdefault(proven, cell)
        elif self.ambiguous_date is None and is_ambiguous(cell):
            self.ambiguous_date = cell
        zone = find_zone(cell) if len(self.zones) < _MAX_WORDS else None
        if zone is not None and zone.lower() not in _OF_ALL_TIMES:
            self.zones.setdefault(zone, cell)

    @property
    def date_format(self) -> DateFormat | None:
        """Return the order that the first proving date proves; None without one."""
        return next(iter(self.date_formats), None)


def _of(cells: Sequence[str], positions: Sequence[int]) -> list[str]:
    return [
        cells[at] if isinstance(cells[at], NumberCell) else found
        for at in positions
        if at < len(cells) and (found := cells[at].strip())
    ]


def date_warnings(signs: Signs, taken: DateFormat) -> list[RowProblem]:
    """Return the warning of dates that can mean two days, or that are written in both orders."""
    other = DateFormat.DMY if taken is DateFormat.MDY else DateFormat.MDY
    if signs.ambiguous_date is None:
        return []
    words = {DateFormat.MDY: "the month first", DateFormat.DMY: "the day first"}
    cell = signs.ambiguous_date
    message = (
        f"{shown(cell)} was read as {_day(cell, taken)}, with {words[taken]}. With {words[other]}, it is "
        f"{_day(cell, other)}. Send `date_order`."
    )
    if signs.date_formats:
        proofs = " and ".join(map(shown, signs.date_formats.values()))
        message = f"The table has dates in both orders, such as {proofs}. {message}"
    return [RowProblem(code="dates_ambiguous", message=message, field="date_order")]


def conflict_warnings(signs: Signs, labels: Sequence[str]) -> list[RowProblem]:
    """Return the warnings of columns that mean the same and differ; `labels` are those of all columns."""
    warnings = list[RowProblem]()
    for name, found in sorted(signs.conflicts.items()):
        cells = " and ".join(f"{shown(cell)} in {shown(labels[at])}" for at, cell in found)
        message = f"Several columns are the {name}, and differ, as {cells}. The first one counts. Send `mapping`."
        warnings.append(RowProblem(code="columns_differ", message=message, field="mapping"))
    return warnings


def _day(cell: str, form: DateFormat) -> str:
    try:
        found = read_moment(cell, form)
    except CellRefused:
        return "no day"
    return str(found.date() if isinstance(found, datetime) else found)


def number_warnings(signs: Signs) -> list[RowProblem]:
    """Return the warning of a number whose point can mean two things, when no number shows the decimal mark."""
    if signs.ambiguous_number is None:
        return []
    message = (
        f"The point in {shown(signs.ambiguous_number)} separates thousands or decimals, and no number of the "
        "table shows which. Send `decimal_mark`."
    )
    return [RowProblem(code="numbers_ambiguous", message=message, field="decimal_mark")]


def read_zones(signs: Signs) -> tuple[dict[str, str], list[RowProblem]]:
    """Return the offset of each word for a time zone, and a warning if it is unknown, or that of several zones."""
    offsets, warnings = dict[str, str](), list[RowProblem]()
    for word, cell in signs.zones.items():
        offset = _offset(word, cell)
        if offset is None:
            continue
        offsets[word] = offset
        if zones.offset_of(word, clock.now()) is None:
            message = f"{shown(word)} is no known time zone, so {shown(cell)} was read in UTC. Write the offset."
            warnings.append(RowProblem(code="time_zone_unknown", message=message))
        if zones.is_shared(word):
            message = (
                f"{shown(cell)} was read with the offset {offset}; other time zones are called {shown(word)} too. "
                "If it is another one, write the offset."
            )
            warnings.append(RowProblem(code="time_zone_guessed", message=message))
    return offsets, warnings


def _offset(word: str, cell: str) -> str | None:
    """Return the offset from UTC with which a word for a zone was read, such as `+08:00`; None for no time."""
    try:
        found = read_moment(cell, DateFormat.MDY)
        in_utc = read_moment(f"{cell.removesuffix(word)}Z", DateFormat.MDY)
    except CellRefused:
        return None
    if not isinstance(found, datetime) or not isinstance(in_utc, datetime):
        return None
    minutes = round((in_utc - found.astimezone(UTC)).total_seconds() / 60)
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02d}:{rest:02d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbols:
    """How the currencies of a table are written."""

    codes: Mapping[str, str]  # by symbol: how it was read
    shared: Sequence[str]  # symbols of several currencies
    has_bare: bool  # an amount has no currency


def read_symbols(signs: Signs, rules: AmountRules) -> Symbols:
    """Return the currency of each symbol, and what the cells alone do not show."""
    codes, shared, has_bare = dict[str, str](), list[str](), False
    alone = replace(rules, currency=None, default_currency=NO_CURRENCY, home_currency=None)
    for beside, cell in signs.amounts.items():
        try:
            found, read = find_amount(cell, alone, is_signed=True), find_amount(cell, rules, is_signed=True)
        except CellRefused:
            continue
        if found is None or read is None:
            continue
        code = read.money.currency
        if found.money.currency == NO_CURRENCY:
            has_bare = True
        elif code not in beside.upper():
            symbol = found.assumed or beside
            codes[symbol] = code
            shared += [] if found.assumed is None else [symbol]
    return Symbols(codes=codes, shared=shared, has_bare=has_bare)


def currency_guesses(symbols: Symbols, currency: str) -> list[RowProblem]:
    """Return the warnings of symbols of several currencies, and of amounts without one."""
    warnings = [
        RowProblem(
            code="currency_guessed",
            message=(
                f"{shown(each)} was read as {symbols.codes[each]}; other currencies have the symbol too. "
                "Send `currency`, or write the code."
            ),
            field="currency",
        )
        for each in symbols.shared
    ]
    if symbols.has_bare:
        message = f"Amounts without a currency were read as {currency}. Send `currency`."
        warnings.append(RowProblem(code="currency_assumed", message=message, field="currency"))
    return warnings
