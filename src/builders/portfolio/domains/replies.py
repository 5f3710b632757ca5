"""Replies of the portfolio's domains."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal
from uuid import UUID

from builders.kit.http.bodies import Reply, WriteReply
from builders.kit.http.bulk import BulkReply
from builders.kit.http.members import reply_members, with_members
from builders.kit.http.pagination import PageReply
from builders.kit.pages import Page
from builders.kit.values.docs import CreatedAt, UpdatedAt, doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.money import Money
from builders.kit.values.resources import MONEY, members_of
from builders.portfolio.domains import lifecycle
from builders.portfolio.domains.records import (
    FIGURES,
    Domain,
    DomainFields,
    DropDates,
    EditedRow,
    Figures,
    Lifecycle,
    RecordedChange,
)
from builders.portfolio.domains.today import Today

_REDACTED: Mapping[str, None] = dict.fromkeys(
    ["finance", *FIGURES, *(each.name for each in members_of(DomainFields) if MONEY in each.marks)]
)


class PortfolioTotals(Reply):
    """Costs and income of a domain, in the base currency of the portfolio."""

    total_cost: Annotated[Money, doc("The same as `cost`.")]
    net_position: Annotated[Money, doc("The same as `net`.")]
    unconverted: Annotated[int, doc("Entries without an exchange rate, which the figures do not contain.")]


@with_members(reply_members(DomainFields))
class _StoredDomain(Reply):
    id: Annotated[UUID, doc("Identifier of the portfolio domain.")]
    domain: DomainName
    domain_unicode: Annotated[str, doc("The name in Unicode; for most names the same.")]
    tld: Annotated[str, doc("Public suffix that the name is registered below, such as `co.uk`.")]


class PortfolioDomainReply(_StoredDomain):
    """A domain of a portfolio."""

    created_at: CreatedAt
    updated_at: UpdatedAt
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
    roi: Annotated[float | None, doc("`net` per unit of `cost`, such as 0.5; null without costs.")]
    net: Annotated[
        Money | None,
        doc(
            "All receipts less all payments, up to today in the present holding period, in the base currency: "
            "`net_position` of the domain's finance."
        ),
    ]
    cost: Annotated[Money | None, doc("Of them the costs of buying and holding the domain, less refunds.")]
    income: Annotated[Money | None, doc("Of them the income of holding the domain.")]
    renewal_price_base: Annotated[
        Money | None, doc("`renewal_price` in the base currency at the rate of today; null without a rate.")
    ]
    finance: Annotated[PortfolioTotals | None, doc("Figures; null when your role does not see money.")]
    redacted: Annotated[
        list[Literal["finance"]], doc("`finance`: your role does not see money, so every price and share is null.")
    ]


class PortfolioDomainDetail(PortfolioDomainReply):
    """A domain of a portfolio, with the dates of its deletion if it is not renewed."""

    drop_dates: Annotated[DropDates, doc("Deletion dates by the rules of the top-level domain.")]


class PortfolioDomainWritten(PortfolioDomainDetail, WriteReply):
    """A domain after a change."""


class PortfolioEdited(BulkReply):
    """The result for each domain, with its changes."""

    results: Annotated[Sequence[EditedRow], doc("One result for each domain, in their order.")]
    digest: Annotated[str, doc("Digest of all changes, to request exactly these after a dry run.")]


class PortfolioExpiriesHandedOver(BulkReply):
    """The result for the expiry of each domain: `updated` if a registry decides it from now on."""


class PortfolioTagReply(Reply):
    """A tag of a portfolio."""

    tag: Annotated[str, doc("The tag, in lower case.")]
    count: Annotated[int, doc("Number of domains that have it.")]


def detail_reply(domain: Domain, figures: Figures | None, today: Today) -> PortfolioDomainDetail:
    """Return a domain that was read; without figures its money is omitted."""
    return PortfolioDomainDetail.from_record(domain, **_computed(domain, figures, today))


def written_reply(domain: Domain, figures: Figures | None, today: Today) -> PortfolioDomainWritten:
    """Return a domain that was written; without figures its money is omitted."""
    return PortfolioDomainWritten.from_record(domain, **_computed(domain, figures, today))


def history_reply(page: Page[RecordedChange], *, shows_finance: bool) -> PageReply[RecordedChange]:
    """Return a page of changes; without `shows_finance` their money is left out."""
    items = []
    for each in page.items:
        shown = [every for every in each.changes if shows_finance or every.member not in _REDACTED]
        redacted: Sequence[Literal["finance"]] = [] if len(shown) == len(each.changes) else ["finance"]
        items.append(replace(each, changes=shown, redacted=redacted))
    return PageReply[RecordedChange](items=items, next_cursor=page.next_cursor)


def _computed(domain: Domain, figures: Figures | None, today: Today) -> dict[str, Any]:
    share = domain.revenue_share
    return {
        "domain_unicode": domain.unicode,
        "revenue_share": None if share is None else str(share),
        "days_to_expiry": lifecycle.days_to_expiry(domain.expires_at, today),
        "lifecycle": lifecycle.lifecycle_of(domain, today),
        "drop_dates": lifecycle.drop_dates(domain),
        **(_REDACTED if figures is None else _shown(figures)),
        "redacted": ["finance"] if figures is None else [],
    }


def _shown(figures: Figures) -> dict[str, Any]:
    totals = figures.totals
    return {
        "roi": totals.roi,
        "net": totals.net_position,
        "cost": totals.total_cost,
        "income": totals.total_income,
        "renewal_price_base": figures.renewal_price_base,
        "finance": totals,
    }
