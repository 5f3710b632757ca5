"""Replies of parking revenue."""

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BeforeValidator

from builders.kit.http.bodies import Reply
from builders.kit.http.bulk import BulkReply
from builders.kit.http.pagination import NextCursor
from builders.kit.sheets.detection import DetectedTable
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.money import CurrencyCode, ExactMoney, Money
from builders.kit.values.resources import MONEY
from builders.portfolio.parking.records import GroupBy, Period, Report, ReportItem, RoiFlag, Sums, show_ratio
from builders.portfolio.team.visibility import visible


class ParkingRevenueRecorded(BulkReply):
    """The result of each row of revenue."""

    detected: Annotated[DetectedTable, doc("How the table was read.")]


Ratio = Annotated[str | None, BeforeValidator(show_ratio)]


class ParkingSums(Reply):
    """Visits, clicks and revenue."""

    visits: Annotated[int | None, doc("Visits; null when unknown.")]
    clicks: Annotated[int | None, doc("Clicks; null when unknown.")]
    revenue: Annotated[
        Money | None,
        doc(
            "Revenue in the base currency, each amount at the exchange rate of its day. It is exact, also "
            "fractions of a cent. If amounts are converted, it is rounded once."
        ),
        MONEY,
    ]
    rpm: Annotated[Ratio, doc("Revenue per 1,000 visits; null without visits."), MONEY]
    ctr: Annotated[Ratio, doc("Clicks per visit; null without visits.")]
    epc: Annotated[Ratio, doc("Revenue per click; null without clicks."), MONEY]
    unconverted: Annotated[int, doc("Rows without an exchange rate, whose revenue is not in the sum.")]


class ParkingDay(ParkingSums):
    """Sums of a day."""

    day: Annotated[date, doc("The day, in UTC.")]


class ParkingItem(ParkingSums):
    """Sums of a domain, a provider or a day."""

    domain_id: Annotated[UUID | None, doc("The domain; null for a group of several.")]
    domain: Annotated[DomainName | None, doc("Its name as an A-label.")]
    provider: Annotated[str | None, doc("The provider; null for several.")]
    day: Annotated[date | None, doc("The day; null for several.")]
    renewal_cost_prorated: Annotated[
        Money | None,
        doc("The domain's renewal price for the days of the period; null when it is not known."),
        MONEY,
    ]
    net: Annotated[Money | None, doc("Revenue less the renewal cost; null when that is not known."), MONEY]
    roi_flag: Annotated[
        RoiFlag | None,
        doc("Whether the revenue covers the renewal cost; null for a group of several domains."),
        MONEY,
    ]


class ParkingTotals(ParkingSums):
    """Sums of all pages of the report."""

    by_currency: Annotated[
        list[Money] | None, doc("Revenue in the currencies that it was recorded in, exact."), MONEY
    ]
    domains: Annotated[int, doc("Domains with revenue rows in the period.")]
    renewal_cost_prorated: Annotated[
        Money | None, doc("Renewal prices of these domains for the days of the period."), MONEY
    ]
    unknown_renewal_price: Annotated[int, doc("Domains without a known price, which the renewal cost excludes.")]
    net: Annotated[Money | None, doc("Revenue less the renewal cost."), MONEY]


class ParkingReport(Reply):
    """Parking revenue of a period."""

    period: Annotated[Period, doc("The days of the report, up to today.")]
    group_by: Annotated[GroupBy, doc("The grouping of the items.")]
    base_currency: Annotated[CurrencyCode, doc("Currency of the report (ISO 4217).")]
    items: Annotated[list[ParkingItem], doc("The groups of this page, the highest revenue first; days by date.")]
    totals: Annotated[ParkingTotals, doc("Sums of all pages.")]
    daily: Annotated[list[ParkingDay], doc("Sums of each day with revenue rows, for a chart.")]
    redacted: Annotated[
        list[Literal["finance"]], doc("`finance`: your role does not see money, so every amount is null.")
    ]
    count: Annotated[int, doc("Number of items on this page.")]
    next_cursor: NextCursor


def report_reply(report: Report, *, shows_finance: bool) -> ParkingReport:
    """Return a report for the role."""
    totals, currency = report.totals, report.base_currency
    revenue, cost = totals.sums.revenue, totals.renewal_cost
    reply = ParkingReport(
        period=report.selection.period,
        group_by=report.selection.group_by,
        base_currency=currency,
        items=[_item(each, currency) for each in report.page.items],
        totals=ParkingTotals.from_record(
            totals.sums,
            revenue=_revenue(totals.sums, currency),
            by_currency=totals.by_currency,
            domains=totals.domains,
            renewal_cost_prorated=_money(cost, currency),
            unknown_renewal_price=totals.unknown_renewal_price,
            net=None if revenue is None else _money(revenue - cost, currency),
        ),
        daily=[
            ParkingDay.from_record(each.sums, day=each.day, revenue=_revenue(each.sums, currency))
            for each in report.daily
        ],
        redacted=[],
        count=len(report.page.items),
        next_cursor=report.page.next_cursor,
    )
    return visible(reply, shows_finance=shows_finance)


def _item(item: ReportItem, currency: str) -> ParkingItem:
    return ParkingItem.from_record(
        item.sums,
        domain_id=None if item.domain is None else item.domain.id,
        domain=None if item.domain is None else item.domain.domain,
        provider=item.provider,
        day=item.day,
        revenue=_revenue(item.sums, currency),
        renewal_cost_prorated=_money(item.renewal_cost, currency),
        net=_money(item.net, currency),
        roi_flag=item.roi_flag,
    )


def _revenue(sums: Sums, currency: str) -> Money | None:
    if not sums.is_exact or sums.revenue is None:
        return _money(sums.revenue, currency)
    return ExactMoney(sums.revenue, currency)


def _money(amount: Decimal | None, currency: str) -> Money | None:
    return None if amount is None else Money(amount, currency).quantized()
