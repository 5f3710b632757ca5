"""Amounts that several domains share, split to the smallest coin."""

from collections.abc import Sequence
from decimal import Decimal

from builders.kit.values.money import decimals_of


def split(total: Decimal, currency: str, *, weights: Sequence[Decimal]) -> Sequence[Decimal]:
    """Return the parts of a total, which add up to it; the first part gets what cannot be divided.

    The weights are zero or more; equal parts when all are zero.
    """
    decimals = decimals_of(currency)
    coins = int(abs(total).scaleb(decimals).to_integral_value())
    whole = sum(weights, Decimal(0))
    shares = list(weights) if whole else [Decimal(1)] * len(weights)
    whole = whole or Decimal(len(weights))
    parts = [int(coins * each / whole) for each in shares]
    parts[0] += coins - sum(parts)
    sign = -1 if total < 0 else 1
    return [Decimal(sign * each).scaleb(-decimals) for each in parts]
