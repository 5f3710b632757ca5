"""The figures of one domain, calculated from its entries, and rates of return (0.1 is 10 %). Nothing is rounded.

The groups of the ledger make every total the sum of its entries: costs of buying and holding (cost basis, carrying
cost, less refunds), income of holding, and the sale (proceeds less the seller's costs).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Context, Decimal, Overflow
from enum import StrEnum

from builders.portfolio.finance.returns import MAX_RATE, YEAR_DAYS, Xirr, XirrReason, xirr
from builders.portfolio.ledger.records import RETURNED_KINDS, START_KINDS, Entry, EntryGroup, EntryKind, roi

PROCEEDS_KINDS = frozenset({EntryKind.SALE, EntryKind.SALE_INSTALLMENT})
BASIS_KINDS = START_KINDS | {EntryKind.TRANSFER_FEE, EntryKind.TAX, EntryKind.ESCROW_FEE}
YEAR = timedelta(days=YEAR_DAYS)
DISTANT = 10 * YEAR  # an entry so far ahead is likely a mistake: a registration lasts 10 years at most
SHORT_HOLDING_DAYS = 30  # below it an annual rate is not meaningful
_precise = Context(prec=34)


class FigureWarning(StrEnum):
    """Why a figure has to be read with care."""

    SHORT_HOLDING = "short_holding"
    UNCONVERTED_ENTRIES = "unconverted_entries"
    UNCONVERTED_PRICES = "unconverted_prices"
    UNKNOWN_START = "unknown_start"
    OWN_RATES = "own_rates"
    SEVERAL_RETURNS = "several_returns"
    DISTANT_ENTRIES = "distant_entries"
    OVERDUE_INSTALLMENTS = "overdue_installments"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the figures of a domain depend on besides its entries; amounts in the currency of the figures."""

    acquired_on: date | None = None
    sold_on: date | None = None  # of the recorded sale
    estimated_value: Decimal | None = None
    commission_rate: Decimal = Decimal(0)  # of a sale; less than 1
    own_share: Decimal = Decimal(1)  # of the net proceeds of a sale


@dataclass(frozen=True, slots=True, kw_only=True)
class Income:
    """Income of holding a domain."""

    parking: Decimal
    lease: Decimal
    other: Decimal

    @property
    def total(self) -> Decimal:
        """Return the sum."""
        return self.parking + self.lease + self.other


