"""The advice for the next renewal: from which facts it follows, and what never changes it."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders.portfolio.finance.recommendation import AdviceReason, RecommendationInputs, RenewalAdvice, recommend

TEN = Decimal(10)
AMOUNTS = st.decimals(0, 10**6, places=2)
INPUTS = st.builds(
    RecommendationInputs,
    renewal_price=st.none() | AMOUNTS,
    price=st.none() | AMOUNTS,
    income_12m=AMOUNTS,
    cost_basis=AMOUNTS,
    has_traffic=st.sampled_from([None, True, False]),
    is_pinned=st.booleans(),
    is_premium=st.booleans(),
    commission_rate=st.decimals(0, "0.99", places=2),
    own_share=st.decimals(0, 1, places=2),
)


@pytest.mark.parametrize(
    ("given_", "advice", "score", "reasons"),
    [
        ({"price": Decimal(1000)}, "review", 0, ["no_income"]),
        ({"price": Decimal(1500)}, "keep", 20, ["no_income"]),
        ({"price": Decimal(1490)}, "keep", 20, ["no_income"]),  # 19.7
        ({"price": Decimal(1480)}, "review", 19, ["no_income"]),
        ({"price": Decimal(670)}, "drop", -20, ["no_income"]),
        ({"price": Decimal(680)}, "review", -19, ["no_income"]),
        ({"price": Decimal(9)}, "drop", -98, ["no_income", "renewal_above_value"]),
        ({"price": None}, "review", -100, ["no_income", "missing_inputs"]),
        (
            {"price": Decimal(9), "is_pinned": True},
            "keep",
            -98,
            ["user_pinned", "no_income", "renewal_above_value"],
        ),
        ({"price": Decimal(100), "income_12m": TEN}, "keep", 5, ["income_covers_renewal"]),
        ({"price": Decimal(0), "income_12m": Decimal("9.99")}, "review", 0, ["renewal_above_value"]),
        ({"price": TEN, "has_traffic": False}, "drop", -98, ["no_income", "no_traffic"]),
        ({"price": TEN, "is_premium": True}, "drop", -98, ["no_income", "premium_renewal"]),
        ({"price": TEN, "cost_basis": Decimal(11)}, "drop", -98, ["no_income", "high_cost_basis"]),
        ({"price": Decimal(2000), "own_share": Decimal("0.5")}, "review", 0, ["no_income"]),
        ({"price": Decimal(2000), "commission_rate": Decimal("0.5")}, "review", 0, ["no_income"]),
        ({"price": TEN, "renewal_price": None}, "review", None, ["no_income", "missing_inputs"]),
        ({"price": Decimal(0), "renewal_price": Decimal(0)}, "review", 0, ["no_income"]),
    ],
)
def test_advice_follows_from_the_facts(
    given_: dict[str, Any], advice: str, score: int | None, reasons: list[str]
) -> None:
    facts = RecommendationInputs(**{"renewal_price": TEN, "income_12m": Decimal(0), **given_})
    found = recommend(facts)
    assert (found.advice, found.score, [*found.reasons]) == (advice, score, reasons)


@given(INPUTS)
def test_a_domain_about_which_facts_are_missing_is_never_dropped(facts: RecommendationInputs) -> None:
    found = recommend(facts)
    if None in (facts.renewal_price, facts.price):
        assert AdviceReason.MISSING_INPUTS in found.reasons
        assert found.advice is not RenewalAdvice.DROP
    assert (found.score is None) == (found.expected_gain is None) == (facts.renewal_price is None)
    assert found.score is None or -100 <= found.score <= 100


@given(INPUTS)
def test_a_pinned_domain_is_kept(facts: RecommendationInputs) -> None:
    assert recommend(replace(facts, is_pinned=True)).advice is RenewalAdvice.KEEP


@given(INPUTS, AMOUNTS)
def test_more_income_never_lowers_the_score(facts: RecommendationInputs, more: Decimal) -> None:
    one, other = recommend(facts), recommend(replace(facts, income_12m=facts.income_12m + more))
    if one.score is not None and other.score is not None and facts.renewal_price:
        assert other.score >= one.score


@given(INPUTS, AMOUNTS)
def test_a_dearer_renewal_never_raises_the_gain(facts: RecommendationInputs, more: Decimal) -> None:
    if facts.renewal_price is not None:
        one, other = recommend(facts), recommend(replace(facts, renewal_price=facts.renewal_price + more))
        assert one.expected_gain is not None
        assert other.expected_gain == one.expected_gain - more
