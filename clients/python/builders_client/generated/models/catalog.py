# Written by script/clients.

from pydantic import AwareDatetime

from builders_client.values import Amount, Model

from .shared import UnknownField


class AssetReply(Model):
    """An image."""

    filename: str
    """Name of the image for `GET /v1/catalog/assets/{filename}`; a hash of its content."""
    width: int
    """Width in pixels."""
    height: int
    """Height in pixels."""
    alt: str
    """Alternative text of the image."""
    url: str
    """URL of the image, relative to the service."""


class AssetsReply(Model):
    """The images of a domain."""

    logo: AssetReply | None
    """Logo of the domain; null without one."""
    cover: AssetReply | None
    """Wide image for the page of the domain; null without one."""
    icon: AssetReply | None
    """Small square image; null without one."""


class CategoryReply(Model):
    """A category, with the number of its public domains."""

    slug: str
    """Identifier for the query parameter `category`."""
    name: str
    """Display name of the category."""
    description: str
    """A sentence about the category."""
    position: int
    """Place in the list, from 0 upwards."""
    parent: str | None
    """Slug of the parent category; null at the top."""
    domain_count: int
    """Public domains in the category."""


class FlawReply(Model):
    """The error of an event."""

    field: str
    """Path of the invalid member."""
    code: str
    """Stable name of the broken rule, as `type` in a 422."""
    message: str
    """The error as a sentence."""


class PointsReply(Model):
    """A part of a score."""

    code: str
    """Generator of the local part, or reason for other points."""
    points: int
    """Points added to the score; negative ones reduce it."""


class ReceiptReply(Model):
    """The result of one event of a batch."""

    id: str | None
    """Identifier of the event, for a repeat of the first one; null for a batch or an error."""
    accepted: bool
    """Whether the event is recorded."""
    duplicate: bool
    """Whether it is a repeat of a recorded event; it counts once."""
    error: FlawReply | None
    """The error of an event that was not accepted; null otherwise."""


class RulesReply(Model):
    """The bounds of a local part, and the separators that it ignores."""

    min: int
    """Minimum length of a local part."""
    max: int
    """Maximum length of a local part."""
    separator_policy: str
    """Separators that do not distinguish two names: `ignore_dots` (`ab` is `a.b`), `ignore_all` (`-` and `_` too), or `distinct` (none). Known values: ignore_dots, ignore_all, distinct."""


class CategoriesReply(Model):
    """All categories, in their display order."""

    items: list[CategoryReply]
    """The categories, in their display order."""


