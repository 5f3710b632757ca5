"""Replies of the summary. Figures are rounded here, and nowhere before."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Self, TypeVar

from builders.kit.http.bodies import Reply
from builders.kit.values.docs import doc
from builders.kit.values.money import CurrencyCode, Money
from builders.kit.values.resources import MONEY
from builders.portfolio.finance.records import LabelledTotals, MonthValue, PortfolioSummary, ValueSum
from builders.portfolio.ledger.records import Totals
from builders.portfolio.team.visibility import visible


class SummaryTotals(Reply):
    """Sums of ledger entries; money is null for a role that does not see it."""

    cost: Annotated[Money | None, doc("Cost of the acquisition and the holding of domains, less refunds."), MONEY]
    income: Annotated[Money | None, doc("Income from parking, leases and other use."), MONEY]
    sale: Annotated[Money | None, doc("Proceeds of sold domains, less commission and fees."), MONEY]
    net: Annotated[Money | None, doc("`income` and `sale` less `cost`."), MONEY]
    entries: Annotated[int, doc("Number of entries.")]
    unconverted: Annotated[
        int, doc("Entries without an exchange rate, which are excluded from sums in the base currency.")
    ]

    @classmethod
    def of(cls, totals: Totals, **more: Any) -> Self:
        """Return the reply of totals."""
        sums = {
            "cost": totals.cost,
            "income": totals.income,
            "sale": totals.sale,
            "net": totals.net_position.amount,
        }
        money = {name: Money(amount, totals.base_currency) for name, amount in sums.items()}
        return cls(**money, entries=totals.entries, unconverted=totals.unconverted, **more)


T = TypeVar("T", bound=SummaryTotals)


class MonthValueReply(Reply):
    """Estimated values of the domains that you held at the end of a month, as they were recorded then."""

    base: Annotated[Money, doc("Sum in the base currency, at the rates of today.")]
    unconverted: Annotated[int, doc("Currencies without an exchange rate, which `base` excludes.")]
    by_currency: Annotated[list[Money], doc("Sum of the estimates in each currency.")]

    @classmethod
    def of(cls, value: MonthValue, *, base_currency: str) -> Self:
        """Return the reply of a value."""
        return cls(
            base=Money(value.base, base_currency).quantized(),
            unconverted=value.unconverted,
            by_currency=[Money(amount, each).quantized() for each, amount in value.by_currency.items()],
        )


class MonthTotals(SummaryTotals):
    """The sums of a month."""

    month: Annotated[str, doc("Year and month, such as `2026-01`.")]
    value: Annotated[
        MonthValueReply | None,
        doc("At its end, or today. Null before the first estimate, and when your role does not see money."),
        MONEY,
    ]


class CurrencyTotals(SummaryTotals):
    """The sums of the entries in a currency, in that currency."""

    currency: Annotated[CurrencyCode, doc("ISO 4217 code.")]


class TldTotals(SummaryTotals):
    """The sums of the domains with a public suffix."""

    tld: Annotated[str, doc("Public suffix of the domains, such as `com` or `co.uk`.")]
    domains: Annotated[int, doc("Number of domains.")]


class TagTotals(SummaryTotals):
    """The sums of the domains with a tag."""

    tag: Annotated[str, doc("Tag of the domains, in lower case.")]
    domains: Annotated[int, doc("Number of domains.")]


class PortfolioValues(Reply):
    """Estimated values of the domains that you hold."""

    by_currency: Annotated[
        list[Money] | None,
        doc("Sum of the estimates in each currency; null when your role does not see money."),
        MONEY,
    ]
    held: Annotated[int, doc("Number of domains that you hold.")]
    without_value: Annotated[int, doc("Those without an estimated value.")]
    without_renewal_price: Annotated[int, doc("Those without a renewal price of their own.")]

    @classmethod
    def of(cls, sums: Sequence[ValueSum]) -> Self:
        """Return the reply of sums."""
        known = [
            Money(each.amount, each.currency).quantized()
            for each in sums
            if each.currency is not None and each.amount is not None
        ]
        return cls(
            by_currency=known,
            held=sum(each.domains for each in sums),
            without_value=sum(each.domains for each in sums if each.currency is None),
            without_renewal_price=sum(each.unpriced for each in sums),
        )


class PortfolioSummaryReply(Reply):
    """Costs and income of the domains of a portfolio in a period."""

    base_currency: Annotated[CurrencyCode, doc("Currency of all sums but those of `by_currency`.")]
    since: Annotated[date, doc("First day of the period.")]
    until: Annotated[date, doc("Last day of the period.")]
    domains: Annotated[int, doc("Number of domains in the portfolio.")]
    values: Annotated[PortfolioValues, doc("Estimated values of the domains that you hold today.")]
    totals: Annotated[SummaryTotals, doc("The sums of the period.")]
    months: Annotated[list[MonthTotals], doc("Each month of the period in order, also one without entries.")]
    by_currency: Annotated[list[CurrencyTotals], doc("The sums by currency, in that currency.")]
    by_tld: Annotated[
        list[TldTotals], doc("The sums by public suffix, those with the most domains first; at most 200.")
    ]
    by_tag: Annotated[
        list[TagTotals], doc("The sums by tag, at most 200. A domain with several tags counts for each tag.")
    ]
    redacted: Annotated[list[str], doc("`finance` when your role does not see money, which is then null.")]


def summary_reply(summary: PortfolioSummary, *, shows_finance: bool) -> PortfolioSummaryReply:
    """Return a summary; without money for a role that does not see it."""

    def labelled(kind: type[T], member: str, labels: Sequence[LabelledTotals]) -> list[T]:
        shown = ((each.totals, {member: each.label, "domains": each.domains}) for each in labels)
        return [kind.of(totals, **more) for totals, more in shown]

    reply = PortfolioSummaryReply.from_record(
        summary,
        base_currency=summary.total.base_currency,
        values=PortfolioValues.of(summary.values),
        totals=SummaryTotals.of(summary.total),
        months=[
            MonthTotals.of(
                each,
                month=f"{month:%Y-%m}",
                value=MonthValueReply.of(summary.value_by_month[month], base_currency=each.base_currency)
                if month in summary.value_by_month
                else None,
            )
            for month, each in summary.by_month.items()
        ],
        by_currency=[CurrencyTotals.of(each, currency=currency) for currency, each in summary.by_currency.items()],
        by_tld=labelled(TldTotals, "tld", summary.by_tld),
        by_tag=labelled(TagTotals, "tag", summary.by_tag),
        redacted=[],
    )
    return visible(reply, shows_finance=shows_finance)
