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

    name: str
    """Name of the project."""
    slug: str
    """Unique among the account's active projects, for URLs and manifests; by default derived from the name."""
    description: str | None
    """Text about the project; null when not set."""
    website: str | None
    """An http or https address; null when not set."""
    allowed_domains: list[str]
    """Domains allowed for its aliases, as A-labels; Unicode is accepted. Empty: any."""
    default_destination: str | None
    """Default recipient of its aliases, masked in events; null when not set."""
    webhook_ids: list[str]
    """Webhook destinations of the project."""
    alias_limit: int | None
    """Maximum number of its aliases; null: no limit."""
    metadata: dict[str, str]
    """Your own key-value pairs."""
    account_id: str
    """The account; with a test key also the real account."""
    id: str
    """Identifier of the project."""
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
    status: str
    """An archived project accepts no new aliases; existing ones work. Known values: active, archived."""
    managed_by: ProjectManagedBy | None
    """The manifest that manages it; null when there is none."""


class ProjectReplyPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[ProjectReply]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class ProjectWritten(Model):
    """A project."""

    name: str
    """Name of the project."""
    slug: str
    """Unique among the account's active projects, for URLs and manifests; by default derived from the name."""
    description: str | None
    """Text about the project; null when not set."""
    website: str | None
    """An http or https address; null when not set."""
    allowed_domains: list[str]
    """Domains allowed for its aliases, as A-labels; Unicode is accepted. Empty: any."""
    default_destination: str | None
    """Default recipient of its aliases, masked in events; null when not set."""
    webhook_ids: list[str]
    """Webhook destinations of the project."""
    alias_limit: int | None
    """Maximum number of its aliases; null: no limit."""
    metadata: dict[str, str]
    """Your own key-value pairs."""
    account_id: str
    """The account; with a test key also the real account."""
    id: str
    """Identifier of the project."""
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
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    status: str
    """An archived project accepts no new aliases; existing ones work. Known values: active, archived."""
    managed_by: ProjectManagedBy | None
    """The manifest that manages it; null when there is none."""
