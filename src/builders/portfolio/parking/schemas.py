"""Requests of parking revenue."""

from datetime import date
from typing import Annotated, Self

from pydantic import Field, StrictInt, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from builders.kit.errors import CURRENCY_PATTERN
from builders.kit.http.bodies import Body
from builders.kit.sheets.bodies import TableBody
from builders.kit.sheets.sources import SentTable, TableOptions
from builders.kit.values import texts
from builders.kit.values.docs import doc
from builders.kit.values.money import MoneyInput
from builders.portfolio.parking import records
from builders.portfolio.parking.records import RevenueDefaults
from builders.portfolio.parking.revenue_plans import PARKING

Currency = Annotated[str, StringConstraints(pattern=CURRENCY_PATTERN)]
Provider = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=records.MAX_PROVIDER),
    texts.checked(records.provider_name, "text_form"),
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

    since: Annotated[date, Field(alias="from", description="The first day.")]
    until: Annotated[date, Field(alias="to", description="The last day.")]


def period_of(since: date | None, until: date | None) -> ParkingPeriod | None:
    """Return the period of a query; one day with only one of its ends."""
    first, last = since or until, until or since
    return None if first is None or last is None else ParkingPeriod.model_validate({"from": first, "to": last})


PROVIDER = "Provider of rows without one, such as `sedo`; that of the format, or `manual`, by default."
CURRENCY = "Currency of amounts without one; by default the portfolio's base currency."
Date = Annotated[date | None, doc("The day of the revenue, in UTC; or give `period`.")]
PeriodMember = Annotated[
    ParkingPeriod | None, doc("Period of the revenue, which is divided equally among its days.")
]


class ParkingRevenueCreate(TableBody):
    """Revenue to record: one row (`domain` and `amount`), `rows`, or a `csv` text."""

    kind = PARKING

    domain: Annotated[
        DomainText | None,
        doc("A domain of the portfolio, for one row: its name in either form, or its identifier."),
    ] = None
    amount: Annotated[
        MoneyInput | None,
        doc("Revenue of one row, which replaces recorded revenue of the same day; 0 cancels it."),
    ] = None
    visits: Annotated[Count | None, doc("Visits of one row; null when unknown.")] = None
    clicks: Annotated[Count | None, doc("Clicks of one row; null when unknown.")] = None
    external_ref: Annotated[
        Reference | None,
        doc("Your own reference of one row, which distinguishes amounts of one day and provider."),
    ] = None
    date: Date = None
    period: PeriodMember = None
    provider: Annotated[Provider | None, doc(PROVIDER)] = None
    currency: Annotated[Currency | None, doc(CURRENCY)] = None

    @model_validator(mode="after")
    def _require_one_source(self) -> Self:
        if self.date is not None and self.period is not None:
            raise PydanticCustomError("date_and_period", "Specify the date or the period, not both.")
        forms = [self.rows is not None, self.csv is not None, self.domain is not None or self.amount is not None]
        if sum(forms) != 1:
            message = "Send one of: `rows`, `csv`, or `domain` with `amount`."
            raise PydanticCustomError("revenue_form", message)
        if forms[2] and (self.domain is None or self.amount is None):
            raise PydanticCustomError("revenue_form", "A row has both `domain` and `amount`.")
        return self

    def table(self) -> SentTable[TableOptions]:
        """Return the table: the only row, if the body is one."""
        body = self
        if self.amount is not None:
            money = {"amount": self.amount.amount, "currency": self.amount.currency}
            row = {each: getattr(self, each) for each in ("domain", "visits", "clicks", "external_ref")}
            body = self.model_copy(update={"rows": [{**row, "amount": money}]})
        return body.sent_table(TableOptions, currency=self.currency)

    def defaults(self) -> RevenueDefaults:
        """Return what holds for rows that do not say it."""
        since, until = (self.date, self.date) if self.period is None else (self.period.since, self.period.until)
        return RevenueDefaults(since=since, until=until, provider=self.provider)
