"""The figures of worked cases, checked by hand and by a second implementation; and the laws that always hold."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, localcontext
from itertools import pairwise
from math import exp, isclose, log
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import brentq  # type: ignore[import-untyped]  # scipy has no types of its own

from builders.portfolio.finance.calculation import Facts, Figures, calculate
from builders.portfolio.finance.returns import xirr
from builders.portfolio.ledger.records import Entry, EntryGroup, EntryKind, EntrySource
from tests.random_cases import cases

CASES: Sequence[Mapping[str, Any]] = tomllib.loads(
    (Path(__file__).with_name("cases.toml")).read_text(encoding="utf-8")
)["case"]
RATES = ("roi", "annualized_roi", "xirr")
DOMAIN = UUID("0193a1b2-0000-7000-8000-000000000031")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LOWEST, HIGHEST = Decimal("-0.9999"), Decimal(1_000_000)


def entry(
    on: date,
    kind: EntryKind,
    amount: Decimal,
    *,
    currency: str = "USD",
    rate: Decimal | None = Decimal(1),
    source: EntrySource = EntrySource.MANUAL,
    is_void: bool = False,
) -> Entry:
    return Entry(
        id=uuid4(),
        domain_id=DOMAIN,
        kind=kind,
        amount=amount,
        currency=currency,
        occurred_on=on,
        years=None,
        registrar=None,
        memo=None,
        source=source,
        reference=None,
        created_by=None,
        created_at=NOW,
        base_currency="USD",
        fx_rate=rate,
        fx_date=None if rate is None else on,
        base_amount=None if rate is None else amount * rate,
        voided_at=NOW if is_void else None,
        voided_by=None,
        void_reason=None,
    )


def read(line: str) -> Entry:
    on, kind, amount, *more = line.split()
    currency, rate = "USD", "@1"
    if more and more[0].isupper():
        currency, rate, *more = more
    return entry(
        date.fromisoformat(on),
        EntryKind(kind),
        Decimal(amount),
        currency=currency,
        rate=None if rate == "@?" else Decimal(rate[1:]),
        source=EntrySource.SALE if "sale" in more else EntrySource.MANUAL,
        is_void="void" in more,
    )


def facts_of(case: Mapping[str, Any]) -> Facts:
    amounts = ("estimated_value", "commission_rate", "own_share")
    given = {name: Decimal(case[name]) for name in amounts if name in case}
    return Facts(acquired_on=case.get("acquired_on"), sold_on=case.get("sold_on"), **given)


def figure(figures: Figures, name: str) -> str:
    if name in {"gross", "costs", "net"}:
        value: Any = getattr(figures.sale, name, None)
    elif name in {"parking", "lease", "other"}:
        value = getattr(figures.income, name)
    else:
        value = getattr(figures, name)
    if name == "unconverted":
        return str(len(value))
    if name == "warnings":
        return " ".join(value)
    return "-" if value is None else str(value)


def same(found: str, expected: str) -> bool:
    """Compare as numbers, to the decimals of the expected one."""
    try:
        exact = Decimal(expected)
    except ArithmeticError:
        return found == expected
    if found == "-":
        return False
    with localcontext(Context(prec=60)):
        step = max(exact.as_tuple().exponent, -6) if "." in expected else -6
        return Decimal(found).quantize(Decimal(1).scaleb(int(step))) == exact


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_worked_case(case: Mapping[str, Any]) -> None:
    entries = [read(line) for line in case["entries"]]
    found = calculate(entries, facts_of(case), as_of=case["as_of"])
    shown = {name: figure(found, name) for name in case["expect"]}
    assert {name: value for name, value in shown.items() if not same(value, case["expect"][name])} == {}
    check_rates(entries, found, case["as_of"])
    check_sums(entries, found, case["as_of"])


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 60
    assert len({case["name"] for case in CASES}) == len(CASES)


# A second implementation: by bisection on Decimal, from the raw entries.


def known_flows(entries: Sequence[Entry], as_of: date) -> Mapping[date, Decimal]:
    flows: dict[date, Decimal] = {}
    for each in entries:
        if each.voided_at is None and each.occurred_on <= as_of and each.fx_rate is not None:
            paid = each.amount * each.fx_rate * (1 if each.kind.is_income else -1)
            flows[each.occurred_on] = flows.get(each.occurred_on, Decimal(0)) + paid
    return {on: amount for on, amount in flows.items() if amount}


def bisect(value: Callable[[Decimal], Decimal], low: Decimal, high: Decimal) -> Decimal | None:
    at_low, at_high = value(low), value(high)
    if at_low * at_high > 0:
        return None
    for _ in range(70):  # to 1e-14 of the range
        middle = (low + high) / 2
        at_middle = value(middle)
        if (at_middle > 0) == (at_low > 0):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def present_value(flows: Mapping[date, Decimal], rate: Decimal) -> Decimal:
    first = min(flows)
    return sum(
        (amount / (1 + rate) ** (Decimal((on - first).days) / 365) for on, amount in flows.items()), Decimal(0)
    )


def sign_changes(flows: Mapping[date, Decimal]) -> int:
    ordered = [flows[on] > 0 for on in sorted(flows)]
    return sum(one != other for one, other in pairwise(ordered))


def check_rates(entries: Sequence[Entry], found: Figures, as_of: date) -> None:
    flows = known_flows(entries, as_of)
    profit = sum(flows.values(), Decimal(0))
    with localcontext(Context(prec=30)):
        expected_roi = profit / found.total_cost if found.total_cost > 0 else None
        assert close(found.roi, expected_roi)
        if found.annualized_roi is not None:
            assert found.roi is not None
            assert found.holding_days
            years = Decimal(found.holding_days) / 365
            assert abs((1 + found.annualized_roi) ** years - 1 - found.roi) < Decimal("1e-15") * (
                1 + abs(found.roi)
            )
        if found.xirr is not None:
            scale = sum(map(abs, flows.values()), Decimal(0))
            assert abs(present_value(flows, found.xirr)) <= scale * Decimal("1e-7")
        if sign_changes(flows) == 1:  # there is one rate at most
            expected = bisect(lambda rate: present_value(flows, rate), LOWEST, HIGHEST)
            if all(each.group is not EntryGroup.COST or each.kind.is_income for each in entries):
                expected = None  # nothing was invested
            assert close(found.xirr, expected), (found.xirr, expected)


def close(one: Decimal | None, other: Decimal | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= Decimal("1e-7") * (1 + abs(other))


def check_sums(entries: Sequence[Entry], found: Figures, as_of: date) -> None:
    everything = sum(known_flows(entries, as_of).values(), Decimal(0))
    assert found.net_position == everything
    assert found.cost_basis + found.carrying_cost - found.refunds == found.total_cost
    if found.sale is not None:
        assert found.realized_profit == found.sale.net + found.income.total - found.total_cost == everything
    assert (found.xirr is None) == (found.xirr_reason is not None)


def rates_by_scipy(flows: Mapping[date, Decimal]) -> Sequence[float]:
    """Return the rates at which the value changes its sign, on a fine grid of the logarithms of their factors."""
    first, last = min(flows), max(flows)
    years = np.array([(on - first).days / 365 for on in flows])
    paid = np.array([float(each) for each in flows.values()])

    def value(at: float) -> float:
        base = 0 if at >= 0 else (last - first).days / 365
        return float(np.sum(paid * np.exp(-at * (years - base))))

    grid = np.linspace(log(1 + float(LOWEST)), log(1 + float(HIGHEST)), 2_000)
    values = [value(at) for at in grid]
    return [
        exp(brentq(value, low, high, xtol=1e-14)) - 1
        for (low, at_low), (high, at_high) in pairwise(zip(grid, values, strict=True))
        if at_low * at_high < 0
    ]


@cases(25)
@given(
    st.lists(st.tuples(st.integers(1, 1500), st.integers(-50_000, 50_000)), min_size=2, max_size=9),
    st.integers(-50_000, -1),
)
def test_every_rate_of_return_is_found(later: list[tuple[int, int]], first: int) -> None:
    start = date(2019, 1, 1)
    payments = [(start, Decimal(first) / 100)]
    payments += [(start + timedelta(days=days), Decimal(cents) / 100) for days, cents in later]
    flows: dict[date, Decimal] = {}
    for on, amount in payments:
        flows[on] = flows.get(on, Decimal(0)) + amount
    found = [float(each) for each in xirr(payments).rates]
    expected = rates_by_scipy(flows)
    missing = [
        each for each in expected if not any(isclose(each, one, rel_tol=1e-6, abs_tol=1e-8) for one in found)
    ]
    assert missing == []
    assert len(found) <= sign_changes({on: amount for on, amount in flows.items() if amount})


DAYS = st.dates(date(2019, 1, 1), date(2027, 12, 31))
AMOUNTS = st.decimals(min_value=0, max_value=10**6, places=2)
ENTRIES = st.lists(
    st.builds(
        entry,
        DAYS,
        st.sampled_from(EntryKind),
        AMOUNTS,
        rate=st.sampled_from([Decimal(1), Decimal("1.0837"), Decimal("0.0064"), None]),
        source=st.sampled_from([EntrySource.MANUAL, EntrySource.SALE]),
        is_void=st.booleans(),
    ),
    max_size=12,
)


@cases(25)
@given(ENTRIES, DAYS, st.randoms())
def test_totals_are_the_sum_of_the_entries_in_any_order(entries: list[Entry], as_of: date, random: Any) -> None:
    found = calculate(entries, Facts(), as_of=as_of)
    check_sums(entries, found, as_of)
    shuffled = list(entries)
    random.shuffle(shuffled)
    again = calculate(shuffled, Facts(), as_of=as_of)
    assert sorted(each.id for each in again.unconverted) == sorted(each.id for each in found.unconverted)
    compared = [name for name in Figures.__dataclass_fields__ if name != "unconverted"]
    assert [getattr(again, name) for name in compared] == [getattr(found, name) for name in compared]


@cases(20)
@given(ENTRIES, st.builds(entry, DAYS, st.sampled_from(EntryKind), AMOUNTS, is_void=st.just(True)), DAYS)
def test_a_void_restores_the_figures(entries: list[Entry], void: Entry, as_of: date) -> None:
    assert calculate([*entries, void], Facts(), as_of=as_of) == calculate(entries, Facts(), as_of=as_of)


@cases(10)
@given(
    st.decimals(min_value=1, max_value=10**5, places=2),
    st.lists(st.tuples(st.integers(1, 3000), st.decimals(min_value=1, max_value=10**5, places=2)), min_size=1),
)
def test_the_rate_of_one_purchase_agrees_with_bisection(
    price: Decimal, received: list[tuple[int, Decimal]]
) -> None:
    start = date(2019, 1, 1)
    entries = [entry(start, EntryKind.ACQUISITION, price)]
    entries += [
        entry(start + timedelta(days=days), EntryKind.LEASE_INCOME, amount) for days, amount in received[:4]
    ]
    as_of = date(2030, 1, 1)
    check_rates(entries, calculate(entries, Facts(), as_of=as_of), as_of)
