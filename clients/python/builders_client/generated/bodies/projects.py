# Written by script/clients.
"""What callers send: projects."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict


class ProjectCreate(TypedDict):
    """A project to create. Only its name is required."""

    name: str
    """Name of the project."""
    slug: NotRequired[str | None]
    """Unique among the account's active projects; by default derived from the name."""
    description: NotRequired[str | None]
    """Text about the project; null when not set."""
    website: NotRequired[str | None]
    """An http or https address; null when not set."""
    allowed_domains: NotRequired[Sequence[str] | None]
    """Domains allowed for its aliases, in Unicode or as A-labels. Empty: any."""
    default_destination: NotRequired[str | None]
    """Default recipient of its aliases."""
    webhook_ids: NotRequired[Sequence[str] | None]
    """Webhook destinations of the project."""
    alias_limit: NotRequired[int | None]
    """Maximum number of its aliases; null: no limit."""
    metadata: NotRequired[Mapping[str, str] | None]
    """Your own key-value pairs."""


class ProjectUpdate(TypedDict):
    """A merge patch of a project (RFC 7396): absent members keep their value, null clears. At least one member."""

    name: NotRequired[str]
    """Name of the project; cannot be null."""
    slug: NotRequired[str]
    """Unique among the account's active projects."""
    description: NotRequired[str | None]
    """Text about the project; null removes it."""
    website: NotRequired[str | None]
    """An http or https address; null removes it."""
    allowed_domains: NotRequired[Sequence[str] | None]
    """Domains allowed for its aliases; replaces the list. Null or empty: any."""
    default_destination: NotRequired[str | None]
    """Default recipient of its aliases; null removes it."""
    webhook_ids: NotRequired[Sequence[str] | None]
    """Webhook destinations of the project; replaces the list."""
    alias_limit: NotRequired[int | None]
    """Maximum number of its aliases; null: no limit."""
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a pair with null is removed."""
    archived: NotRequired[bool]
    """False restores an archived project, true archives it."""
    version: NotRequired[int]
    """The version that the patch applies to, like If-Match; it does not count as a change."""
