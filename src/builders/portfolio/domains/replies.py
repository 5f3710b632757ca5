"""Replies of the portfolio's domains."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from builders.kit.http.bodies import Reply
from builders.kit.http.bulk import BulkReply
from builders.kit.http.members import written_of
from builders.kit.http.pagination import PageReply
from builders.kit.pages import Page
from builders.kit.values.docs import doc
from builders.kit.values.money import Money
from builders.kit.values.resources import MONEY, extended, members_of, resource
from builders.portfolio.domains import lifecycle
from builders.portfolio.domains.records import (
    Domain,
    DropDates,
    EditedRow,
    Figures,
    Lifecycle,
    RecordedChange,
)
from builders.portfolio.domains.today import Today
from builders.portfolio.team.visibility import visible


class PortfolioTotals(Reply):
    """Costs and income of a domain, in the base currency of the portfolio."""

    total_cost: Annotated[Money, doc("The same as `cost`.")]
    net_position: Annotated[Money, doc("The same as `net`.")]
    unconverted: Annotated[int, doc("Entries without an exchange rate, which the figures do not contain.")]


@resource("PortfolioDomainReply", computed={"domain_unicode": "The name in Unicode; for most names the same."})
@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioDomainReply(Domain):
    """A domain of a portfolio."""

    days_to_expiry: Annotated[
        int | None,
        doc(
            "Days until the day of the expiry, in the time zone of the account: 0 today, negative "
            "after it; null when unknown."
        ),
    ]
    lifecycle: Annotated[
        Lifecycle | None,
        doc(
            "State of the registration by its dates and statuses; `expiring` in the last 30 days and "
            "on the day of the expiry. `grace`, `redemption` and `quarantine`: expired, but you can keep it. "
            "`expired`: past its deletion. `unknown`: past its expiry, and the rules do not say whether you can "
            "keep it. Null: the expiry is unknown, or you no longer hold the domain."
        ),
    ]
    roi: Annotated[float | None, doc("`net` per unit of `cost`, such as 0.5; null without costs."), MONEY]
    net: Annotated[
        Money | None,
        doc(
            "All receipts less all payments, up to today in the present holding period, in the base currency: "
            "`net_position` of the domain's finance."
        ),
        MONEY,
    ]
    cost: Annotated[Money | None, doc("Of them the costs of buying and holding the domain, less refunds."), MONEY]
    income: Annotated[Money | None, doc("Of them the income of holding the domain."), MONEY]
    renewal_price_base: Annotated[
        Money | None, doc("`renewal_price` in the base currency at the rate of today; null without a rate."), MONEY
    ]
    finance: Annotated[PortfolioTotals | None, doc("Figures; null when your role does not see money."), MONEY]
    redacted: Annotated[
        Sequence[Literal["finance"]],
        doc("`finance`: your role does not see money, so every price and share is null."),
    ] = ()


@resource("PortfolioDomainDetail")
@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioDomainDetail(PortfolioDomainReply):
    """A domain of a portfolio, with the dates of its deletion if it is not renewed."""

    drop_dates: Annotated[DropDates, doc("Deletion dates by the rules of the top-level domain.")]


_MONEY = {each.name for each in members_of(PortfolioDomainReply) if MONEY in each.marks}
PortfolioDomainWritten = written_of(PortfolioDomainDetail, "PortfolioDomainWritten")


class PortfolioEdited(BulkReply):
    """The result for each domain, with its changes."""

    results: Annotated[Sequence[EditedRow], doc("One result for each domain, in their order.")]
    digest: Annotated[str, doc("Digest of all changes, to request exactly these after a dry run.")]


class PortfolioExpiriesHandedOver(BulkReply):
    """The result for the expiry of each domain: `updated` if a registry decides it from now on."""


def detail_reply(domain: Domain, figures: Figures | None, today: Today) -> PortfolioDomainDetail:
    """Return a domain for display; without figures its money is omitted."""
    totals = figures and figures.totals
    shown = extended(
        PortfolioDomainDetail,
        domain,
        days_to_expiry=lifecycle.days_to_expiry(domain.expires_at, today),
        lifecycle=lifecycle.lifecycle_of(domain, today),
        drop_dates=lifecycle.drop_dates(domain),
        roi=totals and totals.roi,
        net=totals and totals.net_position,
        cost=totals and totals.total_cost,
        income=totals and totals.total_income,
        renewal_price_base=figures and figures.renewal_price_base,
        finance=totals and PortfolioTotals.from_record(totals),
    )
    return visible(shown, shows_finance=figures is not None)


def history_reply(page: Page[RecordedChange], *, shows_finance: bool) -> PageReply[RecordedChange]:
    """Return a page of changes; without `shows_finance` their money is left out."""
    items = []
    for each in page.items:
        shown = [every for every in each.changes if shows_finance or every.member not in _MONEY]
        redacted: Sequence[Literal["finance"]] = [] if len(shown) == len(each.changes) else ["finance"]
        items.append(replace(each, changes=shown, redacted=redacted))
    return PageReply[RecordedChange](items=items, next_cursor=page.next_cursor)
