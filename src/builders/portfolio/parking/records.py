"""Records of parking revenue."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Context, Decimal
from enum import StrEnum
from typing import Annotated, TypeAlias
from uuid import UUID

from pydantic import Field

from builders.kit.limits import maximums
from builders.kit.pages import Page
from builders.kit.rows import RowProblem, RowResult
from builders.kit.values import texts
from builders.kit.values.docs import doc
from builders.kit.values.money import Money
from builders.kit.values.resources import resource
from builders.portfolio.domains.records import Domain

# Of a request: a month of 3,000 domains, by day.
MAX_ROWS = 100_000
MAX_BYTES = 10 * 1024 * 1024
MAX_DAYS = 100_000  # of all periods together
MAX_HELD = maximums.declare(
    "parking_days",
    2_000_000,
    of="portfolio",
    counts="Days of parking revenue of domains. Concurrent processes can exceed it by a batch each.",
    code="parking_limit",
)
MAX_PERIOD = 366  # days
MAX_REPORT = 365  # days
MAX_COUNT = 10**12  # visits or clicks of a row
MAX_PROVIDER = 50  # characters, as of the next one; both are part of a reference of the ledger
MAX_REFERENCE = 100
DEFAULT_PROVIDER = "manual"
YEAR = 365  # days that a renewal pays for
_RATIO = Decimal("0.0001")
_wide = Context(prec=60)  # digits of a ratio with all decimals, which the default context refuses

RevenueKey: TypeAlias = tuple[UUID, date, str, str]  # domain, day, provider, reference


def provider_name(written: str) -> str:
    """Return the name of a provider in the form in which it is stored. Raise ValueError."""
    return "-".join(texts.plain(written).lower().split())


class GroupBy(StrEnum):
    """The grouping of the items of a report."""

    DOMAIN = "domain"
    DAY = "day"
    PROVIDER = "provider"


class RoiFlag(StrEnum):
    """Whether the revenue covers the renewal cost."""

    COVERS_RENEWAL = "covers_renewal"
    BELOW_RENEWAL = "below_renewal"
    NO_REVENUE = "no_revenue"
    UNKNOWN = "unknown"  # no renewal price is known, or it has no exchange rate


@dataclass(frozen=True, slots=True, kw_only=True)
class RevenueDefaults:
    """What holds for the rows of a request that do not say it."""

    since: date | None = None
    until: date | None = None
    provider: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodRevenue:
    """Revenue of a domain in a period: a row of a request."""

    index: int | None  # in the body, from 0
    line: int | None  # in the file, from 1
    domain: str  # as sent: a name in either form, or an id
    money: Money
    since: date
    until: date  # the last day
    provider: str
    reference: str  # empty for none
    visits: int | None
    clicks: int | None
    warnings: Sequence[RowProblem] = ()


ReadRow: TypeAlias = PeriodRevenue | RowResult


@dataclass(frozen=True, slots=True, kw_only=True)
class RevenueMonth:
    """The days of a domain in a calendar month that one entry books: of a provider, in a currency."""

    domain_id: UUID
    provider: str
    currency: str
    month: date  # its first day


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthSum:
    """The exact sum of the days of a month."""

    month: RevenueMonth
    amount: Decimal
    since: date | None  # the first day with an amount; None: there is none
    until: date | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DayRevenue:
    """Revenue of a domain on a day. Domain, day, provider and reference identify it."""

    domain_id: UUID
    day: date
    provider: str
    reference: str
    money: Money
    visits: int | None
    clicks: int | None

    @property
    def key(self) -> RevenueKey:
        """Return what identifies it."""
        return self.domain_id, self.day, self.provider, self.reference

    @property
    def month(self) -> "RevenueMonth":
        """Return the month that it is booked in."""
        return RevenueMonth(
            domain_id=self.domain_id,
            provider=self.provider,
            currency=self.money.currency,
            month=self.day.replace(day=1),
        )


@resource("ParkingReportPeriod", computed={"days": "Number of days."})
@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The days of the report."""

    since: Annotated[date, Field(serialization_alias="from", description="The first day, of the account.")]
    until: Annotated[date, Field(serialization_alias="to", description="The last day.")]

    @property
    def days(self) -> int:
        """Return the number of days."""
        return (self.until - self.since).days + 1

    @classmethod
    def ending(cls, until: date, *, days: int) -> "Period":
        """Return the period of a number of days that ends on a day."""
        return cls(since=until - timedelta(days=days - 1), until=until)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportQuery:
    """Which revenue a report contains, as the query has it, and how it is grouped."""

    days: Annotated[int, Field(ge=1, le=MAX_REPORT), doc("Days of the report, up to today.")] = 30
    domain: Annotated[str | None, doc("Only this domain: its name or identifier.")] = None
    provider: Annotated[
        Annotated[str, texts.checked(provider_name, "text_form")] | None,
        Field(max_length=MAX_PROVIDER),
        doc("Only revenue of this provider."),
    ] = None
    group_by: Annotated[GroupBy, doc("The grouping of the items.")] = GroupBy.DOMAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The revenue that a report contains."""

    account_id: UUID
    period: Period
    group_by: GroupBy = GroupBy.DOMAIN
    domain_id: UUID | None  # None: of all domains
    provider: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Sums of some days; revenue in the base currency, unrounded."""

    visits: int | None  # None: no row has it
    clicks: int | None
    revenue: Decimal | None  # None: not shown to the role
    unconverted: int  # rows without an exchange rate, whose revenue is not in the sum
    is_exact: bool  # no row of the sum is converted

    @property
    def rpm(self) -> Decimal | None:
        """Return the revenue of 1,000 visits."""
        return None if self.revenue is None or not self.visits else self.revenue * 1000 / self.visits

    @property
    def epc(self) -> Decimal | None:
        """Return the revenue of a click."""
        return None if self.revenue is None or not self.clicks else self.revenue / self.clicks

    @property
    def ctr(self) -> Decimal | None:
        """Return the clicks of a visit."""
        return None if self.clicks is None or not self.visits else Decimal(self.clicks) / self.visits