@dataclass(frozen=True, slots=True, kw_only=True)
class SaleFigures:
    """Payments of a sale up to the day of the figures."""

    sold_on: date
    gross: Decimal  # received from the buyer
    refunded: Decimal  # of that, returned to the buyer
    costs: Decimal  # paid by the seller: commission, fees, tax, the share of the consignor

    @property
    def net(self) -> Decimal:
        """Return what remains to the seller."""
        return self.gross - self.refunded - self.costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a domain cost and earned, unrounded, in one currency."""

    cost_basis: Decimal
    carrying_cost: Decimal
    refunds: Decimal
    total_cost: Decimal  # cost basis and carrying cost less refunds
    income: Income
    sale: SaleFigures | None  # None while it is not sold
    realized_profit: Decimal | None  # None while it is not sold
    net_position: Decimal  # the sum of all signed amounts
    unrealized_profit: Decimal | None  # None when it is sold, or has no estimated value
    roi: Decimal | None
    annualized_roi: Decimal | None
    xirr: Decimal | None
    xirr_reason: XirrReason | None  # None when there is an XIRR
    holding_days: int | None
    breakeven_price: Decimal | None  # zero when the income covered all costs; None when nothing of a price is kept
    income_12m: Decimal  # of the last 12 months
    unconverted: Sequence[Entry]  # which no figure contains
    warnings: Sequence[FigureWarning]


def calculate(entries: Iterable[Entry], facts: Facts, *, as_of: date) -> Figures:
    """Return the figures on a day, from the entries up to that day that are not void."""
    known = [each for each in entries if not each.is_void and each.occurred_on <= as_of]
    counted = [each for each in known if each.base_amount is not None]
    costs = [each for each in counted if each.group is EntryGroup.COST]
    cost_basis = -_sum(each for each in costs if each.kind in BASIS_KINDS)
    refunds = _sum(each for each in costs if each.kind is EntryKind.REFUND)
    total_cost = -_sum(costs)
    income = _income(counted)
    net_position = _sum(counted)
    sale = _sale(known, facts, as_of=as_of)
    days = holding_days(known, facts, until=as_of if sale is None else sale.sold_on)
    rate = roi(net_position, total_cost=total_cost)
    yearly = annualized_roi(rate, days=days)
    returns = _returns(counted, is_paid=any(each.base_amount for each in costs if not each.kind.is_income))
    kept = (1 - facts.commission_rate) * facts.own_share  # the part of a sale price that remains to the holder
    value = None if sale is not None else facts.estimated_value
    return Figures(
        cost_basis=cost_basis,
        carrying_cost=total_cost - cost_basis + refunds,
        refunds=refunds,
        total_cost=total_cost,
        income=income,
        sale=sale,
        realized_profit=None if sale is None else net_position,
        net_position=net_position,
        unrealized_profit=None if value is None else value * kept + net_position,
        roi=rate,
        annualized_roi=yearly,
        xirr=returns.nearest(yearly),
        xirr_reason=returns.reason,
        holding_days=days,
        breakeven_price=max(total_cost - income.total, Decimal(0)) / kept if kept else None,
        income_12m=_income(each for each in counted if each.occurred_on > as_of - YEAR).total,
        unconverted=[each for each in known if each.base_amount is None],
        warnings=list(_warnings(known, days, returns)),
    )


def _returns(entries: Iterable[Entry], *, is_paid: bool) -> Xirr:
    """Return the rates of return; none of a domain that cost nothing: then no money was invested."""
    found = xirr((each.occurred_on, signed_amount(each)) for each in entries)
    return found if is_paid or not found.rates else Xirr(reason=XirrReason.NO_COST)


def signed_amount(entry: Entry) -> Decimal:
    """Return the amount in the currency of the figures: negative for a cost, zero when it is not converted."""
    amount = entry.base_amount or Decimal(0)
    return amount if entry.kind.is_income else -amount


def holding_days(entries: Sequence[Entry], facts: Facts, *, until: date) -> int | None:
    """Return the days since the domain was acquired, or since its first purchase or entry."""
    purchases = [each.occurred_on for each in entries if each.kind in START_KINDS]
    start = facts.acquired_on or min(purchases or [each.occurred_on for each in entries], default=None)
    return None if start is None or start > until else (until - start).days


def _sum(entries: Iterable[Entry]) -> Decimal:
    return sum(map(signed_amount, entries), start=Decimal(0))


def _income(entries: Iterable[Entry]) -> Income:
    held = [each for each in entries if each.group is EntryGroup.INCOME]
    parking = _sum(each for each in held if each.kind is EntryKind.PARKING_REVENUE)
    lease = _sum(each for each in held if each.kind is EntryKind.LEASE_INCOME)
    return Income(parking=parking, lease=lease, other=_sum(held) - parking - lease)


def _sale(entries: Sequence[Entry], facts: Facts, *, as_of: date) -> SaleFigures | None:
    """Return the sale up to the day; None before it. Proceeds without a recorded sale are one, too."""
    payments = [each for each in entries if each.kind in PROCEEDS_KINDS]
    sold_on = facts.sold_on or min((each.occurred_on for each in payments), default=None)
    if sold_on is None or sold_on > as_of:
        return None
    gross = _sum(payments)
    net = _sum(each for each in entries if each.group is EntryGroup.SALE)
    refunded = -_sum(each for each in entries if each.kind in RETURNED_KINDS)
    return SaleFigures(sold_on=sold_on, gross=gross, refunded=refunded, costs=gross - refunded - net)


def _warnings(entries: Sequence[Entry], days: int | None, returns: Xirr) -> Iterator[FigureWarning]:
    if days is None and entries:
        yield FigureWarning.UNKNOWN_START
    elif days is not None and days < SHORT_HOLDING_DAYS:
        yield FigureWarning.SHORT_HOLDING
    if any(each.base_amount is None for each in entries):
        yield FigureWarning.UNCONVERTED_ENTRIES
    if any(each.is_own_rate for each in entries):
        yield FigureWarning.OWN_RATES
    if len(returns.rates) > 1:
        yield FigureWarning.SEVERAL_RETURNS


def annualized_roi(rate: Decimal | None, *, days: int | None) -> Decimal | None:
    """Return the yearly rate that compounds to this return in a number of days.

    None for less than a day, for a total loss, and for a rate above MAX_RATE.
    """
    if rate is None or days is None or days < 1 or rate <= -1:
        return None
    try:
        growth = _precise.power(1 + rate, _precise.divide(Decimal(YEAR.days), Decimal(days)))
    except Overflow:
        return None
    return growth - 1 if growth - 1 <= MAX_RATE else None
