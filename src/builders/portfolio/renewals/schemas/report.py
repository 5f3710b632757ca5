"""The report of renewals."""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply
from builders.kit.values.money import Money
from builders.portfolio.domains.records import Lifecycle, RenewalDecision
from builders.portfolio.finance.recommendation import AdviceReason, Recommendation, RenewalAdvice
from builders.portfolio.renewals.records import Cost, DueRenewal, RenewalPriceSource, RenewalReport, RenewalTotals


class RenewalDropDates(Reply):
    """End of each state of a domain that is not renewed."""

    grace_end: Annotated[datetime | None, Field(description="Latest end of the auto-renew grace period.")]
    redemption_end: Annotated[datetime | None, Field(description="End of the redemption period that follows.")]
    pending_delete_end: Annotated[datetime | None, Field(description="When the name can be registered again.")]
    basis: Annotated[
        str | None, Field(description="Rules that the dates follow; null where those of the TLD are not known.")
    ]


class RenewalRecommendation(Reply):
    """Advice from the figures of the domain."""

    advice: Annotated[
        RenewalAdvice,
        Field(serialization_alias="verdict", description="Keep it, drop it, or review missing data."),
    ]
    score: Annotated[int | None, Field(description="-100 (drop) to 100 (keep); null without a renewal price.")]
    expected_gain: Annotated[
        Money | None,
        Field(description="Expected value of a renewal, in the base currency; null without a renewal price."),
    ]
    reasons: Annotated[list[AdviceReason], Field(description="Facts for or against a renewal.")]


class RenewalReply(Reply):
    """A domain with a due or overdue renewal."""

    domain_id: Annotated[UUID, Field(description="Identifier of the portfolio domain.")]
    domain: Annotated[str, Field(description="Lower-case A-label.")]
    domain_unicode: Annotated[str, Field(description="The name in Unicode; for most names the same.")]
    registrar: Annotated[str | None, Field(description="Where the domain is registered; null when unknown.")]
    expires_at: Annotated[datetime, Field(description="When the registration expires.")]
    days_left: Annotated[int, Field(description="Whole days until the expiry, negative after it.")]
    auto_renew: Annotated[
        bool | None, Field(description="Whether the registrar renews the domain; null when unknown.")
    ]
    lifecycle: Annotated[Lifecycle | None, Field(description="State of the registration.")]
    renewal_price: Annotated[Money | None, Field(description="Price of a year; null when unknown.")]
    price_source: Annotated[
        RenewalPriceSource,
        Field(
            description=(
                "`domain`: the price of the domain. `last_renewal`: the last renewal in the ledger. `median`: "
                "the median of your domains with the same suffix and registrar. `unknown`: no price is known, or "
                "your role does not see money."
            )
        ),
    ]
    decision: Annotated[RenewalDecision, Field(description="The decision about the next expiry.")]
    years: Annotated[int | None, Field(description="Years to renew for; null when not decided.")]
    note: Annotated[str | None, Field(description="The team's note about the decision.")]
    snooze_until: Annotated[date | None, Field(description="First day of reminders.")]
    decided_at: Annotated[datetime | None, Field(description="When the decision last changed; null: never.")]
    drop_dates: Annotated[
        RenewalDropDates, Field(description="Deletion dates by the rules of the top-level domain.")
    ]
    recommendation: Annotated[
        RenewalRecommendation | None, Field(description="Advice; null when your role does not see money.")
    ]


class RenewalCost(Reply):
    """Number of renewals and their total cost."""

    renewals: Annotated[int, Field(description="Number of domains.")]
    base: Annotated[Money | None, Field(description="Their cost in the base currency.")]


class RenewalMonth(RenewalCost):
    """Renewals that expire in a month."""

    month: Annotated[str, Field(description="Month of the expiry: `2027-03`.")]


class RenewalsByDecision(RenewalCost):
    """Renewals with a decision."""

    decision: Annotated[RenewalDecision, Field(description="The decision of the domains in the sum.")]


