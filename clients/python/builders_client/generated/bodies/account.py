# Written by script/clients.
"""What callers send: account."""

from collections.abc import Sequence
from typing import TypedDict

from builders_client.values import MoneyLike


class MachinesUpdate(TypedDict):
    """What all machines with a mandate may cost together. Unknown members are refused."""

    max_total_per_30_days: Sequence[MoneyLike] | None
    """An amount of each currency; one without an amount is zero. Null: no limit."""
