"""The advice to keep or drop a domain at its next renewal.

The expected gain of one more year is

    sale probability x price x (1 - commission) x own share of the proceeds + income of 12 months - renewal price

It is advice from few facts, so a domain about which facts are missing is to be reviewed, never dropped.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field

from builders.kit.values.docs import doc
from builders.kit.values.money import Money
from builders.kit.values.resources import extended, resource

SALE_PROBABILITY = Decimal("0.01")  # that a domain is sold within a year: one of a hundred
CLEAR_SCORE = 20  # from here on the advice is keep, and from its negative drop


class RenewalAdvice(StrEnum):
    """What to do at the next renewal."""

    KEEP = "keep"
    REVIEW = "review"
    DROP = "drop"


class AdviceReason(StrEnum):
    """A fact for or against a renewal."""

    USER_PINNED = "user_pinned"
    INCOME_COVERS_RENEWAL = "income_covers_renewal"
    NO_INCOME = "no_income"
    NO_TRAFFIC = "no_traffic"
    RENEWAL_ABOVE_VALUE = "renewal_above_value"
    PREMIUM_RENEWAL = "premium_renewal"
    HIGH_COST_BASIS = "high_cost_basis"
    MISSING_INPUTS = "missing_inputs"


DECISIVE = frozenset({AdviceReason.USER_PINNED, AdviceReason.INCOME_COVERS_RENEWAL})  # for keeping it


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendationInputs:
    """What the advice depends on; amounts in one currency, None where a fact is unknown."""

    renewal_price: Decimal | None  # of one year
    price: Decimal | None  # at which it can be sold: the estimated value, else the asking price
    income_12m: Decimal  # parking, lease and other income of the last 12 months
    cost_basis: Decimal = Decimal(0)
    has_traffic: bool | None = None  # visits that parking providers counted in the last 12 months
    is_pinned: bool = False
    is_premium: bool = False  # the registry charges a premium fee
    commission_rate: Decimal = Decimal(0)
    own_share: Decimal = Decimal(1)  # of the proceeds of a sale


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """Advice, with the facts that it rests on."""

    advice: RenewalAdvice
    score: int | None  # -100 (drop) to 100 (keep); None when the renewal price is unknown
    expected_gain: Decimal | None  # of one more year; None when the renewal price is unknown
    reasons: Sequence[AdviceReason]


@resource("FinanceRecommendationReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRecommendation:
    """Advice on the next renewal, based on few facts. It has no effect."""

    advice: Annotated[
        RenewalAdvice,
        Field(serialization_alias="verdict", description="Keep it, drop it, or review missing data."),
    ]
    score: Annotated[int | None, doc("-100 (drop) to 100 (keep); null when the renewal price is unknown.")]
    expected_gain: Annotated[
        Money | None,
        doc(
            f"Expected value of a renewal: {SALE_PROBABILITY} of the price after commission, and the income "
            "of the last 12 months, less the renewal price, in the base currency."
        ),
    ]
    reasons: Annotated[Sequence[AdviceReason], doc("Facts for or against it.")]

    @classmethod
    def of(cls, advice: Recommendation, *, currency: str) -> Self:
        """Return advice for display, whose amounts are in this currency."""
        gain = advice.expected_gain
        return extended(cls, advice, expected_gain=None if gain is None else Money(gain, currency).quantized())


def recommend(inputs: RecommendationInputs) -> Recommendation:
    """Return the advice for the next renewal."""
    reasons = tuple(_reasons(inputs))
    if inputs.renewal_price is None:
        advice = RenewalAdvice.KEEP if inputs.is_pinned else RenewalAdvice.REVIEW
        return Recommendation(advice=advice, score=None, expected_gain=None, reasons=reasons)
    expected = inputs.income_12m
    if inputs.price is not None:
        expected += SALE_PROBABILITY * inputs.price * (1 - inputs.commission_rate) * inputs.own_share
    # 0 where the expected receipts equal the renewal price, 100 without a price, -100 without receipts.
    gain, both = expected - inputs.renewal_price, expected + inputs.renewal_price
    score = round(100 * gain / both) if both > 0 else 0
    advice = RenewalAdvice.REVIEW
    if score >= CLEAR_SCORE or not DECISIVE.isdisjoint(reasons):
        advice = RenewalAdvice.KEEP
    elif score <= -CLEAR_SCORE and AdviceReason.MISSING_INPUTS not in reasons:
        advice = RenewalAdvice.DROP
    return Recommendation(advice=advice, score=score, expected_gain=gain, reasons=reasons)


def _reasons(inputs: RecommendationInputs) -> Iterator[AdviceReason]:
    renewal_price, price = inputs.renewal_price, inputs.price
    if inputs.is_pinned:
        yield AdviceReason.USER_PINNED
    if renewal_price is not None and 0 < inputs.income_12m >= renewal_price:
        yield AdviceReason.INCOME_COVERS_RENEWAL
    if inputs.income_12m <= 0:
        yield AdviceReason.NO_INCOME
    if inputs.has_traffic is False:
        yield AdviceReason.NO_TRAFFIC
    if renewal_price is not None and price is not None and renewal_price > price:
        yield AdviceReason.RENEWAL_ABOVE_VALUE
    if inputs.is_premium:
        yield AdviceReason.PREMIUM_RENEWAL
    if price is not None and inputs.cost_basis > price:
        yield AdviceReason.HIGH_COST_BASIS
    if renewal_price is None or price is None:
        yield AdviceReason.MISSING_INPUTS
