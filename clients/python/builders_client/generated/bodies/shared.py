# Written by script/clients.
"""What callers send: shared."""

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

from builders_client.values import MoneyLike


class MandateCreate(TypedDict):
    """What a key may do and spend. Unknown members are refused: a misspelled limit would be none. Unknown members
    are refused.
    """

    toolsets: Sequence[Literal["names", "plans", "mail", "money", "portfolio", "api"]]
    """What it may use; see the scopes."""
    read_only: NotRequired[bool]
    """Whether it only reads, plans, simulates and previews."""
    projects: NotRequired[Sequence[str] | None]
    """The only projects that it changes, with their names; null: anything."""
    max_total_per_plan: NotRequired[Sequence[MoneyLike]]
    """What a plan may cost, an amount of each currency; a currency without one is zero."""
    max_total_per_30_days: NotRequired[Sequence[MoneyLike]]
    """What all plans of 30 days may cost, with the renewals of their names."""
    deletes_per_plan: NotRequired[int]
    """How much a plan or a request may delete or replace."""
    deletes_per_30_days: NotRequired[int]
    """How much it may delete or replace in 30 days."""
    outward: NotRequired[bool]
    """Whether it may send mail, events or auth codes to somebody who did not get them before."""
    portfolio_account: NotRequired[str | None]
    """The account whose portfolio it uses, of which you are a member; null: your own."""


class TokenForm(TypedDict):
    """The token of a link, as a page sends it."""

    token: str
    """The token of the link."""
