"""Replies about charges."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply
from builders.kit.http.pagination import Page
from builders.kit.values.money import Money
from builders.portfolio.billing.records import (
    Charge,
    ChargeReason,
    ChargeSource,
    ChargeState,
    MatchMethod,
    StateSum,
)
from builders.portfolio.registrars.records import ChargeKind

Confidence = Annotated[str | None, Field(description="Certainty of the domain, from 0.00 to 1.00.")]


class ChargeCandidate(Reply):
    """A domain that a charge can be for."""

    domain_id: Annotated[UUID, Field(description="The portfolio domain.")]
    domain: Annotated[str, Field(description="Its name as an A-label.")]
    confidence: Annotated[str, Field(description="Certainty, from 0.00 to 1.00.")]
    method: Annotated[MatchMethod, Field(description="How it was found.")]


class ChargeMatch(Reply):
    """The domain of a charge."""

    domain_id: Annotated[UUID | None, Field(description="The portfolio domain; null when it is not decided.")]
    confidence: Confidence
    method: Annotated[MatchMethod | None, Field(description="How it was found.")]
    candidates: Annotated[
        list[ChargeCandidate], Field(description="Candidates, the likeliest first; empty if decided.")
    ]


class BillingCharge(Reply):
    """A line of a registrar's bill, or the part of it that is for one domain."""

    id: Annotated[UUID, Field(description="Identifier of the charge.")]
    provider: Annotated[str, Field(description="The registrar.")]
    connection_id: Annotated[UUID | None, Field(description="The connection; null for an import without one.")]
    order_id: Annotated[str | None, Field(description="The registrar's order; null when it names none.")]
    line_id: Annotated[str | None, Field(description="Line of the order, or place among equal rows of a file.")]
    parent_order_id: Annotated[str | None, Field(description="Of a refund: the order that is refunded.")]
    charged_on: Annotated[date, Field(description="Day of the charge.")]
    description: Annotated[
        str | None, Field(description="The registrar's text; null if the role does not see money.")
    ]
    domain_raw: Annotated[
        str | None,
        Field(description="The domain as the registrar writes it; null when no field contains it."),
    ]
    domain: Annotated[str | None, Field(description="The domain that is named, as an A-label.")]
    kind: Annotated[ChargeKind, Field(description="Kind of the charge.")]
    years: Annotated[int | None, Field(description="Years that the charge pays for; null when unknown.")]
    amount: Annotated[Money | None, Field(description="Total without tax and fees.")]
    tax: Annotated[Money | None, Field(description="Tax in the total.")]
    fees: Annotated[Money | None, Field(description="Fees in the total.")]
    total: Annotated[Money | None, Field(description="The charged amount; negative for a refund.")]
    annual_cost: Annotated[Money | None, Field(description="The total of one year; null when unknown.")]
    state: Annotated[ChargeState, Field(description="Whether its domain is known, and whether it is booked.")]
    reason: Annotated[
        ChargeReason | None,
        Field(
            description="Why it is not booked although its domain is known. `entry_limit`: the domain has as many "
            "entries as it can have."
        ),
    ]
    match: Annotated[ChargeMatch, Field(description="The domain of the charge.")]
    refund_of: Annotated[UUID | None, Field(description="Of a refund: the charge that it reverses, if known.")]
    entry_id: Annotated[UUID | None, Field(description="The entry of the ledger; null while not applied.")]
    linked: Annotated[
        bool, Field(description="Whether a member recorded the entry before the charge was imported.")
    ]
    source: Annotated[ChargeSource, Field(description="The registrar's API, or an imported file.")]
    imported_at: Annotated[datetime, Field(description="When it was recorded.")]


class ChargesByState(Reply):
    """How many charges are in each state."""

    unmatched: Annotated[int, Field(description="Charges without a domain.")]
    suggested: Annotated[int, Field(description="Charges with candidates.")]
    matched: Annotated[int, Field(description="The domain is known; not booked.")]
    applied: Annotated[int, Field(description="Booked in the ledger.")]
    ignored: Annotated[int, Field(description="Excluded by a member.")]


