# Written by script/clients.
"""What callers send: domains."""

from typing import NotRequired, TypedDict


class DomainCreate(TypedDict):
    """A domain to add to the account. Unknown members that resemble known ones are refused."""

    domain: str
    """Domain in Unicode or as an A-label."""
    catch_all: NotRequired[bool]
    """Whether all mail goes to `default_destination`; if so, names cannot be claimed."""
    default_destination: NotRequired[str | None]
    """Default recipient of mail to names without destinations, required with catch_all; null without one."""


class DomainUpdate(TypedDict):
    """A merge patch of a domain (RFC 7396): an absent member keeps its value, null clears. At least one member.
    Unknown members that resemble known ones are refused.
    """

    catch_all: NotRequired[bool | None]
    """All mail goes to the destination; null is false."""
    default_destination: NotRequired[str | None]
    """Default recipient of mail to names without destinations, required with catch_all; null without one."""
