"""Rows of tables with charges as lines of bills."""

from datetime import timedelta
from decimal import Decimal

from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.billing.columns import ChargeRow
from builders.portfolio.billing.lines import AMOUNT_LIMIT
from builders.portfolio.billing.names import join_name
from builders.portfolio.registrars import adapter
from builders.portfolio.registrars.records import BilledLine, ChargeKind

_AHEAD = timedelta(days=1)  # of UTC: where it is tomorrow


def read_line(row: ChargeRow) -> BilledLine | None:
    """Return the line of a row; None for a sum, and for a row with errors, which it gets here too."""
    if row.is_total:
        return None
    if row.date is not None and row.date > clock.now().date() + _AHEAD:
        row.refuse("date_in_future", f"{row.date} is in the future.", ChargeRow.date)
    total = None if row.errors else _total(row)
    if total is None or row.date is None:
        return None
    kind = adapter.classify(row.kind or "")
    kind = adapter.classify(row.description or "") if kind is ChargeKind.OTHER else kind
    if kind is ChargeKind.REFUND and total.amount > 0:
        total = -total
    name = join_name(row.domain, row.tld or "") if row.domain else ""
    return BilledLine(
        order_id=row.order or "",
        line_id=row.line or "",
        parent_order_id=row.parent_order,
        charged_on=row.date,
        description=row.description or " ".join(each for each in (row.kind, name) if each),
        domains=(name,) if name else (),
        kind=ChargeKind.REFUND if total.amount < 0 else kind,
        total=total.amount,
        tax=Decimal(0) if row.tax is None else row.tax.amount,
        fees=Decimal(0) if row.fees is None else row.fees.amount,
        currency=total.currency,
        years=row.years,
    )


def _total(row: ChargeRow) -> Money | None:
    """Return the total with tax and fees; None if the row is refused."""
    whole = row.net if row.amount is None else row.amount
    added = [each for each in (row.tax, row.fees) if each is not None]
    if whole is None:
        row.refuse("amount_missing", "The row has no amount. Write 0 for none.", ChargeRow.amount)
    elif any(each.currency != whole.currency for each in added):
        row.refuse("currency_conflict", "The amounts of the row have several currencies.", ChargeRow.tax)
    else:
        total = whole if row.amount is not None else sum(added, whole)
        if abs(total.amount) < AMOUNT_LIMIT:
            return total
        column = ChargeRow.net if row.amount is None else ChargeRow.amount
        row.refuse("amount_invalid", f"The amount of the row is not below {AMOUNT_LIMIT:,}.", column)
    return None
