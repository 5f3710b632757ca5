"""Random histories of a domain, read through HTTP, against a second calculation of every figure.

The second one knows what was sent and the rates of the bank alone. It adds decimals, and finds the rates of return
with SciPy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from math import isclose
from typing import Any

from hypothesis import given, strategies as st

from builders.kit.values import ids
from tests.portfolio.finance.make import Book, add_domain
from tests.portfolio.finance.test_calculation import rates_by_scipy
from tests.portfolio.ledger.make import FRIDAY, RATES
from tests.random_cases import cases

AS_OF = date(2026, 10, 1)
CENT = Decimal("0.01")
COSTS = ("renewal", "transfer_fee", "tax", "privacy", "redemption", "other_cost")
INCOMES = ("lease_income", "parking_revenue", "other_income")
RETURNED = ("buyer_refund", "chargeback")


@dataclass(frozen=True)
class Line:
    """An amount of a holding period."""

    group: str  # cost, refund, income, proceeds, returned, or fee: the costs of the sale
    on: date
    paid: Decimal
    currency: str

    @property
    def value(self) -> Decimal:
        """Return it in dollars, negative for what was paid."""
        worth = (self.paid * rate(self.currency, self.on)).quantize(CENT, ROUND_HALF_EVEN)
        return worth if self.group in {"refund", "income", "proceeds"} else -worth


def rate(currency: str, on: date) -> Decimal:
    """Return the dollars of a unit, of the last day with rates."""
    day = RATES[max(each for each in RATES if each <= on)]
    quoted = Decimal(day.get(currency, "1"))  # per euro
    return (Decimal(day["USD"]) / quoted).quantize(Decimal("1e-12"))


AMOUNTS = st.integers(1, 500_000).map(lambda cents: Decimal(cents) / 100)
CURRENCIES = st.sampled_from(["USD", "EUR", "GBP"])
ENTRIES = st.lists(
    st.tuples(st.sampled_from((*COSTS, "refund", *INCOMES)), st.integers(1, 149), AMOUNTS, CURRENCIES), max_size=4
)
SALES = st.fixed_dictionaries(
    {
        "gross": AMOUNTS,
        "currency": CURRENCIES,
        "commission_rate": st.none() | st.sampled_from(["0.1", "0.15", "0.333333"]),
        # Percent, days until it is due, and days that it is late; None: it is planned.
        "parts": st.lists(
            st.tuples(st.integers(1, 30), st.integers(1, 300), st.none() | st.integers(0, 40)), max_size=3
        ),
        "fees": st.lists(st.tuples(AMOUNTS, CURRENCIES), max_size=2),
        "returned": st.lists(st.tuples(st.sampled_from(RETURNED), st.integers(1, 40), AMOUNTS), max_size=2),
    }
)
PERIODS = st.lists(
    st.fixed_dictionaries({"price": AMOUNTS, "currency": CURRENCIES, "entries": ENTRIES, "sale": SALES}),
    min_size=1,
    max_size=3,
)


def written(amount: Decimal, currency: str) -> dict[str, str]:
    return {"amount": str(amount), "currency": currency}


def share(total: Decimal, payments: Sequence[Decimal]) -> Sequence[Decimal]:
    """Divide an amount in proportion to payments, so that the parts up to each are rounded once."""
    whole = sum(payments)
    parts, passed, given_before = [], Decimal(0), Decimal(0)
    for paid in payments:
        passed += paid
        until = (total * (passed / whole)).quantize(CENT, ROUND_HALF_EVEN)
        parts.append(until - given_before)
        given_before = until
    return parts


def sale_of(sale: Mapping[str, Any], sold_on: date) -> tuple[dict[str, Any], Sequence[Line], Sequence[Any]]:
    """Return a sale as it is sent, its amounts, and the entries of what the buyer got back."""
    lines, returned = list[Line](), list[Any]()
    gross, currency = sale["gross"], sale["currency"]
    later = [
        (
            sold_on + timedelta(days=days),
            (gross * percent / 100).quantize(CENT),
            None if late is None else sold_on + timedelta(days=days + late),
        )
        for percent, days, late in sale["parts"]
    ]
    later.sort(key=lambda each: each[0])
    rest = gross - sum((paid for _, paid, _ in later), Decimal(0))
    payments = [(sold_on, rest), *((received, paid) for _, paid, received in later)]
    lines += (Line("proceeds", on, paid, currency) for on, paid in payments if on is not None)
    if sale["commission_rate"] is not None:
        commission = (gross * Decimal(sale["commission_rate"])).quantize(CENT, ROUND_HALF_EVEN)
        parts = share(commission, [paid for _, paid in payments])
        given_on = zip((on for on, _ in payments), parts, strict=True)
        lines += (Line("fee", on, paid, currency) for on, paid in given_on if on is not None)
    lines += (Line("fee", sold_on, paid, in_currency) for paid, in_currency in sale["fees"])
    for kind, days, amount in sale["returned"]:
        on = sold_on + timedelta(days=days)
        returned.append({"kind": kind, "occurred_on": on.isoformat(), **written(amount, currency)})
        lines.append(Line("returned", on, amount, currency))
    sent = {
        "gross": written(gross, currency),
        "sold_on": sold_on.isoformat(),
        "commission_rate": sale["commission_rate"],
        "fees": [written(*each) for each in sale["fees"]],
        "installments": [
            {
                **written(paid, currency),
                "on": on.isoformat(),
                "received_on": None if received is None else received.isoformat(),
            }
            for on, paid, received in later
        ],
    }
    return sent, lines, returned


def period_of(found: Mapping[str, Any], start: date, *, is_sold: bool) -> tuple[dict[str, Any], Sequence[Line]]:
    """Return the request that records a holding period, and its amounts: it is sold after 150 days."""
    sold_on = start + timedelta(days=150)
    lines = [Line("cost", start, found["price"], found["currency"])]
    added = []
    for kind, days, amount, currency in found["entries"]:
        on = start + timedelta(days=days)
        added.append({"kind": kind, "occurred_on": on.isoformat(), **written(amount, currency)})
        group = "income" if kind in INCOMES else "refund" if kind == "refund" else "cost"
        lines.append(Line(group, on, amount, currency))
    bought = {**written(found["price"], found["currency"]), "on": start.isoformat()}
    if not is_sold:
        return {"acquisition": bought, "entries_add": added}, lines
    sent, of_sale, returned = sale_of(found["sale"], sold_on)
    return {"acquisition": bought, "entries_add": [*added, *returned], "sale": sent}, [*lines, *of_sale]


def expected(lines: Sequence[Line], *, is_sold: bool) -> dict[str, str | None]:
    sums = {
        group: sum((each.value for each in lines if each.group == group and each.on <= AS_OF), Decimal(0))
        for group in ("cost", "refund", "income", "proceeds", "returned", "fee")
    }
    cost, net = -sums["cost"] - sums["refund"], sum(sums.values(), Decimal(0))
    return {
        "total_cost": f"{cost:.2f}",
        "net_position": f"{net:.2f}",
        "realized_profit": f"{net:.2f}" if is_sold else None,
        "roi": None if cost <= 0 else f"{net / cost:.6f}",
        **({} if not is_sold else {"gross": f"{sums['proceeds']:.2f}", "refunded": f"{-sums['returned']:.2f}"}),
        **({} if not is_sold else {"costs": f"{-sums['fee']:.2f}"}),
        **({} if is_sold else {"breakeven_price": f"{max(cost - sums['income'], Decimal(0)):.2f}"}),
    }


def shown(figures: Mapping[str, Any], names: Sequence[str]) -> dict[str, str | None]:
    members = {**(figures["sale"] or {}), **figures}
    values = {name: members[name] for name in names}
    return {
        name: f"{value:.6f}" if name == "roi" and value is not None else value and value["amount"]
        for name, value in values.items()
    }


def check_returns(lines: Sequence[Line], found: float | None) -> None:
    flows: dict[date, Decimal] = {}
    for each in lines:
        if each.on <= AS_OF:
            flows[each.on] = flows.get(each.on, Decimal(0)) + each.value
    flows = {on: amount for on, amount in flows.items() if amount}
    rates = rates_by_scipy(flows) if len(flows) > 1 else []
    if not any(each.group == "cost" for each in lines):
        rates = []  # nothing was invested
    if rates or found is not None:
        assert found is not None
        assert any(isclose(found, each, rel_tol=1e-6, abs_tol=1e-6) for each in rates), (found, rates)


@cases(6)
@given(PERIODS, st.booleans())
async def test_every_figure_of_a_random_history_is_right(
    book: Book, periods: list[Mapping[str, Any]], is_held: bool
) -> None:
    made = await add_domain(book.owner, f"h{ids.new().hex}.com")
    recorded = []
    for at, each in enumerate(periods):
        is_sold = at < len(periods) - 1 or not is_held
        body, lines = period_of(each, FRIDAY + timedelta(days=200 * at), is_sold=is_sold)
        await made.change(**body)
        recorded.append((lines, is_sold))
    found = await made.get(as_of=AS_OF.isoformat())
    for (lines, is_sold), figures in zip(recorded, [*found["earlier_periods"], found], strict=True):
        wanted = expected(lines, is_sold=is_sold)
        assert shown(figures, list(wanted)) == wanted
        check_returns(lines, figures["xirr"])
