"""Examples of what goes over the wire at the invoices."""

from typing import Any

AT, DUE = "2026-11-20T06:20:00Z", "2026-12-04T06:20:00Z"
ID, ALIAS = "0193a1b2-0000-7000-8000-000000000009", "0193a1b2-0000-7000-8000-000000000002"
ADDRESS = ["1 Harbour Row", "Port Town"]


def usd(amount: str) -> dict[str, str]:
    """So many dollars, as JSON."""
    return {"amount": amount, "currency": "USD"}


ITEM: dict[str, Any] = {
    "id": ID,
    "number": "INV-2026-000123",
    "status": "open",
    "overdue": False,
    "currency": "USD",
    "subtotal": usd("24.00"),
    "tax_rate": "20",
    "tax_total": usd("4.80"),
    "total": usd("28.80"),
    "credit_applied": usd("0.00"),
    "amount_paid": usd("0.00"),
    "amount_due": usd("28.80"),
    "issued_at": AT,
    "due_at": DUE,
    "paid_at": None,
    "voided_at": None,
    "uncollectible_at": None,
    "payment": None,
    "promotion_id": None,
    "livemode": True,
}
WHOLE: dict[str, Any] = {
    **ITEM,
    "seller": {
        "name": "Harbour Names Ltd",
        "address": ["1 Quay Street", "Port Town"],
        "tax_id": "GB123456789",
        "bank": "Bank of Quay, GB00 QUAY 0000 0000",
    },
    "buyer": {
        "name": "Analytical Engines",
        "address": ADDRESS,
        "country": "GB",
        "tax_id": None,
        "email": "ada@example.net",
    },
    "lines": [
        {
            "id": "0193a1b2-0000-7000-8000-00000000000a",
            "description": "ada@harbour.example, 1 year",
            "alias_id": ALIAS,
            "quantity": 1,
            "unit_amount": usd("24.00"),
            "amount": usd("24.00"),
            "tax_amount": usd("4.80"),
            "period": {"start": AT, "end": "2027-11-20T06:20:00Z"},
        }
    ],
}
