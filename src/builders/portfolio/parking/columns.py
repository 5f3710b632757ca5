"""The columns of tables with parking revenue, and their rows as revenue."""

from datetime import date, timedelta

from builders.kit.http.bulk import RowResult
from builders.kit.sheets.cells import number, text
from builders.kit.sheets.columns import Amount, Column, Currency, Day, Row
from builders.kit.sheets.kinds import TableKind
from builders.kit.values import clock, texts
from builders.portfolio.parking.records import (
    DEFAULT_PROVIDER,
    MAX_COUNT,
    MAX_PERIOD,
    MAX_PROVIDER,
    MAX_REFERENCE,
    ReadRow,
    RevenueDefaults,
    RevenueRow,
)

_EARLIEST = date(2000, 1, 1)
_AHEAD = timedelta(days=1)  # of UTC: where it is tomorrow
_COUNT = number(MAX_COUNT, minimum=0)


def provider_name(written: str) -> str:
    """Return the name of a provider in the form in which it is stored. Raise ValueError."""
    return "-".join(texts.plain(written).lower().split())


class RevenueColumns(Row):
    """A row with the revenue of a domain."""

    domain = Column(  # a name in either form, or an id
        *("domain name", "name", "item", "description", "product"), read=str, type="domain", required=True
    )
    date = Day("day", "transaction date", "paid date", "created", strict=True)
    since = Day("from", "period from", "period start", "start", "start date", strict=True)
    until = Day("to", "period to", "period end", "end", "end date", strict=True)
    revenue = Amount("earnings", "income", "net", "amount", "total revenue", "total", "paid", required=True)
    currency = Currency("revenue currency")
    visits = Column(
        *("visitors", "uniques", "total uniques", "hits", "total hits", "views"), read=_COUNT, type="number"
    )
    clicks = Column("total clicks", read=_COUNT, type="number")
    provider = Column("parking provider", read=text(MAX_PROVIDER, provider_name))
    reference = Column(*("ref", "external ref", "transaction id", "order id", "receipt"), read=text(MAX_REFERENCE))


PARKING = TableKind(
    name="parking",
    row=RevenueColumns,
    path="/v1/portfolio/parking/revenue",
    package="builders.portfolio.parking",
    has_totals=True,
    requires_date_order=True,
)


def read_row(row: RevenueColumns, defaults: RevenueDefaults, *, has_lines: bool) -> ReadRow:
    """Return a row as revenue, or as its result."""
    since, until = row.date or row.since or defaults.since, row.date or row.until or defaults.until
    if not row.errors and not row.is_total:
        _check_period(row, since, until)
    result: RowResult = row.result(row.domain, has_lines=has_lines)
    if row.is_total or row.errors or row.domain is None or row.revenue is None or since is None or until is None:
        return result
    return RevenueRow(
        index=result.index,
        line=result.line,
        domain=row.domain,
        money=row.revenue,
        since=since,
        until=until,
        provider=row.provider or defaults.provider or DEFAULT_PROVIDER,
        reference=row.reference or "",
        visits=row.visits,
        clicks=row.clicks,
        warnings=row.warnings,
    )


def _check_period(row: RevenueColumns, since: date | None, until: date | None) -> None:
    code, message = "date_invalid", None
    if since is None or until is None:
        code, message = "date_missing", "The row has no date."
    elif until < since:
        message = f"The end of the period, {until}, is before its start."
    elif since < _EARLIEST:
        message = f"{since} is before {_EARLIEST}."
    elif until > clock.now().date() + _AHEAD:
        message = f"{until} is in the future."
    elif (until - since).days >= MAX_PERIOD:
        message = f"The period is longer than {MAX_PERIOD} days."
    if message is not None:
        row.refuse(code, message, RevenueColumns.date)
