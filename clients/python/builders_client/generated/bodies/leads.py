# Written by script/clients.
"""What callers send: leads."""

from collections.abc import Mapping
from typing import Literal, NotRequired, TypedDict


class LeadConsent(TypedDict):
    """Consent of the visitor, and its wording."""

    marketing: NotRequired[bool | None]
    """Whether the visitor agreed to marketing email."""
    text_version: NotRequired[str | None]
    """Your identifier of the displayed wording."""


class LeadUtm(TypedDict):
    """Campaign parameters (UTM) of the page's address."""

    source: NotRequired[str | None]
    """`utm_source` of the page: the site or newsletter that sent the visitor."""
    medium: NotRequired[str | None]
    """`utm_medium`: the kind of channel, such as `email` or `cpc`."""
    campaign: NotRequired[str | None]
    """`utm_campaign`: the campaign."""
    term: NotRequired[str | None]
    """`utm_term`: the paid search term."""
    content: NotRequired[str | None]
    """`utm_content`: the link or advertisement."""


class BuildersWaitlistRequest(TypedDict):
    """The form of a builder for the waitlist."""

    email: str
    """Stored in lower case, with the domain as A-labels."""
    name: NotRequired[str | None]
    """Name of the visitor."""
    consent: NotRequired[LeadConsent | None]
    """Consent of the visitor; absent: no consent beyond a reply."""
    utm: NotRequired[LeadUtm | None]
    """Campaign parameters of the visit."""
    website: NotRequired[str | None]
    """A honeypot: hide it from people. When it is filled in, nothing is stored."""
    company: NotRequired[str | None]
    """Company of the visitor."""
    role: NotRequired[str | None]
    """Role of the visitor in the company."""
    use_case: NotRequired[str | None]
    """Use of the names, 2,000 characters at most."""
    url: NotRequired[str | None]
    """An http or https address."""
    expected_volume: NotRequired[Literal["lt100", "100_1k", "1k_10k", "gt10k", ""] | None]
    """Expected number of names."""
    referral_code: NotRequired[str | None]
    """Code of the referring customer."""


class CreateLeadRequest(TypedDict):
    """The form of a visitor on one of the vendor's pages."""

    email: str
    """Stored in lower case, with the domain as A-labels."""
    name: NotRequired[str | None]
    """Name of the visitor."""
    consent: NotRequired[LeadConsent | None]
    """Consent of the visitor; absent: no consent beyond a reply."""
    utm: NotRequired[LeadUtm | None]
    """Campaign parameters of the visit."""
    website: NotRequired[str | None]
    """A honeypot: hide it from people. When it is filled in, nothing is stored."""
    source: NotRequired[str | None]
    """Your name for the page: small letters, digits, and hyphens between them."""
    interest: NotRequired[Literal["mailbox", "alias", "domain", "builder", "domainer", "other", ""] | None]
    """Interest of the visitor."""
    domain: NotRequired[str | None]
    """Domain that the visitor asked about, in Unicode or as an A-label."""
    local_part: NotRequired[str | None]
    """Name that the visitor would like, before the `@`."""
    message: NotRequired[str | None]
    """Text of the visitor, 2,000 characters at most."""
    locale: NotRequired[str | None]
    """A language tag (BCP 47)."""
    referrer: NotRequired[str | None]
    """The referring page; stored without its query."""
    metadata: NotRequired[Mapping[str, str] | None]
    """Your own pairs of text."""
