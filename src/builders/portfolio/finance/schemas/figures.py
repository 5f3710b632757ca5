"""Replies of finance."""

from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field
from pydantic.config import JsonDict

from builders.kit.http.bodies import Reply, WriteReply
from builders.kit.values.money import Money
from builders.portfolio.domains.records import PortfolioDomainStatus
from builders.portfolio.finance.recommendation import SALE_PROBABILITY, AdviceReason, RenewalAdvice
from builders.portfolio.finance.records import PriceSource
from builders.portfolio.finance.returns import XirrReason
from builders.portfolio.ledger.records import EntryKind, EntrySource

MAX_SHOWN = 500  # newest entries of a reply


def _usd(amount: str) -> JsonDict:
    return {"amount": amount, "currency": "USD"}


class FinanceEntryReply(Reply):
    """An entry of the ledger of a domain."""

    id: Annotated[UUID, Field(description="Identifier of the entry.")]
    kind: Annotated[EntryKind, Field(description="Kind of the amount.")]
    amount: Annotated[Money, Field(description="The amount in the currency of the payment.")]
    signed_amount: Annotated[Money, Field(description="The same amount, negative for a cost.")]
    occurred_on: Annotated[date, Field(description="Day of the payment.")]
    years: Annotated[int | None, Field(description="Years that it pays for.")]
    registrar: Annotated[str | None, Field(description="The registrar that was paid.")]
    memo: Annotated[str | None, Field(description="Text about it.")]
    source: Annotated[EntrySource, Field(description="Source of the entry.")]
    reference: Annotated[str | None, Field(description="Number of the order or invoice.")]
    charge_id: Annotated[UUID | None, Field(description="The registrar's charge that it comes from.")]
    sale_id: Annotated[UUID | None, Field(description="The sale that it is part of.")]
    fx_rate: Annotated[
        str | None, Field(description="Units of the base currency per unit of the currency; null: there is none.")
    ]
    fx_date: Annotated[date | None, Field(description="Day of the rate, on or before the day of the entry.")]
    base_amount: Annotated[Money | None, Field(description="The amount in the base currency.")]
    voided_at: Annotated[
        datetime | None, Field(description="When it was voided; void entries are excluded from all figures.")
    ]
    void_reason: Annotated[str | None, Field(description="Why it was voided.")]


class FinanceIncomeReply(Reply):
    """Income of holding the domain."""

    parking: Annotated[Money, Field(description="Parking revenue.")]
    lease: Annotated[Money, Field(description="Lease income.")]
    other: Annotated[Money, Field(description="Other income; refunds lower the costs instead.")]


class FinancePaymentReply(Reply):
    """A payment of the buyer."""

    amount: Annotated[Money, Field(description="The paid amount.")]
    on: Annotated[date, Field(description="Day of the payment; from that day on it counts as received.")]


class FinanceSaleReply(Reply):
    """The sale of the domain."""

    id: Annotated[UUID | None, Field(description="Identifier; null for proceeds without a sale.")]
    gross: Annotated[Money, Field(description="Amount received from the buyer up to the day of the figures.")]
    costs: Annotated[
        Money, Field(description="Commission, fees, tax and the share of a consignor, up to that day.")
    ]
    net: Annotated[Money, Field(description="`gross` less `costs`.")]
    price: Annotated[Money | None, Field(description="The price as agreed; null when the sale was imported.")]
    outstanding: Annotated[Money | None, Field(description="Amount of the price that is not due yet.")]
    commission_rate: Annotated[float | None, Field(description="Part of the price that is the commission.")]
    own_share: Annotated[float, Field(description="Part of the net proceeds that is yours; 1 unless consigned.")]
    sold_on: Annotated[date, Field(description="Day of the sale.")]
    venue: Annotated[str | None, Field(description="The marketplace of the sale.")]
    buyer_ref: Annotated[str | None, Field(description="Your own reference to the buyer.")]
    installments: Annotated[list[FinancePaymentReply], Field(description="Instalments.")]


class NextRenewalReply(Reply):
    """The next renewal."""

    on: Annotated[date, Field(description="Day of the expiry.")]
    price: Annotated[Money | None, Field(description="Price of one year; null when unknown.")]
    price_source: Annotated[
        PriceSource | None,
        Field(description="`domain`: set on the domain. `last_renewal`: the amount of the last renewal."),
    ]
    years: Annotated[int, Field(description="Years of the price.")]


class FinanceRecommendationReply(Reply):
    """Advice on the next renewal, based on few facts. It has no effect."""

    advice: Annotated[
        RenewalAdvice,
        Field(serialization_alias="verdict", description="Keep it, drop it, or review missing data."),
    ]
    score: Annotated[
        int | None, Field(description="-100 (drop) to 100 (keep); null when the renewal price is unknown.")
    ]
    expected_gain: Annotated[
        Money | None,
        Field(
            description=(
                f"Expected value of a renewal: {SALE_PROBABILITY} of the price after commission, and the income "
                "of the last 12 months, less the renewal price."
            )
        ),
    ]
    reasons: Annotated[list[AdviceReason], Field(description="Facts for or against it.")]


