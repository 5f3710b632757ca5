"""How rows become records."""

from decimal import Decimal
from typing import Any

from builders.invoices.records import Buyer, Invoice, InvoiceStatus, Line, Seller, Stage, VoidReason
from builders.kit.values.money import Money

AMOUNTS = ("subtotal", "tax_total", "total", "credit_applied", "amount_paid")
# Of an invoice; `alias_ids` is each statement's own.
COLUMNS = """
    account_id, id, number, is_test, status, currency, tax_rate, subtotal, tax_total, total, credit_applied,
    amount_paid, seller, buyer, promotion_id, stage, payment_method, payment_reference, created_at, issued_at,
    due_at, coalesce(counted_from, due_at) AS counted_from, paid_at, voided_at, uncollectible_at,
    void_reason
"""


def invoice(
    *,
    status: str,
    stage: int,
    tax_rate: Decimal,
    seller: dict[str, Any],
    buyer: dict[str, Any] | None,
    void_reason: str | None,
    **columns: Any,
) -> Invoice:
    """An invoice of its row."""
    currency = columns["currency"]
    columns |= {name: Money(columns[name], currency).quantized() for name in AMOUNTS}
    return Invoice(
        status=InvoiceStatus(status),
        stage=Stage(stage),
        tax_rate=tax_rate.normalize() + 0,
        seller=Seller(**seller, tax_rate=tax_rate),
        buyer=None if buyer is None else Buyer(**buyer),
        void_reason=None if void_reason is None else VoidReason(void_reason),
        **columns,
    )


def line(*, currency: str, unit_amount: Decimal, amount: Decimal, tax_amount: Decimal, **columns: Any) -> Line:
    """A line of its row."""
    return Line(
        unit_amount=_fine(unit_amount, currency),
        amount=Money(amount, currency).quantized(),
        tax_amount=Money(tax_amount, currency).quantized(),
        **columns,
    )


def _fine(amount: Decimal, currency: str) -> Money:
    """The amount as it was, which may be finer than a coin."""
    whole = Money(amount, currency).quantized()
    return whole if whole.amount == amount else Money(amount.normalize(), currency)