class ChargeSums(Reply):
    """Sums of the charges in one currency; `total` is the sum of the others."""

    currency: Annotated[str, Field(description="ISO 4217 code.")]
    total: Annotated[Money | None, Field(description="All charges, less refunds.")]
    unmatched: Annotated[Money | None, Field(description="Charges without a domain.")]
    suggested: Annotated[Money | None, Field(description="Charges with candidates.")]
    matched: Annotated[Money | None, Field(description="Charges with a domain that are not booked.")]
    applied: Annotated[Money | None, Field(description="Booked charges.")]
    ignored: Annotated[Money | None, Field(description="Omitted charges.")]


class ChargeTotals(Reply):
    """Numbers and sums of charges."""

    by_state: Annotated[ChargesByState, Field(description="Numbers of charges.")]
    by_currency: Annotated[list[ChargeSums], Field(description="Sums of each currency.")]


class BillingCharges(Reply):
    """Charges, the newest first."""

    items: Annotated[list[BillingCharge], Field(description="The charges of this page.")]
    next_cursor: Annotated[
        str | None, Field(description="Send it as `cursor` to get the next page; null on the last page.")
    ]
    count: Annotated[int, Field(description="Number of all charges of the filters.")]
    totals: Annotated[ChargeTotals, Field(description="Numbers and sums of all charges of the filters.")]
    redacted: Annotated[list[str], Field(description="`finance` when the role does not see money.")]


def charges_reply(page: Page[Charge], sums: Sequence[StateSum], *, shows_finance: bool) -> BillingCharges:
    """Return a page of charges; without finance their money is null."""
    return BillingCharges(
        items=[charge_reply(each, shows_finance=shows_finance) for each in page.items],
        next_cursor=page.next_cursor,
        count=sum(each.count for each in sums),
        totals=_totals(sums, shows_finance=shows_finance),
        redacted=[] if shows_finance else ["finance"],
    )


def charge_reply(charge: Charge, *, shows_finance: bool = True) -> BillingCharge:
    """Return a charge; without finance its money is null, and so is the description, which can name an amount."""

    def money(amount: Decimal) -> Money | None:
        return Money(amount, charge.currency).quantized() if shows_finance else None

    return BillingCharge.from_record(
        charge,
        order_id=charge.order_id or None,
        line_id=charge.line_id or None,
        description=charge.description if shows_finance else None,
        amount=money(charge.total - charge.tax - charge.fees),
        tax=money(charge.tax),
        fees=money(charge.fees),
        total=money(charge.total),
        annual_cost=money(charge.total / charge.years) if charge.years else None,
        match=ChargeMatch(
            domain_id=charge.domain_id,
            confidence=show_confidence(charge.confidence),
            method=charge.method,
            candidates=[_candidate(each) for each in charge.candidates],
        ),
        linked=charge.is_linked,
    )


def _candidate(found: Mapping[str, Any]) -> ChargeCandidate:
    return ChargeCandidate.model_validate(
        {**found, "confidence": show_confidence(Decimal(str(found["confidence"])))}
    )


def show_confidence(confidence: Decimal | None) -> str | None:
    """Return a confidence with two decimals."""
    return None if confidence is None else f"{confidence:.2f}"


def _totals(sums: Sequence[StateSum], *, shows_finance: bool) -> ChargeTotals:
    states = [each.value for each in ChargeState]
    counts = {state: sum(each.count for each in sums if each.state == state) for state in states}
    by_currency: list[ChargeSums] = []
    for currency in sorted({each.currency for each in sums}):
        own = [each for each in sums if each.currency == currency]
        parts: dict[str, Any] = dict.fromkeys(("total", *states))
        if shows_finance:
            zero = Money.zero(currency)
            amounts = {each.state.value: Money(each.total, currency).quantized() for each in own}
            parts = {state: amounts.get(state, zero) for state in states}
            parts["total"] = sum(amounts.values(), zero)
        by_currency.append(ChargeSums(currency=currency, **parts))
    return ChargeTotals(by_state=ChargesByState(**counts), by_currency=by_currency)
