"""Requests and replies of projects."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, StringConstraints

from builders.kit.http.bodies import ABSENT, NOT_NULL, Body, PatchBody, Reply, WriteReply
from builders.kit.http.callers import Caller
from builders.kit.http.fields import CreatedAt, Livemode, ManifestKey, ManifestName, UpdatedAt
from builders.kit.values import ids, texts
from builders.kit.values.texts import checked
from builders.projects import fields, records
from builders.projects.records import Project, ProjectPatch, ProjectSpec, ProjectStatus

T = TypeVar("T")


def _integer(value: object) -> object:
    """Return 3.0 as 3: JSON does not distinguish them (JSON Schema 2020-12, core, 4.2.3)."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _distinct(values: Iterable[T] | None) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values or ()))


Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=records.MAX_NAME),
    checked(texts.plain, "text_form"),
]
Slug = Annotated[str, Field(pattern=records.SLUG)]
Description = Annotated[
    str,
    StringConstraints(min_length=1, max_length=records.MAX_DESCRIPTION),
    checked(fields.parse_description, "text_form"),
]
Website = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=texts.MAX_URL),
    checked(texts.web_address, "web_address"),
    Field(description="An http or https address."),
]
Domain = Annotated[
    str, StringConstraints(min_length=1, max_length=253), checked(fields.parse_domain, "domain_name")
]
Domains = Annotated[
    list[Domain],
    Field(
        max_length=records.MAX_DOMAINS,
        description="Domains allowed for its aliases, in Unicode or as A-labels. Empty: any.",
    ),
]
Mailbox = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=254),
    checked(texts.canonical_email, "email"),
    Field(description="Default recipient of its aliases."),
]
WebhookIds = Annotated[
    list[UUID],
    Field(max_length=records.MAX_WEBHOOKS, description="Webhook destinations of the project."),
]
AliasLimit = Annotated[
    StrictInt,
    Field(ge=1, le=records.MAX_ALIAS_LIMIT, description="Maximum number of its aliases; null: no limit."),
    BeforeValidator(_integer),
]
Key = Annotated[str, StringConstraints(min_length=1, max_length=records.MAX_METADATA_KEY)]
Value = Annotated[str, StringConstraints(max_length=records.MAX_METADATA_VALUE)]


class ProjectCreate(Body):
    """A project to create. Only its name is required."""

    name: Annotated[Name, Field(description="Name of the project.")]
    slug: Annotated[
        Slug | None,
        Field(description="Unique among the account's active projects; by default derived from the name."),
    ] = None
    description: Annotated[Description | None, Field(description="Text about the project; null when not set.")] = (
        None
    )
    website: Annotated[Website | None, Field(description="An http or https address; null when not set.")] = None
    allowed_domains: Annotated[
        Domains | None,
        Field(description="Domains allowed for its aliases, in Unicode or as A-labels. Empty: any."),
    ] = None
    default_destination: Annotated[Mailbox | None, Field(description="Default recipient of its aliases.")] = None
    webhook_ids: Annotated[WebhookIds | None, Field(description="Webhook destinations of the project.")] = None
    alias_limit: Annotated[
        AliasLimit | None, Field(description="Maximum number of its aliases; null: no limit.")
    ] = None
    metadata: Annotated[
        Annotated[dict[Key, Value], Field(max_length=records.MAX_METADATA)] | None,
        Field(description="Your own key-value pairs."),
    ] = None

    def spec(self) -> ProjectSpec:
        """Return the request as a record."""
        return ProjectSpec(
            id=ids.new(),
            name=self.name,
            slug=self.slug,
            description=self.description,
            website=self.website,
            allowed_domains=_distinct(self.allowed_domains),
            default_destination=self.default_destination,
            webhook_ids=_distinct(self.webhook_ids),
            alias_limit=self.alias_limit,
            metadata=self.metadata or {},
        )


