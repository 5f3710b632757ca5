"""What the bills of the demo's registrars are for, as an adapter must read them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from builders.demo.registrars.bills import FIRST_ORDER, list_bills

_IN_PARENT = frozenset(("namecom", "namesilo"))  # a refund is a mark on the line of the order
_ROUTE53 = {"registration": "REGISTER_DOMAIN", "renewal": "RENEW_DOMAIN", "transfer": "TRANSFER_IN_DOMAIN"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueCharge:
    """A line of a bill, and its domains."""

    provider: str
    order_id: str  # this and the line as the adapter of the registrar names them
    line_id: str
    domains: Sequence[str]  # A-labels, also of domains outside the portfolio; none: for no domain
    total: Decimal
    currency: str


def list_true_charges(today: date) -> Sequence[TrueCharge]:
    """Return every line of the bills, refunds included; a line for several domains is one charge here."""
    return [charge for provider in FIRST_ORDER for charge in _list_truth(provider, today)]


def _list_truth(provider: str, today: date) -> Iterator[TrueCharge]:
    for bill in list_bills(provider, today):
        order = bill.purchase
        for number, (line, domains) in enumerate(zip(order.lines, bill.domains, strict=True), start=1):
            order_id, line_id = order.order_id, str(number - 1 if provider == "ovh" else number)
            if provider == "route53":
                line_id = f"{line.domains[0]}-{_ROUTE53[line.operation]}-{order.charged_on.isoformat()}"
            if bill.refunded_line is not None and provider in _IN_PARENT and order.parent_order_id:
                order_id, line_id = order.parent_order_id, f"{bill.refunded_line}-refund"
            yield TrueCharge(
                provider=provider,
                order_id=order_id,
                line_id=line_id,
                domains=domains,
                total=line.total,
                currency=order.currency,
            )
