# Written by script/clients.
"""What callers send: profile."""

from typing import NotRequired, TypedDict


class CustomerProfileUpdate(TypedDict):
    """A merge patch of the profile (RFC 7396): absent members do not change, null clears. At least one member."""

    display_name: NotRequired[str | None]
    """Name to show; null: the account's name."""
    company: NotRequired[str | None]
    """Name of the company; null removes it."""
    website: NotRequired[str | None]
    """http or https address."""
    country: NotRequired[str | None]
    """ISO 3166-1 alpha-2."""
    timezone: NotRequired[str | None]
    """Name in the IANA time zone database."""
    locale: NotRequired[str | None]
    """Language tag (BCP 47)."""
    marketing_opt_in: NotRequired[bool | None]
    """Whether to send offers by email; null: false."""
    email: NotRequired[str]
    """New address, pending until its recipient confirms it. The present address is notified. Sending the present
    address cancels a pending change. Needs a live key.
    """
