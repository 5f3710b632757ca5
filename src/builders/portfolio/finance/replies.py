"""Replies of finance. Figures are rounded here, and nowhere before."""

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from builders.kit.http.bodies import WARNINGS, Reply, UnknownField, WriteReply
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.money import CurrencyCode, Money
from builders.kit.values.resources import MONEY
from builders.portfolio.domains.records import AskingPrice, EstimatedValue, PortfolioDomainStatus
from builders.portfolio.finance.calculation import FigureWarning
from builders.portfolio.finance.messages import MESSAGES
from builders.portfolio.finance.recommendation import ShownRecommendation
from builders.portfolio.finance.records import (
    ChangedField,
    DomainFinance,
    HoldingPeriod,
    NextRenewal,
    RecordedRenewal,
    RenewalNotice,
)
from builders.portfolio.finance.returns import XirrReason
from builders.portfolio.finance.sales import PLANNED
from builders.portfolio.ledger.records import Entry, Installment, rounded_rate
from builders.portfolio.team.visibility import visible

MAX_NAMED = 10  # currencies of a warning
MAX_SHOWN = 500  # newest entries of a reply


class FinanceIncomeReply(Reply):
    """Income of holding the domain."""

    parking: Annotated[Money, doc("Parking revenue.")]
    lease: Annotated[Money, doc("Lease income.")]
    other: Annotated[Money, doc("Other income; refunds lower the costs instead.")]


class FinanceSaleReply(Reply):
    """The sale of the domain."""

    id: Annotated[UUID | None, doc("Identifier; null for proceeds without a sale.")]
    gross: Annotated[Money, doc("Amount received from the buyer up to the day of the figures.")]
    refunded: Annotated[Money, doc("Amount returned to the buyer up to that day: refunds and chargebacks.")]
    costs: Annotated[Money, doc("Commission, fees, tax and the share of a consignor, up to that day.")]
    net: Annotated[Money, doc("`gross` less `refunded` and `costs`.")]
    price: Annotated[Money | None, doc("The price as agreed; null when the sale was imported.")]
    outstanding: Annotated[Money | None, doc("Amount of the instalments that were not received.")]
    commission_rate: Annotated[float | None, doc("Part of the price that is the commission.")]
    own_share: Annotated[float, doc("Part of the net proceeds that is yours; 1 unless consigned.")]
    sold_on: Annotated[date, doc("Day of the sale.")]
    venue: Annotated[str | None, doc("The marketplace of the sale.")]
    buyer_ref: Annotated[str | None, doc("Your own reference to the buyer.")]
    installments: Annotated[list[Installment], doc("Instalments.")]


class FinancePeriodReply(Reply):
    """What the domain cost and earned from a purchase to its sale."""

    cost_basis: Annotated[Money | None, doc("Acquisition or registration, with its fees and tax."), MONEY]
    carrying_cost: Annotated[Money | None, doc("Renewals and other costs of holding the domain."), MONEY]
    refunds: Annotated[Money | None, doc("Refunded costs."), MONEY]
    total_cost: Annotated[Money | None, doc("`cost_basis` and `carrying_cost` less `refunds`."), MONEY]
    income: Annotated[FinanceIncomeReply | None, doc("Income of holding the domain."), MONEY]
    sale: Annotated[FinanceSaleReply | None, doc("The sale; null before it."), MONEY]
    realized_profit: Annotated[
        Money | None, doc("`sale.net` and income less `total_cost`; null before a sale."), MONEY
    ]
    net_position: Annotated[Money | None, doc("All receipts less all payments."), MONEY]
    roi: Annotated[
        float | None, doc("`net_position` per unit of `total_cost`, such as 0.5; null without costs."), MONEY
    ]
    annualized_roi: Annotated[
        float | None, doc("`roi` as an annual rate; null for less than a day and for a total loss."), MONEY
    ]
    xirr: Annotated[
        float | None,
        doc("Annual internal rate of return of the dated payments; of several, that nearest to `annualized_roi`."),
        MONEY,
    ]
    xirr_reason: Annotated[
        XirrReason | None,
        doc(
            "Why there is no `xirr`. `one_sign`: only costs or only receipts. `no_cost`: buying and holding cost "
            "nothing. `no_solution`: none between -99.99 % and 100,000,000 %."
        ),
        MONEY,
    ]
    holding_days: Annotated[int | None, doc("Days from the acquisition until the sale, or until `as_of`.")]


