# Written by script/clients.
"""What callers send: api_keys."""

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

from builders_client.generated.bodies.shared import MandateCreate
from builders_client.values import TimeLike


class ApiKeyCreate(TypedDict):
    """An API key to create. The preset sets its scopes. Unknown members are refused."""

    allowed_ips: NotRequired[Sequence[str] | None]
    """The networks that the key works from, IPv4 or IPv6, in CIDR notation; null: any."""
    mandate: NotRequired[MandateCreate | None]
    """What the key may do and spend of what its scopes allow; null: all of it."""
    label: str
    """Your name for the key."""
    key_kind: Literal["live", "test"]
    """`live` keys have real effects; `test` keys work on the sandbox."""
    preset: Literal["domainer_full", "developer_full"]
    """Role preset that sets the scopes: `developer_full` for builders, `domainer_full` for domain portfolios."""
    expires_at: NotRequired[TimeLike | None]
    """When the key expires; null: never."""


class ApiKeyRotate(TypedDict):
    """The overlap of a rotation, in which the old key still works. Unknown members are refused."""

    overlap_hours: NotRequired[int]
    """Hours for which the old key still works, 0 to 168; 24 by default."""


class ScopesRemove(TypedDict):
    """Scopes to take away. Unknown members are refused."""

    scopes: Sequence[str]
    """Scopes that the key or connection has."""
