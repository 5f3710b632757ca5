"""Replies of renewals: the report, and the result of decisions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from builders.kit.http.bodies import Reply
from builders.kit.http.bulk import BulkReply
from builders.kit.http.pagination import NextCursor
from builders.kit.rows import RowResult, summarize
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.money import CurrencyCode, Money
from builders.kit.values.resources import MONEY, extended, resource
from builders.portfolio.domains import lifecycle
from builders.portfolio.domains.changes import digest_changes
from builders.portfolio.domains.records import Domain, DropDates, EditedRow, Lifecycle, RenewalDecision
from builders.portfolio.finance.recommendation import ShownRecommendation
from builders.portfolio.renewals.records import Cost, Due, PushedRow, RenewalPriceSource, RenewalReport
from builders.portfolio.team.visibility import visible


@resource("RenewalDropDates")
@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalDropDates(DropDates):
    """End of each state of a domain that is not renewed."""


@resource("RenewalRecommendation")
@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalRecommendation(ShownRecommendation):
    """Advice from the figures of the domain."""


class RenewalReply(Reply):
    """A domain with a due or overdue renewal."""

    domain_id: Annotated[UUID, doc("Identifier of the portfolio domain.")]
    domain: DomainName
    domain_unicode: Annotated[str, doc("The name in Unicode; for most names the same.")]
    registrar: Annotated[str | None, doc("Where the domain is registered; null when unknown.")]
    expires_at: Annotated[datetime, doc("When the registration expires.")]
    days_left: Annotated[
        int, doc("Days until the day of the expiry, in the time zone of the account: 0 today, negative after it.")
    ]
    auto_renew: Annotated[bool | None, doc("Whether the registrar renews the domain; null when unknown.")]
    lifecycle: Annotated[Lifecycle | None, doc("State of the registration.")]
    renewal_price: Annotated[Money | None, doc("Price of a year; null when unknown.")]
    renewal_price_base: Annotated[
        Money | None, doc("`renewal_price` in the base currency at the rate of today; null without a rate.")
    ]
    price_source: Annotated[
        RenewalPriceSource,
        doc(
            "`domain`: the price of the domain. `last_renewal`: the last renewal in the ledger. `median`: "
            "the median of your domains with the same suffix and registrar. `unknown`: no price is known, or "
            "your role does not see money."
        ),
    ]
    decision: Annotated[RenewalDecision, doc("The decision about the next expiry.")]
    years: Annotated[int | None, doc("Years to renew for; null when not decided.")]
    note: Annotated[str | None, doc("The team's note about the decision.")]
    snooze_until: Annotated[date | None, doc("First day of reminders.")]
    decided_at: Annotated[datetime | None, doc("When the decision last changed; null: never.")]
    drop_dates: Annotated[RenewalDropDates, doc("Deletion dates by the rules of the top-level domain.")]
    recommendation: Annotated[RenewalRecommendation | None, doc("Advice; null when your role does not see money.")]


class RenewalCost(Reply):
    """Number of renewals and their total cost."""

    renewals: Annotated[int, doc("Number of domains.")]
    base: Annotated[Money | None, doc("Their cost in the base currency."), MONEY]


class RenewalMonth(RenewalCost):
    """Renewals that expire in a month."""

    month: Annotated[str, doc("Month of the expiry: `2027-03`.")]
    by_currency: Annotated[list[Money] | None, doc("Their cost in each currency of the prices."), MONEY]


class RenewalsByDecision(RenewalCost):
    """Renewals with a decision."""

    decision: Annotated[RenewalDecision, doc("The decision of the domains in the sum.")]


class RenewalTotalsReply(Reply):
    """Sums of all due renewals, on all pages; each price counts for the decided years."""

    count: Annotated[int, doc("Number of domains.")]
    by_currency: Annotated[list[Money] | None, doc("Cost in each currency of the prices."), MONEY]
    base: Annotated[Money | None, doc("Cost in the base currency, at the rates of today."), MONEY]
    unconverted: Annotated[int, doc("Domains whose price has no exchange rate, which `base` excludes.")]
    by_month: Annotated[list[RenewalMonth], doc("Cost by month of the expiry.")]
    by_decision: Annotated[list[RenewalsByDecision], doc("Cost by decision.")]
    auto_renew_on: Annotated[int, doc("Domains that the registrar renews automatically.")]
    auto_renew_off: Annotated[int, doc("Domains that the registrar does not renew automatically.")]
    auto_renew_unknown: Annotated[int, doc("Domains whose setting is not known.")]
    auto_renew_contradicted: Annotated[int, doc("Domains whose setting is against the decision.")]
    unknown_price: Annotated[int | None, doc("Domains without a known price."), MONEY]


class RenewalsReply(Reply):
    """Due and overdue renewals."""

    within_days: Annotated[int, doc("Days ahead of the report.")]
    base_currency: Annotated[CurrencyCode, doc("Currency of the sums (ISO 4217).")]
    items: Annotated[list[RenewalReply], doc("Domains of this page, the earliest expiry first.")]
    totals: Annotated[RenewalTotalsReply, doc("Sums of all pages.")]
    redacted: Annotated[
        list[Literal["finance"]], doc("`finance`: your role does not see money, so every price is null.")
    ]
    count: Annotated[int, doc("Number of items on this page.")]
    next_cursor: NextCursor


def report_reply(report: RenewalReport, *, within_days: int, shows_finance: bool) -> RenewalsReply:
    """Return a report for the role."""
    totals, currency = report.totals, report.base_currency

    def cost(costs: Cost) -> dict[str, Any]:
        return {"renewals": costs.renewals, "base": Money(costs.base, currency).quantized()}

    items = [
        _item(each, domain, report)
        for each in report.page.items
        if (domain := report.domains.get(each.domain.id)) is not None
    ]
    reply = RenewalsReply(
        within_days=within_days,
        base_currency=currency,
        items=items,
        totals=RenewalTotalsReply.from_record(
            totals,
            base=Money(totals.base, currency).quantized(),
            by_month=[
                {"month": month, "by_currency": found.by_currency, **cost(found)}
                for month, found in totals.by_month.items()
            ],
            by_decision=[{"decision": each, **cost(found)} for each, found in totals.by_decision.items()],
        ),
        redacted=[],
        count=len(items),
        next_cursor=report.page.next_cursor,
    )
    return visible(reply, shows_finance=shows_finance)


def _item(due: Due, domain: Domain, report: RenewalReport) -> RenewalReply:
    advice = report.advice.get(domain.id)
    return RenewalReply.from_record(
        due.decision,
        domain_id=domain.id,
        domain=domain.domain,
        domain_unicode=domain.unicode,
        registrar=domain.registrar,
        expires_at=due.domain.expires_at,
        days_left=report.today.days_until(due.domain.expires_at),
        auto_renew=domain.auto_renew,
        lifecycle=lifecycle.lifecycle_of(domain, report.today),
        renewal_price=due.price.money,
        renewal_price_base=report.prices[domain.id],
        price_source=due.price.source,
        drop_dates=extended(RenewalDropDates, lifecycle.drop_dates(domain)),
        recommendation=advice and RenewalRecommendation.of(advice, currency=report.base_currency),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalRowResult(EditedRow):
    """The result of one row."""

    pushed: Annotated[PushedRow | None, doc("Result at the registrar; null when not requested.")] = None


class RenewalsUpdated(BulkReply):
    """The result of each row."""

    results: Annotated[Sequence[RenewalRowResult], doc("One result for each row, in their order.")]
    digest: Annotated[str, doc("Digest of all changes, to request exactly these after a dry run.")]


def updated_reply(results: Sequence[RowResult], pushed: Sequence[PushedRow | None]) -> RenewalsUpdated:
    """Return the result of each row, and its result at the registrar."""
    rows = [extended(RenewalRowResult, each, pushed=sent) for each, sent in zip(results, pushed, strict=True)]
    return RenewalsUpdated(results=rows, summary=summarize(results), digest=digest_changes(results))
