"""What an invoice comes to: pure arithmetic in exact decimals.

Each line is rounded by itself to the currency's smallest coin, half-even (kit/money): its amount, then its tax.
The totals are sums of what stands on the lines, so that whoever adds them up gets the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal

from builders.invoices.records import Line, NewLine
from builders.kit.values import ids
from builders.kit.values.money import Money

MOST_QUANTITY = 2**31 - 1  # these three as the columns are
FINEST = Decimal("0.0001")  # step of a price
TOO_MUCH = Decimal(10) ** 16
_PERCENT = Decimal("0.01")
_EXACT = Context(prec=200, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The lines with their amounts, and what they sum up to."""

    lines: Sequence[Line]
    subtotal: Money
    tax_total: Money

    @property
    def total(self) -> Money:
        """With tax."""
        return self.subtotal + self.tax_total


def tax_of(amount: Money, *, rate: Decimal) -> Money:
    """The tax on an amount, at so many percent."""
    exact = _EXACT.multiply(_EXACT.multiply(amount.amount, rate), _PERCENT)
    return Money(exact, amount.currency).quantized()


def sum_up(lines: Sequence[NewLine], *, currency: str, rate: Decimal) -> Totals:
    """The lines priced.

    Raises ValueError for another currency, a negative price, no quantity, and what a row would not hold as it is.
    """
    if any(not 1 <= line.quantity <= MOST_QUANTITY or line.unit_amount.amount < 0 for line in lines):
        raise ValueError("A line charges something, or nothing; it gives nothing back.")
    if any(_EXACT.remainder(line.unit_amount.amount, FINEST) for line in lines):
        raise ValueError(f"A price in steps finer than {FINEST} is none.")
    zero = Money.zero(currency)
    priced = [_priced(line, zero, rate) for line in lines]
    totals = Totals(
        lines=priced,
        subtotal=sum((line.amount for line in priced), zero),
        tax_total=sum((line.tax_amount for line in priced), zero),
    )
    if totals.total.amount >= TOO_MUCH:
        raise ValueError("No invoice is over that much.")
    return totals


def _priced(line: NewLine, zero: Money, rate: Decimal) -> Line:
    amount = (zero + line.unit_amount * line.quantity).quantized()
    return Line(
        id=ids.new(),
        description=line.description,
        alias_id=line.alias_id,
        quantity=line.quantity,
        unit_amount=line.unit_amount,
        amount=amount,
        tax_amount=tax_of(amount, rate=rate),
        period_start=line.period_start,
        period_end=line.period_end,
    )
