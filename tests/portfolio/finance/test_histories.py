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
from tests.cast import Person
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


def rate(currency: str, on: date, base: str = "USD") -> Decimal:
    """Return the units of another currency for one, of the last day with rates: of the bank, or else own ones."""
    return (per_euro(base, on) / per_euro(currency, on)).quantize(Decimal("1e-12"))


def per_euro(currency: str, on: date) -> Decimal:
    day = RATES[max(each for each in RATES if each <= on)]
    if currency not in OWN_RATES:
        return Decimal(day.get(currency, "1"))
    _, own, quote_currency = max(each for each in OWN_RATES[currency] if each[0] <= on)
    return Decimal(day.get(quote_currency, "1")) / Decimal(own)


# By currency: the day from which a rate counts, and the units of another currency for one.
OWN_RATES = {
    "AED": [(date(2020, 1, 1), "0.2723", "USD"), (date(2024, 9, 1), "0.2517", "EUR")],
    "USDC": [(date(2020, 1, 1), "0.9993", "USD"), (date(2024, 5, 1), "0.7871", "GBP")],
}


AMOUNTS = st.integers(1, 500_000).map(lambda cents: Decimal(cents) / 100)
CURRENCIES = st.sampled_from(["USD", "EUR", "GBP", *OWN_RATES])
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
        "fees": st.lists(st.tuples(AMOUNTS, CURRENCIES, st.integers(0, 60)), max_size=2),
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


def share_of_consignor(
    sale: Mapping[str, Any], commission: Decimal, fees: Sequence[Line], consigned: Decimal
) -> Decimal:
    """Return the consignor's part of the price, after commission and fees at the rates of their days."""
    currency = sale["currency"]
    paid = (
        (each.paid * (rate(each.currency, each.on, currency) if each.currency != currency else 1)) for each in fees
    )
    costs = sum((each.quantize(CENT, ROUND_HALF_EVEN) for each in paid), commission)
    left: Decimal = max(sale["gross"] - costs, Decimal(0))
    return (left * consigned).quantize(CENT, ROUND_HALF_EVEN)


def installments_of(sale: Mapping[str, Any], sold_on: date) -> Sequence[tuple[date, Decimal, date | None]]:
    """Return the day, the amount and the day of receipt of each instalment, by day."""
    later = [
        (
            sold_on + timedelta(days=days),
            (sale["gross"] * percent / 100).quantize(CENT),
            None if late is None else sold_on + timedelta(days=days + late),
        )
        for percent, days, late in sale["parts"]
    ]
    return sorted(later, key=lambda each: each[0])


def sale_of(
    sale: Mapping[str, Any], sold_on: date, consigned: Decimal
) -> tuple[dict[str, Any], Sequence[Line], Sequence[Any]]:
    """Return a sale as it is sent, its amounts, and the entries of what the buyer got back."""
    lines, returned = list[Line](), list[Any]()
    gross, currency = sale["gross"], sale["currency"]
    later = installments_of(sale, sold_on)
    rest = gross - sum((paid for _, paid, _ in later), Decimal(0))
    payments = [(sold_on, rest), *((received, paid) for _, paid, received in later)]
    lines += (Line("proceeds", on, paid, currency) for on, paid in payments if on is not None)
    commission = (gross * Decimal(sale["commission_rate"] or 0)).quantize(CENT, ROUND_HALF_EVEN)
    fees = [
        Line("fee", sold_on + timedelta(days=days), paid, in_currency) for paid, in_currency, days in sale["fees"]
    ]
    for divided in (commission, share_of_consignor(sale, commission, fees, consigned)):
        parts = share(divided, [paid for _, paid in payments])
        given_on = zip((on for on, _ in payments), parts, strict=True)
        lines += (Line("fee", on, paid, currency) for on, paid in given_on if on is not None)
    lines += fees
    for kind, days, amount in sale["returned"]:
        on = sold_on + timedelta(days=days)
        returned.append({"kind": kind, "occurred_on": on.isoformat(), **written(amount, currency)})
        lines.append(Line("returned", on, amount, currency))
    sent = {
        "gross": written(gross, currency),
        "sold_on": sold_on.isoformat(),
        "commission_rate": sale["commission_rate"],
        "fees": [{**written(each.paid, each.currency), "on": each.on.isoformat()} for each in fees],
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


def period_of(
    found: Mapping[str, Any], start: date, *, is_sold: bool, consigned: Decimal
) -> tuple[dict[str, Any], Sequence[Line]]:
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
    sent, of_sale, returned = sale_of(found["sale"], sold_on, consigned)
    return {"acquisition": bought, "entries_add": [*added, *returned], "sale": sent}, [*lines, *of_sale]


def expected(lines: Sequence[Line], *, is_sold: bool, consigned: Decimal) -> dict[str, str | None]:
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
        **(
            {}
            if is_sold
            else {"breakeven_price": f"{max(cost - sums['income'], Decimal(0)) / (1 - consigned):.2f}"}
        ),
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


async def set_own_rates(owner: Person) -> None:
    rates = [
        {"currency": currency, "since": since.isoformat(), "rate": own, "quote_currency": quote_currency}
        for currency, listed in OWN_RATES.items()
        for since, own, quote_currency in listed
    ]
    answer = await owner.put("/v1/portfolio/exchange-rates", json={"rates": rates})
    assert answer.status_code == 200, answer.text


@cases(6)
@given(PERIODS, st.booleans(), st.sampled_from(["0", "30", "66.67"]))
async def test_every_figure_of_a_random_history_is_right(
    book: Book, periods: list[Mapping[str, Any]], is_held: bool, revenue_share: str
) -> None:
    await set_own_rates(book.owner)
    consigned = Decimal(revenue_share) / 100
    terms = {"ownership": "consigned", "counterparty": "Carol", "revenue_share": revenue_share}
    made = await add_domain(book.owner, f"h{ids.new().hex}.com", **(terms if consigned else {}))
    recorded = []
    for at, each in enumerate(periods):
        is_sold = at < len(periods) - 1 or not is_held
        body, lines = period_of(each, FRIDAY + timedelta(days=200 * at), is_sold=is_sold, consigned=consigned)
        await made.change(**body)
        recorded.append((lines, is_sold))
    found = await made.get(as_of=AS_OF.isoformat())
    for (lines, is_sold), figures in zip(recorded, [*found["earlier_periods"], found], strict=True):
        wanted = expected(lines, is_sold=is_sold, consigned=consigned)
        assert shown(figures, list(wanted)) == wanted
        check_returns(lines, figures["xirr"])
