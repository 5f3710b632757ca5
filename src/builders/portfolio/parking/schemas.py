"""Requests of parking revenue."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StringConstraints, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from builders.kit.http.bodies import Body, by_example
from builders.kit.http.bulk import RefusedRow, RowOf
from builders.kit.sheets.dates import DateFormat
from builders.kit.values import texts
from builders.kit.values.money import MoneyInput
from builders.portfolio.parking import records
from builders.portfolio.parking.records import (
    RevenueDefaults,
    SentRevenue,
    SentRow,
    SentSheet,
    SheetFormat,
)

_ROW: JsonDict = {
    "domain": "harbour.com",
    "date": "2026-01-05",
    "amount": "1.24",
    "currency": "USD",
    "provider": "sedo",
    "visits": 130,
    "clicks": 9,
}
_SHEET: JsonDict = {
    "csv": "Name,Total Uniques,Total Clicks,Total Revenue\nharbour.com,130,9,$38.44\n",
    "period": {"from": "2025-12-01", "to": "2025-12-31"},
}


def _provider(text: str) -> str:
    return "-".join(texts.plain(text).lower().split())


Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
Provider = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=records.MAX_PROVIDER),
    texts.checked(_provider, "text_form"),
]
Count = Annotated[StrictInt, Field(ge=0, le=records.MAX_COUNT)]


DomainText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2048)]
Reference = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=records.MAX_REFERENCE),
    texts.checked(texts.one_line, "text_form"),
]


class ParkingPeriod(Body):
    """Days that an amount is for, both included."""

    model_config = ConfigDict(json_schema_extra=by_example({"from": "2025-12-01", "to": "2025-12-31"}))

    since: Annotated[date, Field(alias="from", description="The first day.")]
    until: Annotated[date, Field(alias="to", description="The last day.")]


Date = Annotated[date | None, Field(description="The day of the revenue, in UTC; or give `period`.")]
PeriodMember = Annotated[
    ParkingPeriod | None, Field(description="Period of the revenue, which is divided equally among its days.")
]


class ParkingRevenueRow(Body):
    """Revenue of a domain on a day or in a period."""

    model_config = ConfigDict(json_schema_extra=by_example(_ROW))

    domain: Annotated[
        DomainText, Field(description="A domain of the portfolio: its name in either form, or its identifier.")
    ]
    amount: Annotated[
        MoneyInput,
        Field(description="The revenue, which replaces recorded revenue of the same day; 0 cancels it."),
    ]
    currency: Annotated[Currency | None, Field(description="ISO 4217 code of an amount without one.")] = None
    date: Date = None
    period: PeriodMember = None
    provider: Annotated[Provider | None, Field(description="The parking provider, such as `sedo`.")] = None
    visits: Annotated[Count | None, Field(description="Visits; null when unknown.")] = None
    clicks: Annotated[Count | None, Field(description="Clicks on advertisements; null when unknown.")] = None
    external_ref: Annotated[
        Reference | None,
        Field(description="Your own reference, which distinguishes several amounts of one day and provider."),
    ] = None

    @model_validator(mode="after")
    def _require_one_period(self) -> "ParkingRevenueRow":
        _refuse_both(self.date, self.period)
        return self

    def sent_row(self) -> SentRow:
        """Return the record."""
        return _sent_row(self, self.domain, self.amount)


def _refuse_both(day: date | None, period: ParkingPeriod | None) -> None:
    if day is not None and period is not None:
        raise PydanticCustomError("date_and_period", "Specify the date or the period, not both.")


def _days(day: date | None, period: ParkingPeriod | None) -> tuple[date | None, date | None]:
    return (day, day) if period is None else (period.since, period.until)


def _sent_row(body: "ParkingRevenueRow | ParkingRevenueCreate", domain: str, amount: MoneyInput) -> SentRow:
    since, until = _days(body.date, body.period)
    return SentRow(
        domain=domain,
        amount=amount,
        currency=body.currency,
        since=since,
        until=until,
        provider=body.provider,
        reference=body.external_ref,
        visits=body.visits,
        clicks=body.clicks,
    )


Row = Annotated[ParkingRevenueRow | RefusedRow, RowOf(ParkingRevenueRow)]


class ParkingRevenueCreate(Body):
    """Revenue to record: one row (`domain` and `amount`), `rows`, or a `csv` text."""

    model_config = ConfigDict(json_schema_extra=by_example(_ROW, {"rows": [_ROW]}, _SHEET))

    domain: Annotated[DomainText | None, Field(description="A domain of the portfolio, for one row.")] = None
    amount: Annotated[MoneyInput | None, Field(description="Revenue of one row; 0 cancels an earlier one.")] = None
    visits: Annotated[Count | None, Field(description="Visits of one row; null when unknown.")] = None
    clicks: Annotated[Count | None, Field(description="Clicks of one row; null when unknown.")] = None
    external_ref: Annotated[Reference | None, Field(description="Your own reference of one row.")] = None
    rows: Annotated[
        list[Row] | None,
        Field(
            min_length=1,
            max_length=records.MAX_ROWS,
            description="Rows; an invalid row does not affect the others.",
        ),
    ] = None
    csv: Annotated[
        str | None,
        Field(min_length=1, description="Text of a CSV file that has the domain and the revenue."),
    ] = None
    format: Annotated[SheetFormat, Field(description="Kind of the file; `auto` recognizes it by its header.")] = (
        SheetFormat.AUTO
    )
    date_order: Annotated[
        Literal["mdy", "dmy"] | None,
        Field(description="Order of month and day in dates such as 01/02/2026; by default derived from the file."),
    ] = None
    date: Date = None
    period: PeriodMember = None
    provider: Annotated[
        Provider | None, Field(description="Provider of rows without one; `manual` by default.")
    ] = None
    currency: Annotated[
        Currency | None,
        Field(description="Currency of amounts without one; by default the portfolio's base currency."),
    ] = None
    dry_run: Annotated[StrictBool, Field(description="Report the effect without recording charges.")] = False

    @model_validator(mode="after")
    def _require_one_form(self) -> "ParkingRevenueCreate":
        _refuse_both(self.date, self.period)
        forms = [self.rows is not None, self.csv is not None, self.domain is not None or self.amount is not None]
        if sum(forms) != 1:
            message = "Send one of: `rows`, `csv`, or `domain` with `amount`."
            raise PydanticCustomError("revenue_form", message)
        if forms[2] and (self.domain is None or self.amount is None):
            raise PydanticCustomError("revenue_form", "A row has both `domain` and `amount`.")
        return self

    def sent_revenue(self) -> SentRevenue:
        """Return the record."""
        since, until = _days(self.date, self.period)
        content: Sequence[SentRow | RefusedRow] | SentSheet
        if self.csv is not None:
            date_format = None if self.date_order is None else DateFormat(self.date_order)
            content = SentSheet(text=self.csv, format=self.format, date_format=date_format)
        elif self.rows is not None:
            content = [each.sent_row() if isinstance(each, ParkingRevenueRow) else each for each in self.rows]
        elif self.domain is not None and self.amount is not None:
            content = [_sent_row(self, self.domain, self.amount)]
        else:
            content = []
        return SentRevenue(
            content=content,
            defaults=RevenueDefaults(since=since, until=until, provider=self.provider, currency=self.currency),
        )