class _DomainShown(Reply):
    domain_id: Annotated[UUID, doc("Identifier of the portfolio domain.")]
    domain: DomainName
    status: Annotated[PortfolioDomainStatus, doc("Status of the domain in your portfolio.")]
    base_currency: Annotated[CurrencyCode, doc("Currency of the figures.")]
    as_of: Annotated[date, doc("Day of the figures, which exclude later entries.")]
    asking_price: AskingPrice
    estimated_value: EstimatedValue


class FinanceReply(FinancePeriodReply, WriteReply, _DomainShown):  # the members of the last one come first
    """The finance of a domain: costs, income and value in the present holding period."""

    unrealized_profit: Annotated[
        Money | None,
        doc("The estimated value after commission, and `net_position`; null without an estimate."),
        MONEY,
    ]
    breakeven_price: Annotated[
        Money | None, doc("Sale price that covers all costs; zero when the income did."), MONEY
    ]
    next_renewal: Annotated[NextRenewal | None, doc("The next renewal; null when it is unknown or not due.")]
    earlier_periods: Annotated[list[FinancePeriodReply], doc("Earlier holding periods, the oldest first."), MONEY]
    entries: Annotated[
        list[Entry],
        doc(f"The newest {MAX_SHOWN} entries, including void entries, the oldest first."),
        MONEY,
    ]
    entries_count: Annotated[int | None, doc("Number of all entries."), MONEY]
    unconverted: Annotated[
        list[UUID], doc("Entries without an exchange rate, which are excluded from the figures."), MONEY
    ]
    recommendation: Annotated[
        ShownRecommendation | None, doc("Advice; null for a domain that you do not hold."), MONEY
    ]
    warnings: Annotated[WARNINGS, MONEY] = []  # noqa: RUF012 - pydantic copies it
    redacted: Annotated[
        list[Literal["finance"]], doc("`finance`: your role does not see money, so all figures are null or empty.")
    ]


class FinanceWritten(FinanceReply):
    """The finance of a domain after a change."""

    changes: Annotated[list[ChangedField], doc("The changes; empty without any.")]


class RenewedDomainReply(Reply):
    """The domain after a renewal."""

    id: Annotated[UUID, doc("Identifier of the portfolio domain.")]
    domain: DomainName
    expires_at: Annotated[datetime | None, doc("When the registration expires; null when unknown.")]


class RenewalRecorded(WriteReply):
    """A recorded renewal."""

    entry: Annotated[Entry, doc("The entry of the ledger.")]
    domain: Annotated[RenewedDomainReply, doc("The domain with its new expiry.")]
    expiry_advanced_by_days: Annotated[int, doc("Days that the expiry moved by.")]
    duplicate_of: Annotated[
        UUID | None,
        doc(
            "Entry of an earlier renewal that is likely the same: same years, within 7 days and 5 % of the "
            "amount, or the same order. Both count until you void one."
        ),
    ]
    finance: Annotated[FinanceReply, doc("The figures with the renewal.")]


def finance_reply(finance: DomainFinance, *, shows_finance: bool, year: int | None = None) -> FinanceReply:
    """Return the finance of a domain with the entries of a year; without money for a role without finance."""
    reply = FinanceReply.from_record(finance.domain, **_computed(finance, year=year))
    return visible(reply, shows_finance=shows_finance)


def written_reply(finance: DomainFinance, changes: Sequence[ChangedField]) -> FinanceWritten:
    """Return the finance of a domain after a change; who changes it sees it."""
    return FinanceWritten.from_record(finance.domain, **_computed(finance), changes=list(changes))


def recorded_reply(recorded: RecordedRenewal, finance: DomainFinance) -> RenewalRecorded:
    """Return a recorded renewal, with the figures after it."""
    before, after = recorded.previous_expires_at, recorded.domain.expires_at
    return RenewalRecorded(
        entry=recorded.entry,
        domain=RenewedDomainReply.from_record(recorded.domain),
        expiry_advanced_by_days=0 if before is None or after is None else (after - before).days,
        duplicate_of=recorded.duplicate_of,
        finance=finance_reply(finance, shows_finance=True),
        warnings=_warnings(recorded.notices),
    )