class ProjectUpdate(PatchBody):
    """A merge patch of a project (RFC 7396): absent members keep their value, null clears. At least one member."""

    conditions = frozenset({"version"})

    name: Annotated[Name, NOT_NULL, Field(description="Name of the project; cannot be null.")] = ABSENT
    slug: Annotated[Slug, NOT_NULL, Field(description="Unique among the account's active projects.")] = ABSENT
    description: Annotated[Description | None, Field(description="Text about the project; null removes it.")] = (
        None
    )
    website: Annotated[Website | None, Field(description="An http or https address; null removes it.")] = None
    allowed_domains: Annotated[
        Domains | None,
        Field(description="Domains allowed for its aliases; replaces the list. Null or empty: any."),
    ] = None
    default_destination: Annotated[
        Mailbox | None, Field(description="Default recipient of its aliases; null removes it.")
    ] = None
    webhook_ids: Annotated[
        WebhookIds | None,
        Field(description="Webhook destinations of the project; replaces the list."),
    ] = None
    alias_limit: Annotated[
        AliasLimit | None, Field(description="Maximum number of its aliases; null: no limit.")
    ] = None
    metadata: Annotated[
        dict[Key, Value | None] | None,
        Field(max_length=2 * records.MAX_METADATA, description="Pairs to set; a pair with null is removed."),
    ] = None
    archived: Annotated[
        StrictBool, NOT_NULL, Field(description="False restores an archived project, true archives it.")
    ] = ABSENT
    version: Annotated[
        StrictInt,
        NOT_NULL,
        Field(
            ge=1,
            description="The version that the patch applies to, like If-Match; it does not count as a change.",
        ),
        BeforeValidator(_integer),
    ] = ABSENT

    def patch(self) -> ProjectPatch:
        """Return the request as a record."""
        return ProjectPatch(
            name=self.patch_of("name", self.name),
            slug=self.patch_of("slug", self.slug),
            description=self.patch_of("description", self.description),
            website=self.patch_of("website", self.website),
            allowed_domains=self.patch_of("allowed_domains", _distinct(self.allowed_domains)),
            default_destination=self.patch_of("default_destination", self.default_destination),
            webhook_ids=self.patch_of("webhook_ids", _distinct(self.webhook_ids)),
            alias_limit=self.patch_of("alias_limit", self.alias_limit),
            metadata=self.patch_of("metadata", self.metadata),
            archived=self.patch_of("archived", self.archived),
        )


# What a support session with write access can send: neither the default destination nor the webhooks.
SUPPORT_FIELDS = (
    *("name", "slug", "description", "website", "allowed_domains"),
    *("alias_limit", "metadata", "archived", "version"),
)


class ProjectManagedBy(Reply):
    """The manifest that manages a resource, and the resource's key in it."""

    manifest: ManifestName
    key: ManifestKey


class ProjectReply(Reply):
    """A project."""

    id: Annotated[UUID, Field(description="Identifier of the project.")]
    account_id: Annotated[UUID, Field(description="The account; with a test key also the real account.")]
    name: Annotated[str, Field(description="Name of the project.")]
    slug: Annotated[
        str, Field(description="Short name for URLs and manifests, unique among the account's active projects.")
    ]
    description: Annotated[str | None, Field(description="Text about the project; null when not set.")]
    website: Annotated[str | None, Field(description="http or https address; null when not set.")]
    allowed_domains: Annotated[
        list[str], Field(description="Domains allowed for its aliases, as A-labels; empty: any.")
    ]
    default_destination: Annotated[
        str | None, Field(description="Default recipient of its aliases; null when not set.")
    ]
    webhook_ids: Annotated[list[UUID], Field(description="Webhook destinations of the project.")]
    alias_limit: Annotated[int | None, Field(description="Maximum number of its aliases; null: no limit.")]
    metadata: Annotated[dict[str, str], Field(description="Your own key-value pairs.")]
    managed_by: Annotated[
        ProjectManagedBy | None, Field(description="The manifest that manages it; null when there is none.")
    ]
    status: Annotated[
        ProjectStatus,
        Field(description="An archived project accepts no new aliases; existing ones work."),
    ]
    livemode: Livemode
    version: Annotated[int, Field(description="Increases with each change; part of the ETag.")]
    created_at: CreatedAt
    updated_at: UpdatedAt
    archived_at: Annotated[datetime | None, Field(description="When it was archived; null while active.")]


class ProjectWritten(ProjectReply, WriteReply):
    """A project after a change."""


def project_reply(project: Project, caller: Caller) -> ProjectReply:
    """Return the reply to a read."""
    return ProjectReply.from_record(project, **_computed(project, caller))


def written_reply(project: Project, caller: Caller) -> ProjectWritten:
    """Return the reply to a change."""
    return ProjectWritten.from_record(project, **_computed(project, caller))


def _computed(project: Project, caller: Caller) -> dict[str, Any]:
    managed = None
    if project.manifest is not None:
        managed = {"manifest": project.manifest, "key": project.manifest_key}
    # Clients see one account id with live and test keys.
    public = {"account_id": caller.live_account_id, "livemode": caller.is_live}
    return {**public, "managed_by": managed}
