# Written by script/clients.

from pydantic import AwareDatetime

from builders_client.values import Model

from .shared import UnknownField


class ProjectManagedBy(Model):
    """The manifest that manages a resource, and the resource's key in it."""

    manifest: str
    """`metadata.name` of the manifest that manages it."""
    key: str
    """`key` of the resource in that manifest."""


class ProjectReply(Model):
    """A project."""

    id: str
    """Identifier of the project."""
    account_id: str
    """The account; with a test key also the real account."""
    name: str
    """Name of the project."""
    slug: str
    """Short name for URLs and manifests, unique among the account's active projects."""
    description: str | None
    """Text about the project; null when not set."""
    website: str | None
    """http or https address; null when not set."""
    allowed_domains: list[str]
    """Domains allowed for its aliases, as A-labels; empty: any."""
    default_destination: str | None
    """Default recipient of its aliases; null when not set."""
    webhook_ids: list[str]
    """Webhook destinations of the project."""
    alias_limit: int | None
    """Maximum number of its aliases; null: no limit."""
    metadata: dict[str, str]
    """Your own key-value pairs."""
    managed_by: ProjectManagedBy | None
    """The manifest that manages it; null when there is none."""
    status: str
    """An archived project accepts no new aliases; existing ones work. Known values: active, archived."""
    livemode: bool
    """False for data of the sandbox, which a test key works on."""
    version: int
    """Increases with each change; part of the ETag."""
    created_at: AwareDatetime
    """When it was created."""
    updated_at: AwareDatetime
    """When it last changed."""
    archived_at: AwareDatetime | None
    """When it was archived; null while active."""


class ProjectReplyPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[ProjectReply]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class ProjectWritten(Model):
    """A project after a change."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    id: str
    """Identifier of the project."""
    account_id: str
    """The account; with a test key also the real account."""
    name: str
    """Name of the project."""
    slug: str
    """Short name for URLs and manifests, unique among the account's active projects."""
    description: str | None
    """Text about the project; null when not set."""
    website: str | None
    """http or https address; null when not set."""
    allowed_domains: list[str]
    """Domains allowed for its aliases, as A-labels; empty: any."""
    default_destination: str | None
    """Default recipient of its aliases; null when not set."""
    webhook_ids: list[str]
    """Webhook destinations of the project."""
    alias_limit: int | None
    """Maximum number of its aliases; null: no limit."""
    metadata: dict[str, str]
    """Your own key-value pairs."""
    managed_by: ProjectManagedBy | None
    """The manifest that manages it; null when there is none."""
    status: str
    """An archived project accepts no new aliases; existing ones work. Known values: active, archived."""
    livemode: bool
    """False for data of the sandbox, which a test key works on."""
    version: int
    """Increases with each change; part of the ETag."""
    created_at: AwareDatetime
    """When it was created."""
    updated_at: AwareDatetime
    """When it last changed."""
    archived_at: AwareDatetime | None
    """When it was archived; null while active."""
