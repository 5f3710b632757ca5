# Written by script/clients.

from pydantic import AwareDatetime

from builders_client.values import Model

from .shared import Mandate, UnknownField


class ScopeReply(Model):
    """A scope."""

    scope: str
    """Name of the scope, `area:access`."""
    description: str
    """The operations that the scope allows."""
    presets: list[str]
    """Role presets that include it. Known values: domainer_full, developer_full."""


class ScopeReplyListing(Model):
    """A short list that needs no pages."""

    items: list[ScopeReply]
    """All items."""


class ApiKeyCreated(Model):
    """A new API key. Store the secret at once: it is never shown again."""

    id: str
    """Identifier of the key; not the secret."""
    label: str
    """Your name for the key."""
    key_kind: str
    """`live` keys have real effects; `test` keys work on the sandbox. Known values: live, test."""
    preset: str
    """Role preset that sets the scopes: `developer_full` for builders, `domainer_full` for domain portfolios. Known values: domainer_full, developer_full."""
    prefix: str
    """The public beginning of the secret; empty for a connection, which has none."""
    last4: str
    """Last four characters of the secret, to recognize the key."""
    created_at: AwareDatetime
    """When the key was minted."""
    expires_at: AwareDatetime | None
    """When the key expires; null: never."""
    revoked_at: AwareDatetime | None
    """When the key was revoked; null while it works."""
    last_used_at: AwareDatetime | None
    """When the key was last used, to within five minutes."""
    disabled_at: AwareDatetime | None
    """When a restore disabled the key; null: it works."""
    allowed_ips: list[str] | None
    """The networks that the key works from; null: any."""
    mandate: Mandate | None
    """What the key may do and spend of what its scopes allow; null: all of it."""
    client_name: str | None
    """The client of a connection, as it calls itself; null for a key."""
    unused_scopes: list[str]
    """The scopes that it had for 90 days without using them; a person can remove them."""
    scopes: list[str]
    """Scopes of the preset, with those that they imply."""
    secret: str | None = None
    """The key itself; absent when an Idempotency-Key repeats the response."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""


class ApiKeyItem(Model):
    """An API key in a list, or a connection: a key without a secret, which a client presents by OAuth."""

    id: str
    """Identifier of the key; not the secret."""
    label: str
    """Your name for the key."""
    key_kind: str
    """`live` keys have real effects; `test` keys work on the sandbox. Known values: live, test."""
    preset: str | None
    """Role preset that sets the scopes: `developer_full` for builders, `domainer_full` for domain portfolios. Null for a connection, whose mandate sets them. Known values: domainer_full, developer_full."""
    prefix: str
    """The public beginning of the secret; empty for a connection, which has none."""
    last4: str
    """Last four characters of the secret, to recognize the key."""
    created_at: AwareDatetime
    """When the key was minted."""
    expires_at: AwareDatetime | None
    """When the key expires; null: never."""
    revoked_at: AwareDatetime | None
    """When the key was revoked; null while it works."""
    last_used_at: AwareDatetime | None
    """When the key was last used, to within five minutes."""
    disabled_at: AwareDatetime | None
    """When a restore disabled the key; null: it works."""
    allowed_ips: list[str] | None
    """The networks that the key works from; null: any."""
    mandate: Mandate | None
    """What the key may do and spend of what its scopes allow; null: all of it."""
    client_name: str | None
    """The client of a connection, as it calls itself; null for a key."""
    unused_scopes: list[str]
    """The scopes that it had for 90 days without using them; a person can remove them."""


class ApiKeyItemPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[ApiKeyItem]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class ApiKeyReply(Model):
    """An API key."""

    id: str
    """Identifier of the key; not the secret."""
    label: str
    """Your name for the key."""
    key_kind: str
    """`live` keys have real effects; `test` keys work on the sandbox. Known values: live, test."""
    preset: str | None
    """Role preset that sets the scopes: `developer_full` for builders, `domainer_full` for domain portfolios. Null for a connection, whose mandate sets them. Known values: domainer_full, developer_full."""
    prefix: str
    """The public beginning of the secret; empty for a connection, which has none."""
    last4: str
    """Last four characters of the secret, to recognize the key."""
    created_at: AwareDatetime
    """When the key was minted."""
    expires_at: AwareDatetime | None
    """When the key expires; null: never."""
    revoked_at: AwareDatetime | None
    """When the key was revoked; null while it works."""
    last_used_at: AwareDatetime | None
    """When the key was last used, to within five minutes."""
    disabled_at: AwareDatetime | None
    """When a restore disabled the key; null: it works."""
    allowed_ips: list[str] | None
    """The networks that the key works from; null: any."""
    mandate: Mandate | None
    """What the key may do and spend of what its scopes allow; null: all of it."""
    client_name: str | None
    """The client of a connection, as it calls itself; null for a key."""
    unused_scopes: list[str]
    """The scopes that it had for 90 days without using them; a person can remove them."""
    scopes: list[str]
    """Scopes of the preset, with those that they imply."""


class ApiKeyReplyListing(Model):
    """A short list that needs no pages."""

    items: list[ApiKeyReply]
    """All items."""