def _computed(finance: DomainFinance, *, year: int | None = None) -> dict[str, Any]:
    """Return the members that the domain does not have itself."""
    figures, advice = finance.present.figures, finance.recommendation
    entries = [each for each in finance.entries if year in {None, each.occurred_on.year}]
    money = partial(_money, finance)
    return {
        **_figures(finance.present, finance),
        "domain_id": finance.domain.id,
        "base_currency": finance.base_currency,
        "as_of": finance.as_of,
        "unrealized_profit": money(figures.unrealized_profit),
        "breakeven_price": money(figures.breakeven_price),
        "earlier_periods": [FinancePeriodReply(**_figures(each, finance)) for each in finance.begun[:-1]],
        "next_renewal": finance.next_renewal,
        "entries": entries[-MAX_SHOWN:],
        "entries_count": len(finance.entries),
        "unconverted": [entry.id for each in finance.begun for entry in each.figures.unconverted],
        "recommendation": advice and ShownRecommendation.of(advice, currency=finance.base_currency),
        "warnings": _warnings(finance.warnings, finance),
        "redacted": [],
    }


def _figures(period: HoldingPeriod, finance: DomainFinance) -> dict[str, Any]:
    """Return the members of a holding period."""
    figures = period.figures
    amounts = ("cost_basis", "carrying_cost", "refunds", "total_cost", "realized_profit", "net_position")
    incomes = {name: _money(finance, getattr(figures.income, name)) for name in ("parking", "lease", "other")}
    return {
        **{name: _money(finance, getattr(figures, name)) for name in amounts},
        "income": FinanceIncomeReply.model_validate(incomes),
        "sale": _sale(period, finance),
        **{name: rounded_rate(getattr(figures, name)) for name in ("roi", "annualized_roi", "xirr")},
        "xirr_reason": figures.xirr_reason,
        "holding_days": figures.holding_days,
    }


def _money(finance: DomainFinance, amount: Decimal | None) -> Money | None:
    return None if amount is None else Money(amount, finance.base_currency).quantized()


def _sale(period: HoldingPeriod, finance: DomainFinance) -> FinanceSaleReply | None:
    figures, sale, terms = period.figures.sale, period.sale, period.terms
    if figures is None:
        return None
    payments, outstanding = () if terms is None else terms.installments, None
    if terms is not None:
        due = (each.money for each in payments if (each.received_on or PLANNED) > finance.as_of)
        outstanding = sum(due, start=Money.zero(terms.gross.currency))
    return FinanceSaleReply.model_validate(
        {
            **{name: _money(finance, getattr(figures, name)) for name in ("gross", "refunded", "costs", "net")},
            **{name: sale and getattr(sale, name) for name in ("id", "venue", "buyer_ref")},
            "price": terms and terms.gross,
            "outstanding": outstanding,
            "commission_rate": sale and rounded_rate(sale.commission_rate),
            "own_share": 1.0 if sale is None else float(sale.own_share),
            "sold_on": figures.sold_on,
            "installments": list(payments),
        }
    )


def _list_named(finance: DomainFinance) -> Mapping[FigureWarning | RenewalNotice, AbstractSet[str]]:
    """Return the currencies that warnings are about."""
    counted = [each for each in finance.entries if not each.is_void and each.occurred_on <= finance.as_of]
    return {
        FigureWarning.UNCONVERTED_ENTRIES: {each.currency for each in counted if each.fx_rate is None},
        FigureWarning.OWN_RATES: {each.currency for each in counted if each.is_own_rate},
    }


def _warnings(
    warnings: Iterable[FigureWarning | RenewalNotice], finance: DomainFinance | None = None
) -> list[UnknownField]:
    named, found = {} if finance is None else _list_named(finance), []
    for each in warnings:
        field, message = MESSAGES[each]
        text = message.format(currencies=", ".join(sorted(named.get(each, ()))[:MAX_NAMED]))
        found.append(UnknownField(field=field, code=each.value, did_you_mean=None, message=text))
    return found
