# Written by script/clients.
"""What callers send: invoices."""

from collections.abc import Sequence
from typing import NotRequired, TypedDict


class BillingDetailsUpdate(TypedDict):
    """The buyer on future invoices. Replaces the present billing details."""

    name: str
    """Name of the person or company that buys."""
    address: NotRequired[Sequence[str]]
    """Lines of the postal address; empty without one."""
    country: NotRequired[str | None]
    """ISO 3166-1 alpha-2 code; null when not set."""
    tax_id: NotRequired[str | None]
    """Tax number; null when not set."""
