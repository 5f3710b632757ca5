"""The summary of a portfolio as a reply."""

from datetime import date
from typing import Annotated, Any, Self

from pydantic import Field
from pydantic.config import JsonDict

from builders.kit.http.bodies import Reply
from builders.kit.values.money import Money
from builders.portfolio.finance.records import PortfolioSummary
from builders.portfolio.ledger.records import Totals


def _sums(cost: str, income: str, sale: str, net: str, currency: str = "USD") -> JsonDict:
    amounts = {"cost": cost, "income": income, "sale": sale, "net": net}
    money: JsonDict = {name: {"amount": amount, "currency": currency} for name, amount in amounts.items()}
    return {**money, "entries": 2, "unconverted": 0}


class SummaryTotals(Reply):
    """Sums of ledger entries; money is null for a role that does not see it."""

    cost: Annotated[
        Money | None, Field(description="Cost of the acquisition and the holding of domains, less refunds.")
    ]
    income: Annotated[Money | None, Field(description="Income from parking, leases and other use.")]
    sale: Annotated[Money | None, Field(description="Proceeds of sold domains, less commission and fees.")]
    net: Annotated[Money | None, Field(description="`income` and `sale` less `cost`.")]
    entries: Annotated[int, Field(description="Number of entries.")]
    unconverted: Annotated[
        int,
        Field(description="Entries without an exchange rate, which are excluded from sums in the base currency."),
    ]

    @classmethod
    def of(cls, totals: Totals, *, shows_finance: bool, **more: Any) -> Self:
        """Return the reply of totals."""
        sums = {
            "cost": totals.cost,
            "income": totals.income,
            "sale": totals.sale,
            "net": totals.net_position.amount,
        }
        money = {
            name: Money(amount, totals.base_currency) if shows_finance else None for name, amount in sums.items()
        }
        return cls(**money, entries=totals.entries, unconverted=totals.unconverted, **more)


class MonthTotals(SummaryTotals):
    """The sums of a month."""

    month: Annotated[str, Field(description="Year and month, such as `2026-01`.")]


class CurrencyTotals(SummaryTotals):
    """The sums of the entries in a currency, in that currency."""

    currency: Annotated[str, Field(description="ISO 4217 code.")]


class TldTotals(SummaryTotals):
    """The sums of the domains with a public suffix."""

    tld: Annotated[str, Field(description="Public suffix of the domains, such as `com` or `co.uk`.")]
    domains: Annotated[int, Field(description="Number of domains.")]


class TagTotals(SummaryTotals):
    """The sums of the domains with a tag."""

    tag: Annotated[str, Field(description="Tag of the domains, in lower case.")]
    domains: Annotated[int, Field(description="Number of domains.")]


class PortfolioSummaryReply(Reply):
    """Costs and income of the domains of a portfolio in a period."""

    base_currency: Annotated[str, Field(description="Currency of all sums but those of `by_currency`.")]
    since: Annotated[date, Field(description="First day of the period.")]
    until: Annotated[date, Field(description="Last day of the period.")]
    domains: Annotated[int, Field(description="Number of domains in the portfolio.")]
    totals: Annotated[SummaryTotals, Field(description="The sums of the period.")]
    months: Annotated[
        list[MonthTotals], Field(description="Each month of the period in order, also one without entries.")
    ]
    by_currency: Annotated[list[CurrencyTotals], Field(description="The sums by currency, in that currency.")]
    by_tld: Annotated[
        list[TldTotals],
        Field(description="The sums by public suffix, those with the most domains first; at most 200."),
    ]
    by_tag: Annotated[
        list[TagTotals],
        Field(description="The sums by tag, at most 200. A domain with several tags counts for each tag."),
    ]
    redacted: Annotated[
        list[str], Field(description="`finance` when your role does not see money, which is then null.")
    ]


def summary_reply(summary: PortfolioSummary, *, shows_finance: bool) -> PortfolioSummaryReply:
    """Return a summary; without money for a role that does not see it."""
    return PortfolioSummaryReply(
        base_currency=summary.total.base_currency,
        since=summary.since,
        until=summary.until,
        domains=summary.domains,
        totals=SummaryTotals.of(summary.total, shows_finance=shows_finance),
        months=[
            MonthTotals.of(each, shows_finance=shows_finance, month=f"{month:%Y-%m}")
            for month, each in summary.by_month.items()
        ],
        by_currency=[
            CurrencyTotals.of(each, shows_finance=shows_finance, currency=currency)
            for currency, each in summary.by_currency.items()
        ],
        by_tld=[
            TldTotals.of(each.totals, shows_finance=shows_finance, tld=each.label, domains=each.domains)
            for each in summary.by_tld
        ],
        by_tag=[
            TagTotals.of(each.totals, shows_finance=shows_finance, tag=each.label, domains=each.domains)
            for each in summary.by_tag
        ],
        redacted=[] if shows_finance else ["finance"],
    )
