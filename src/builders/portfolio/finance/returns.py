"""Rates of return. Every amount is in one currency; a rate of 0.1 is 10 %."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Context, Decimal, Overflow
from enum import StrEnum

import pyxirr

DAYS_OF_YEAR = 365  # of an annual rate, also in leap years, as spreadsheets do it
MIN_RATE, MAX_RATE = Decimal("-0.9999"), Decimal(1_000_000)  # a rate beyond them is meaningless
_precise = Context(prec=34)


class XirrReason(StrEnum):
    """Why the XIRR is null."""

    NO_FLOWS = "no_flows"
    ONE_DAY = "one_day"
    ONE_SIGN = "one_sign"
    NO_SOLUTION = "no_solution"


def roi(profit: Decimal, *, total_cost: Decimal) -> Decimal | None:
    """Return the profit per unit of cost; None without a cost."""
    return _precise.divide(profit, total_cost) if total_cost > 0 else None


def annualized_roi(rate: Decimal | None, *, days: int | None) -> Decimal | None:
    """Return the yearly rate that compounds to this return in a number of days.

    None for less than a day, for a total loss, and for a rate above MAX_RATE.
    """
    if rate is None or days is None or days < 1 or rate <= -1:
        return None
    try:
        growth = _precise.power(1 + rate, _precise.divide(Decimal(DAYS_OF_YEAR), Decimal(days)))
    except Overflow:
        return None
    yearly = growth - 1
    return yearly if yearly <= MAX_RATE else None


def xirr(payments: Iterable[tuple[date, Decimal]]) -> tuple[Decimal | None, XirrReason | None]:
    """Return the rate at which the payments, discounted to the first day, have the sum zero, or why there is none.

    Payments of one day are added first. A positive payment is received, a negative one paid.
    """
    flows = _net_by_day(payments)
    if reason := _reason_against(flows):
        return None, reason
    days = sorted(flows)
    found = pyxirr.xirr(days, [float(flows[day]) for day in days], silent=True)
    rate = None if found is None else Decimal(repr(found))
    if rate is None or not rate.is_finite() or not MIN_RATE < rate < MAX_RATE:
        return None, XirrReason.NO_SOLUTION
    return rate, None


def _net_by_day(payments: Iterable[tuple[date, Decimal]]) -> Mapping[date, Decimal]:
    flows: defaultdict[date, Decimal] = defaultdict(Decimal)
    for on, amount in payments:
        flows[on] += amount
    return {on: amount for on, amount in flows.items() if amount}


def _reason_against(flows: Mapping[date, Decimal]) -> XirrReason | None:
    if not flows:
        return XirrReason.NO_FLOWS
    if len(flows) == 1:
        return XirrReason.ONE_DAY
    if min(flows.values()) > 0 or max(flows.values()) < 0:
        return XirrReason.ONE_SIGN
    return None