class FinancePeriodReply(Reply):
    """What the domain cost and earned from a purchase to its sale."""

    cost_basis: Annotated[Money | None, Field(description="Acquisition or registration, with its fees and tax.")]
    carrying_cost: Annotated[Money | None, Field(description="Renewals and other costs of holding the domain.")]
    refunds: Annotated[Money | None, Field(description="Refunded costs.")]
    total_cost: Annotated[Money | None, Field(description="`cost_basis` and `carrying_cost` less `refunds`.")]
    income: Annotated[FinanceIncomeReply | None, Field(description="Income of holding the domain.")]
    sale: Annotated[FinanceSaleReply | None, Field(description="The sale; null before it.")]
    realized_profit: Annotated[
        Money | None, Field(description="`sale.net` and income less `total_cost`; null before a sale.")
    ]
    net_position: Annotated[Money | None, Field(description="All receipts less all payments.")]
    roi: Annotated[
        float | None,
        Field(description="`net_position` per unit of `total_cost`, such as 0.5; null without costs."),
    ]
    annualized_roi: Annotated[
        float | None, Field(description="`roi` as an annual rate; null for less than a day and for a total loss.")
    ]
    xirr: Annotated[float | None, Field(description="Annual internal rate of return of the dated payments.")]
    xirr_reason: Annotated[
        XirrReason | None,
        Field(
            description="Why there is no `xirr`. `one_sign`: only costs or only receipts. `no_solution`: none "
            "between -99.99 % and 100,000,000 %."
        ),
    ]
    holding_days: Annotated[
        int | None, Field(description="Days from the acquisition until the sale, or until `as_of`.")
    ]


class FinanceReply(FinancePeriodReply, WriteReply):
    """The finance of a domain: costs, income and value in the present holding period."""

    domain_id: Annotated[UUID, Field(description="Identifier of the portfolio domain.")]
    domain: Annotated[str, Field(description="Lower-case A-label.")]
    status: Annotated[PortfolioDomainStatus, Field(description="Status of the domain in your portfolio.")]
    base_currency: Annotated[str, Field(description="Currency of the figures.")]
    as_of: Annotated[date, Field(description="Day of the figures, which exclude later entries.")]
    unrealized_profit: Annotated[
        Money | None,
        Field(description="The estimated value after commission, and `net_position`; null without an estimate."),
    ]
    estimated_value: Annotated[Money | None, Field(description="Your estimate of the value of the domain.")]
    asking_price: Annotated[Money | None, Field(description="Price that you ask for the domain.")]
    breakeven_price: Annotated[Money | None, Field(description="Sale price that covers all costs.")]
    next_renewal: Annotated[
        NextRenewalReply | None, Field(description="The next renewal; null when it is unknown or not due.")
    ]
    earlier_periods: Annotated[
        list[FinancePeriodReply],
        Field(description="Earlier holding periods, the oldest first."),
    ]
    entries: Annotated[
        list[FinanceEntryReply],
        Field(description=f"The newest {MAX_SHOWN} entries, including void entries, the oldest first."),
    ]
    entries_count: Annotated[int | None, Field(description="Number of all entries.")]
    unconverted: Annotated[
        list[UUID], Field(description="Entries without an exchange rate, which are excluded from the figures.")
    ]
    recommendation: Annotated[
        FinanceRecommendationReply | None, Field(description="Advice; null for a domain that you do not hold.")
    ]
    redacted: Annotated[
        list[Literal["finance"]],
        Field(description="`finance`: your role does not see money, so all figures are null or empty."),
    ]


class FinanceChangeReply(Reply):
    """A member that the patch changed."""

    field: Annotated[str, Field(description="Name of the member.")]
    before: Annotated[Any, Field(serialization_alias="from", description="Its value before; null for none.")]
    after: Annotated[Any, Field(serialization_alias="to", description="Its value now; null for none.")]


class FinanceWritten(FinanceReply):
    """The finance of a domain after a change."""

    changes: Annotated[list[FinanceChangeReply], Field(description="The changes; empty without any.")]


class RenewedDomainReply(Reply):
    """The domain after a renewal."""

    id: Annotated[UUID, Field(description="Identifier of the portfolio domain.")]
    domain: Annotated[str, Field(description="Lower-case A-label.")]
    expires_at: Annotated[datetime | None, Field(description="When the registration expires; null when unknown.")]


class RenewalRecorded(WriteReply):
    """A recorded renewal."""

    entry: Annotated[FinanceEntryReply, Field(description="The entry of the ledger.")]
    domain: Annotated[RenewedDomainReply, Field(description="The domain with its new expiry.")]
    expiry_advanced_by_days: Annotated[int, Field(description="Days that the expiry moved by.")]
    duplicate_of: Annotated[
        UUID | None,
        Field(
            description=(
                "Entry of an earlier renewal that is likely the same: same years, within 7 days and 5 % of the "
                "amount, or the same order. Both count until you void one."
            )
        ),
    ]
    finance: Annotated[FinanceReply, Field(description="The figures with the renewal.")]