class RenewalTotalsReply(Reply):
    """Sums of all due renewals, on all pages; each price counts for the decided years."""

    count: Annotated[int, Field(description="Number of domains.")]
    by_currency: Annotated[list[Money] | None, Field(description="Cost in each currency of the prices.")]
    base: Annotated[Money | None, Field(description="Cost in the base currency, at the rates of today.")]
    unconverted: Annotated[
        int, Field(description="Domains whose price has no exchange rate, which `base` excludes.")
    ]
    by_month: Annotated[list[RenewalMonth], Field(description="Cost by month of the expiry.")]
    by_decision: Annotated[list[RenewalsByDecision], Field(description="Cost by decision.")]
    auto_renew_on: Annotated[int, Field(description="Domains that the registrar renews automatically.")]
    auto_renew_off: Annotated[int, Field(description="Domains that the registrar does not renew automatically.")]
    auto_renew_unknown: Annotated[int, Field(description="Domains whose setting is not known.")]
    unknown_price: Annotated[int | None, Field(description="Domains without a known price.")]


class RenewalsReply(Reply):
    """Due and overdue renewals."""

    within_days: Annotated[int, Field(description="Days ahead of the report.")]
    base_currency: Annotated[str, Field(description="Currency of the sums (ISO 4217).")]
    items: Annotated[list[RenewalReply], Field(description="Domains of this page, the earliest expiry first.")]
    totals: Annotated[RenewalTotalsReply, Field(description="Sums of all pages.")]
    redacted: Annotated[
        list[Literal["finance"]],
        Field(description="`finance`: your role does not see money, so every price is null."),
    ]
    count: Annotated[int, Field(description="Number of items on this page.")]
    next_cursor: Annotated[
        str | None, Field(description="Send it as `cursor` to get the next page; null on the last page.")
    ]


def report_reply(report: RenewalReport) -> RenewalsReply:
    """Return a report for the role."""
    return RenewalsReply(
        within_days=report.within_days,
        base_currency=report.base_currency,
        items=[_item(each, report.base_currency) for each in report.page.items],
        totals=_totals(report.totals, report.base_currency, shows_finance=report.shows_finance),
        redacted=[] if report.shows_finance else ["finance"],
        count=len(report.page.items),
        next_cursor=report.page.next_cursor,
    )


def _item(due: DueRenewal, currency: str) -> RenewalReply:
    return RenewalReply(
        domain_id=due.domain.id,
        domain=due.domain.domain,
        domain_unicode=due.domain.unicode,
        registrar=due.domain.registrar,
        expires_at=due.expires_at,
        days_left=due.days_left,
        auto_renew=due.domain.auto_renew,
        lifecycle=due.lifecycle,
        renewal_price=due.price.money,
        price_source=due.price.source,
        decision=due.decision.decision,
        years=due.decision.years,
        note=due.decision.note,
        snooze_until=due.decision.snooze_until,
        decided_at=due.decision.decided_at,
        drop_dates=RenewalDropDates.from_record(due.drop_dates),
        recommendation=None if due.recommendation is None else _recommendation(due.recommendation, currency),
    )


def _recommendation(found: Recommendation, currency: str) -> RenewalRecommendation:
    return RenewalRecommendation(
        advice=found.advice,
        score=found.score,
        expected_gain=None if found.expected_gain is None else _money(found.expected_gain, currency),
        reasons=list(found.reasons),
    )


def _money(amount: Decimal, currency: str) -> Money:
    return Money(amount, currency).quantized()


def _totals(totals: RenewalTotals, currency: str, *, shows_finance: bool) -> RenewalTotalsReply:
    def cost(found: Cost) -> dict[str, Any]:
        return {"renewals": found.renewals, "base": _money(found.base, currency) if shows_finance else None}

    return RenewalTotalsReply(
        count=totals.count,
        by_currency=list(totals.by_currency) if shows_finance else None,
        base=_money(totals.base, currency) if shows_finance else None,
        unconverted=totals.unconverted,
        by_month=[RenewalMonth(month=month, **cost(found)) for month, found in totals.by_month.items()],
        by_decision=[
            RenewalsByDecision(decision=decision, **cost(found)) for decision, found in totals.by_decision.items()
        ],
        auto_renew_on=totals.auto_renew_on,
        auto_renew_off=totals.auto_renew_off,
        auto_renew_unknown=totals.auto_renew_unknown,
        unknown_price=totals.unknown_price if shows_finance else None,
    )