def show_ratio(value: Decimal | None) -> str | None:
    """Return a ratio with four decimals."""
    return None if value is None else f"{value.quantize(_RATIO, context=_wide):f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySums:
    """Sums of the rows of a day in one currency."""

    day: date
    currency: str
    visits: int | None
    clicks: int | None
    amount: Decimal
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSums:
    """Sums of a group: a domain, a provider or a day."""

    key: str
    sums: Sums
    provider: str | None  # None for several


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportItem:
    """A group of a report."""

    sums: Sums
    domain: Domain | None = None
    provider: str | None = None
    day: date | None = None
    renewal_cost: Decimal | None = None  # for the days of the period, in the base currency, unrounded

    @property
    def net(self) -> Decimal | None:
        """Return the revenue less the renewal cost."""
        revenue = self.sums.revenue
        return None if revenue is None or self.renewal_cost is None else revenue - self.renewal_cost

    @property
    def roi_flag(self) -> RoiFlag | None:
        """Return whether the revenue pays for the renewal; None for a group that is no domain."""
        if self.domain is None or self.sums.revenue is None:
            return None
        if not self.sums.revenue:
            return RoiFlag.NO_REVENUE
        if self.net is None:
            return RoiFlag.UNKNOWN
        return RoiFlag.COVERS_RENEWAL if self.net >= 0 else RoiFlag.BELOW_RENEWAL


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTotals:
    """Sums of a whole report."""

    sums: Sums
    by_currency: Sequence[Money]  # as recorded
    domains: int  # with rows in the period
    renewal_cost: Decimal  # of these domains for the days of the period
    unknown_renewal_price: int  # domains that the renewal cost leaves out


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A page of a parking report, with the sums of all pages."""

    base_currency: str
    selection: Selection
    page: Page[ReportItem]
    totals: ReportTotals
    daily: Sequence[ReportItem]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportLine:
    """A line of the CSV export: sums in the currency that they were recorded in."""

    domain_id: UUID | None
    provider: str | None
    day: date | None
    currency: str
    visits: int | None
    clicks: int | None
    amount: Decimal
