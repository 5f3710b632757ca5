"""The annual internal rate of return of dated payments (XIRR): every rate, not only the one next to a guess.

The value of the payments is a sum of powers of the discount. A sum whose amounts change their sign `n` times, in
the order of the days, has `n` zeros at most, and between two of them its derivative has one. Discounted to a day
between two amounts of different signs, the derivative has a change less, so that the zeros are found by recursion,
each in an interval where there is no other.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from itertools import pairwise
from math import exp, expm1, fsum, log1p
from typing import TypeAlias

YEAR_DAYS = 365  # of an annual rate, also in leap years, as spreadsheets do it
MIN_RATE, MAX_RATE = Decimal("-0.9999"), Decimal(1_000_000)  # a rate beyond them is meaningless
MAX_CHANGES = 60  # of the sign, that the search for rates close to each other follows
MAX_WORK = 5_000  # payments times changes; a search for many payments divides the range instead
_PARTS = 32  # of the range
_STEPS = 100  # of a search, which takes about ten, and 60 if only halving helps
_ZERO = 1e-13  # a sum that is smaller in proportion to its terms is zero: two rates are one there

Terms: TypeAlias = Sequence[tuple[float, float]]  # years since the first payment, and an amount other than zero


class XirrReason(StrEnum):
    """Why the XIRR is null."""

    NO_FLOWS = "no_flows"
    ONE_DAY = "one_day"
    ONE_SIGN = "one_sign"
    NO_COST = "no_cost"
    NO_SOLUTION = "no_solution"


@dataclass(frozen=True, slots=True)
class Xirr:
    """The rates at which payments, discounted to the first day, have the sum zero, or why there is none."""

    rates: Sequence[Decimal] = ()  # ascending
    reason: XirrReason | None = None

    def nearest(self, rate: Decimal | None) -> Decimal | None:
        """Return the rate that is nearest to another one, or to zero."""
        return min(self.rates, key=lambda each: abs(each - (rate or 0)), default=None)


def xirr(payments: Iterable[tuple[date, Decimal]]) -> Xirr:
    """Return the rates of return between MIN_RATE and MAX_RATE.

    Payments of one day are added first. A positive payment is received, a negative one paid.
    """
    sums: defaultdict[date, Decimal] = defaultdict(Decimal)
    for on, amount in payments:
        sums[on] += amount
    flows = {on: amount for on, amount in sorted(sums.items()) if amount}
    if not flows:
        return Xirr(reason=XirrReason.NO_FLOWS)
    if len(flows) == 1:
        return Xirr(reason=XirrReason.ONE_DAY)
    if min(flows.values()) > 0 or max(flows.values()) < 0:
        return Xirr(reason=XirrReason.ONE_SIGN)
    first = min(flows)
    terms = [((on - first).days / YEAR_DAYS, float(amount)) for on, amount in flows.items()]
    found = (Decimal(repr(expm1(each))) for each in _zeros(terms, min(MAX_CHANGES, MAX_WORK // len(terms))))
    rates = [each for each in found if MIN_RATE < each < MAX_RATE]
    return Xirr(rates, None if rates else XirrReason.NO_SOLUTION)


def _zeros(terms: Terms, changes: int) -> Sequence[float]:
    """Return where the sum of the terms is zero, as logarithms of `1 + rate`, with so many changes at most."""
    pivot = next(((one[0] + two[0]) / 2 for one, two in pairwise(terms) if (one[1] > 0) != (two[1] > 0)), None)
    if pivot is None:
        return ()
    low, high = log1p(float(MIN_RATE)), log1p(float(MAX_RATE))
    ends = [low, 0.0, high]
    if changes == 0:
        ends += [low + (high - low) * at / _PARTS for at in range(1, _PARTS)]
    else:
        ends += _zeros([(years, amount * (pivot - years)) for years, amount in terms], changes - 1)
    return sorted(set(_search(terms, sorted(set(ends)))))


def _search(terms: Terms, ends: Sequence[float]) -> Iterator[float]:
    """Yield the zeros at the ends of intervals, and the one between two ends with different signs."""
    signs = [_sign(terms, each) for each in ends]
    yield from (end for end, sign in zip(ends, signs, strict=True) if sign == 0)
    for (low, high), (at_low, at_high) in zip(pairwise(ends), pairwise(signs), strict=True):
        if at_low * at_high < 0:
            yield _narrow(terms, low, high, at_low)


def _narrow(terms: Terms, low: float, high: float, at_low: int) -> float:
    """Return the zero between two ends: by the tangent, and by halving where that is faster."""
    at, step, before = (low + high) / 2, high - low, high - low
    for _ in range(_STEPS):
        value, slope, _ = _value(terms, at)
        if value == 0:
            return at
        low, high = (at, high) if (value > 0) == (at_low > 0) else (low, at)
        following = at - value / slope if slope else low
        if not low < following < high or abs(following - at) > abs(before) / 2:
            following = (low + high) / 2
        before, step = step, following - at
        if abs(step) <= 1e-16 * max(1.0, abs(at)):
            return following
        at = following
    return at


def _sign(terms: Terms, at: float) -> int:
    value, _, scale = _value(terms, at)
    return 0 if abs(value) <= _ZERO * scale else 1 if value > 0 else -1


def _value(terms: Terms, at: float) -> tuple[float, float, float]:
    """Return the sum, its slope, and the sum of the sizes, scaled so that no term is greater than its amount."""
    day = terms[0][0] if at >= 0 else terms[-1][0]
    parts = [(years - day, amount * exp(-at * (years - day))) for years, amount in terms]
    return (
        fsum(part for _, part in parts),
        -fsum(years * part for years, part in parts),
        fsum(abs(part) for _, part in parts),
    )
