# Written by script/clients.
"""What callers send: projects."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict


class ProjectCreate(TypedDict):
    """A project to create. Only its name is required."""

    name: str
    """Name of the project."""
    slug: NotRequired[str | None]
    """Unique among the account's active projects, for URLs and manifests; by default derived from the name."""
    description: NotRequired[str | None]
    """Text about the project; null when not set."""
    website: NotRequired[str | None]
    """An http or https address; null when not set."""
    allowed_domains: NotRequired[Sequence[str] | None]
    """Domains allowed for its aliases, as A-labels; Unicode is accepted. Empty: any."""
    default_destination: NotRequired[str | None]
    """Default recipient of its aliases, masked in events; null when not set."""
    webhook_ids: NotRequired[Sequence[str] | None]
    """Webhook destinations of the project."""
    alias_limit: NotRequired[int | None]
    """Maximum number of its aliases; null: no limit."""
    metadata: NotRequired[Mapping[str, str] | None]
    """Your own key-value pairs."""


class ProjectUpdate(TypedDict):
    """A merge patch of a project (RFC 7396): absent members keep their value, null clears. At least one member."""

    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a pair with null is removed."""
    archived: NotRequired[bool]
    """False restores an archived project, true archives it."""
    version: NotRequired[int]
    """The version that the patch applies to, like If-Match; it does not count as a change."""
    name: NotRequired[str]
    """Name of the project."""
    slug: NotRequired[str]
    """Unique among the account's active projects, for URLs and manifests; by default derived from the name."""
    description: NotRequired[str | None]
    """Text about the project; null when not set."""
    website: NotRequired[str | None]
    """An http or https address; null when not set."""
    allowed_domains: NotRequired[Sequence[str] | None]
    """Domains allowed for its aliases, as A-labels; Unicode is accepted. Empty: any."""
    default_destination: NotRequired[str | None]
    """Default recipient of its aliases, masked in events; null when not set."""
    webhook_ids: NotRequired[Sequence[str] | None]
    """Webhook destinations of the project."""
    alias_limit: NotRequired[int | None]
    """Maximum number of its aliases; null: no limit."""