class FunnelReply(Model):
    """The result of an event, or of a batch."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    id: str | None
    """Identifier of the event, for a repeat of the first one; null for a batch or an error."""
    accepted: bool
    """Whether all events are recorded, now or before."""
    duplicate: bool
    """Whether all events are repeats, which are not counted again."""
    results: list[ReceiptReply] | None
    """Result of each event of a batch, in order; null otherwise."""


class PriceReply(Model):
    """The price of a name."""

    interval: str
    """Period that the amount pays for: a `month`, a `year`, or `once`. Known values: month, year, once."""
    tier: str
    """Price class of the domain. Known values: standard, plus, premium."""
    amount: Amount
    """Exact decimal digits, as text."""
    currency: str
    """ISO 4217 code, or the name of a stablecoin such as USDC."""


class ShortNamePriceReply(Model):
    """The price of names with at most `max_len` characters."""

    max_len: int
    """Maximum number of characters, without separators that the domain ignores."""
    amount: Amount
    """Exact decimal digits, as text."""
    currency: str
    """ISO 4217 code, or the name of a stablecoin such as USDC."""


class SuggestionReply(Model):
    """A name that is available now."""

    address: str
    """The whole address, `local_part@domain`."""
    local_part: str
    """The part of the address before the `@`."""
    domain: str
    """Domain name, as a lower-case A-label."""
    category: str | None
    """Slug of the main category of the domain; null without one."""
    price: PriceReply
    """Price of the name."""
    available: bool
    """Always true at the time of the response; only a claim reserves a name."""
    score: int
    """Sum of the points in `why`; higher is better. It is comparable only within one response."""
    why: list[PointsReply]
    """The points that sum to the score."""


class CatalogDomainReply(Model):
    """A domain of the catalog; names on it can be claimed when it is live and not catch_all."""

    id: str
    """Identifier of the catalog domain."""
    domain: str
    """Domain name, as a lower-case A-label."""
    unicode_domain: str
    """The domain in Unicode; the same for a name in ASCII."""
    title: str
    """Display name of the domain."""
    tagline: str
    """One line about the domain."""
    description: str
    """A paragraph about the domain."""
    categories: list[str]
    """Slugs, the main one first."""
    tags: list[str]
    """Keywords for search."""
    status: str
    """Names can be claimed on `live` domains only; `coming_soon` ones are announced. Known values: live, coming_soon, paused, retired."""
    mail_mode: str
    """Whether names can be mailboxes, aliases, or both. Known values: mailbox, alias, both."""
    catch_all: bool
    """Whether all mail of the domain goes to one destination; if so, names cannot be claimed."""
    price: PriceReply
    """Price of a name of usual length."""
    short_name_prices: list[ShortNamePriceReply]
    """Prices of names with few characters, in place of `price`."""
    featured: bool
    """Whether the vendor features the domain."""
    rank: int
    """Domains with a higher rank come first in lists."""
    assets: AssetsReply
    """Images of the domain."""
    created_at: AwareDatetime
    """When it was created."""
    updated_at: AwareDatetime
    """When it last changed."""
    popularity: str
    """How often visitors used it in the last 30 days, compared with other domains. Known values: low, medium, high."""
    tld: str
    """Last label of the domain, such as `example`."""
    min_local_length: int
    """Minimum length of a local part."""
    separator_policy: str
    """Separators that do not distinguish two names: `ignore_dots` (`ab` is `a.b`), `ignore_all` (`-` and `_` too), or `distinct` (none). Known values: ignore_dots, ignore_all, distinct."""
    claimable: bool
    """Whether names can be claimed now: `live`, and not `catch_all`."""


class CatalogDomainReplyPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[CatalogDomainReply]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class CheckReply(Model):
    """Whether a name can be claimed."""

    reason: str
    """The first reason in this order that applies; `ok` when available. Known values: invalid, domain_unknown, domain_not_live, catch_all, reserved, blocked, taken, quarantined, held, confusable, ok."""
    detail: str | None
    """Which rule the name breaks, with the reason `invalid`. Known values: empty, too_short, too_long, bad_char, bad_start, bad_end, double_separator, plus_tag, non_ascii."""
    message: str
    """The reason as a sentence, with what to do. Empty when available."""
    local_part: str
    """The local part as it was sent."""
    normalized_local_part: str | None
    """The local part as it would be claimed; null when it is not valid."""
    domain: str
    """The domain, as a lower-case A-label where it is one."""
    price: PriceReply | None
    """Price of the name; null when it can never be claimed."""
    alternatives: list[SuggestionReply]
    """Up to five available names; empty when this one is available."""
    available_at: AwareDatetime | None
    """When the reservation or quarantine of the name ends."""
    rules: RulesReply
    """Rules for local parts on this domain."""
    definitive: bool | None = None
    """Always true: the response comes from the registry of names."""
    checked_at: AwareDatetime
    """Time of the check."""
    available: bool
    """Whether the name can be claimed now. Only a claim reserves it."""
    address: str | None
    """The address as it would be claimed; null when it is not valid."""


class SuggestReply(Model):
    """Available names, the best first."""

    query: str
    """`q`, cut to 200 characters."""
    tokens: list[str]
    """The words of the query."""
    items: list[SuggestionReply]
    """Available names, the best first, at most `limit`."""
    catalog_version: int
    """Version of the catalog that the names come from; grows with each change."""
