# Written by script/clients.
"""What callers send: profile."""

from typing import NotRequired, TypedDict


class CustomerProfileUpdate(TypedDict):
    """A merge patch of the profile (RFC 7396): absent members do not change, null clears. At least one member."""

    marketing_opt_in: NotRequired[bool | None]
    """Whether to send offers by email; null: false."""
    email: NotRequired[str]
    """New address, pending until its recipient confirms it. The present address is notified. Sending the present
    address cancels a pending change. Needs a live key.
    """
    display_name: NotRequired[str | None]
    """Name to show; null: the account's name."""
    company: NotRequired[str | None]
    """Name of the company; null when not set."""
    website: NotRequired[str | None]
    """http or https address; null when not set."""
    country: NotRequired[str | None]
    """ISO 3166-1 alpha-2 code; null when not set."""
    timezone: NotRequired[str | None]
    """Name in the IANA time zone database; null when not set."""
    locale: NotRequired[str | None]
    """Language tag (BCP 47); null when not set."""
