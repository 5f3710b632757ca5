"""Rows of a request as revenue: of the body, or of a CSV file. A row that cannot be read becomes its result."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import TypeAlias

from builders.kit.errors import Invalid
from builders.kit.http.bulk import RefusedRow, RowOutcome, RowResult, refused_row, row_problems
from builders.kit.values import clock
from builders.portfolio.parking import sheets
from builders.portfolio.parking.records import (
    DEFAULT_PROVIDER,
    MAX_PERIOD,
    RevenueDefaults,
    RevenueRow,
    SentRevenue,
    SentRow,
    SentSheet,
)

ReadRow: TypeAlias = RevenueRow | RowResult
_EARLIEST = date(2000, 1, 1)
_AHEAD = timedelta(days=1)  # of UTC: where it is tomorrow


def read_rows(sent: SentRevenue, *, base_currency: str) -> Iterator[ReadRow]:
    """Yield each row as revenue, or as its result. Raise Invalid for a sheet that cannot be read at all."""
    defaults = sent.defaults
    if isinstance(sent.content, SentSheet):
        for read in sheets.read_sheet(sent.content, defaults, base_currency=base_currency):
            yield _checked(read) if isinstance(read, RevenueRow) else read
        return
    for index, row in enumerate(sent.content):
        yield _read(row, defaults, index=index, base_currency=base_currency)


def _read(row: SentRow | RefusedRow, defaults: RevenueDefaults, *, index: int, base_currency: str) -> ReadRow:
    if isinstance(row, RefusedRow):
        named = row.sent.get("domain") if isinstance(row.sent, Mapping) else None
        domain = named if isinstance(named, str) else None
        return RowResult(outcome=RowOutcome.ERROR, index=index, domain=domain, errors=row.errors)
    try:
        money = row.amount.to_money(row.currency, defaults.currency, base_currency, field="amount")
    except Invalid as invalid:
        return RowResult(outcome=RowOutcome.ERROR, index=index, domain=row.domain, errors=row_problems(invalid))
    since = row.since or defaults.since
    until = row.until if row.since else defaults.until
    if since is None or until is None:
        return refused_row("date_missing", "Specify the date or the period.", index=index, domain=row.domain)
    return _checked(
        RevenueRow(
            index=index,
            line=None,
            domain=row.domain,
            money=money,
            since=since,
            until=until,
            provider=row.provider or defaults.provider or DEFAULT_PROVIDER,
            reference=row.reference or "",
            visits=row.visits,
            clicks=row.clicks,
        )
    )


def _checked(row: RevenueRow) -> ReadRow:
    """Return the row, or its result when its period cannot be."""
    code, message = "date_invalid", None
    if row.until < row.since:
        message = f"The end of the period, {row.until}, is before its start."
    elif row.since < _EARLIEST:
        message = f"{row.since} is before {_EARLIEST}."
    elif row.until > clock.now().date() + _AHEAD:
        message = f"{row.until} is in the future."
    elif (row.until - row.since).days >= MAX_PERIOD:
        message = f"The period is longer than {MAX_PERIOD} days."
    if message is None:
        return row
    return refused_row(code, message, index=row.index, line=row.line, domain=row.domain)
