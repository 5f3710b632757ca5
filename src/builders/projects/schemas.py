"""Requests and replies of projects."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, StringConstraints

from builders.kit.callers import Caller
from builders.kit.http.bodies import (
    ABSENT,
    NOT_NULL,
    Body,
    Livemode,
    ManifestKey,
    ManifestName,
    PatchBody,
    Reply,
    WriteReply,
)
from builders.kit.values import ids, texts
from builders.kit.values.docs import CreatedAt, UpdatedAt, doc
from builders.kit.values.patches import UNSET
from builders.kit.values.texts import checked
from builders.projects.fields import (
    MAX_METADATA,
    AliasLimit,
    Description,
    Domains,
    Metadata,
    MetadataKey,
    MetadataValue,
    Name,
    Slug,
    WebhookIds,
    Website,
    parse_integral,
)
from builders.projects.records import FIELDS, Project, ProjectSpec, ProjectStatus

T = TypeVar("T")
R = TypeVar("R", bound="ProjectReply")
LISTS = ("allowed_domains", "webhook_ids")  # without repetitions
Mailbox = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=254),
    checked(texts.canonical_email, "email"),
]


def _distinct(values: Iterable[T] | None) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values or ()))


class ProjectCreate(Body):
    """A project to create. Only its name is required."""

    name: Annotated[Name, doc("Name of the project.")]
    slug: Annotated[
        Slug | None, doc("Unique among the account's active projects; by default derived from the name.")
    ] = None
    description: Annotated[Description | None, doc("Text about the project; null when not set.")] = None
    website: Annotated[Website | None, doc("An http or https address; null when not set.")] = None
    allowed_domains: Annotated[
        Domains | None, doc("Domains allowed for its aliases, in Unicode or as A-labels. Empty: any.")
    ] = None
    default_destination: Annotated[Mailbox | None, doc("Default recipient of its aliases.")] = None
    webhook_ids: Annotated[WebhookIds | None, doc("Webhook destinations of the project.")] = None
    alias_limit: Annotated[AliasLimit | None, doc("Maximum number of its aliases; null: no limit.")] = None
    metadata: Annotated[Metadata | None, doc("Your own key-value pairs.")] = None

    def spec(self) -> ProjectSpec:
        """Return the request as a record."""
        values = {name: getattr(self, name) for name in FIELDS} | {"metadata": self.metadata or {}}
        return ProjectSpec(id=ids.new(), **values | {name: _distinct(values[name]) for name in LISTS})


class ProjectUpdate(PatchBody):
    """A merge patch of a project (RFC 7396): absent members keep their value, null clears. At least one member."""

    conditions = frozenset({"version"})

    name: Annotated[Name, NOT_NULL, doc("Name of the project; cannot be null.")] = ABSENT
    slug: Annotated[Slug, NOT_NULL, doc("Unique among the account's active projects.")] = ABSENT
    description: Annotated[Description | None, doc("Text about the project; null removes it.")] = None
    website: Annotated[Website | None, doc("An http or https address; null removes it.")] = None
    allowed_domains: Annotated[
        Domains | None, doc("Domains allowed for its aliases; replaces the list. Null or empty: any.")
    ] = None
    default_destination: Annotated[Mailbox | None, doc("Default recipient of its aliases; null removes it.")] = (
        None
    )
    webhook_ids: Annotated[WebhookIds | None, doc("Webhook destinations of the project; replaces the list.")] = (
        None
    )
    alias_limit: Annotated[AliasLimit | None, doc("Maximum number of its aliases; null: no limit.")] = None
    metadata: Annotated[
        dict[MetadataKey, MetadataValue | None] | None,
        Field(max_length=2 * MAX_METADATA, description="Pairs to set; a pair with null is removed."),
    ] = None
    archived: Annotated[StrictBool, NOT_NULL, doc("False restores an archived project, true archives it.")] = (
        ABSENT
    )
    version: Annotated[
        StrictInt,
        NOT_NULL,
        Field(
            ge=1,
            description="The version that the patch applies to, like If-Match; it does not count as a change.",
        ),
        BeforeValidator(parse_integral),
    ] = ABSENT

    def patch(self) -> dict[str, Any]:
        """Return the values of the fields that the body sets, by name."""
        sent = {name: value for name, value in self.patches(*FIELDS).items() if value is not UNSET}
        return sent | {name: _distinct(sent[name]) for name in LISTS if name in sent}


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

    id: Annotated[UUID, doc("Identifier of the project.")]
    account_id: Annotated[UUID, doc("The account; with a test key also the real account.")]
    name: Annotated[str, doc("Name of the project.")]
    slug: Annotated[str, doc("Short name for URLs and manifests, unique among the account's active projects.")]
    description: Annotated[str | None, doc("Text about the project; null when not set.")]
    website: Annotated[str | None, doc("http or https address; null when not set.")]
    allowed_domains: Annotated[list[str], doc("Domains allowed for its aliases, as A-labels; empty: any.")]
    default_destination: Annotated[str | None, doc("Default recipient of its aliases; null when not set.")]
    webhook_ids: Annotated[list[UUID], doc("Webhook destinations of the project.")]
    alias_limit: Annotated[int | None, doc("Maximum number of its aliases; null: no limit.")]
    metadata: Annotated[dict[str, str], doc("Your own key-value pairs.")]
    managed_by: Annotated[ProjectManagedBy | None, doc("The manifest that manages it; null when there is none.")]
    status: Annotated[ProjectStatus, doc("An archived project accepts no new aliases; existing ones work.")]
    livemode: Livemode
    version: Annotated[int, doc("Increases with each change; part of the ETag.")]
    created_at: CreatedAt
    updated_at: UpdatedAt
    archived_at: Annotated[datetime | None, doc("When it was archived; null while active.")]


class ProjectWritten(ProjectReply, WriteReply):
    """A project after a change."""


def project_reply(project: Project, caller: Caller, reply: type[R]) -> R:
    """Return the reply to a read or to a change; clients see one account id with live and test keys."""
    managed = None
    if project.manifest is not None:
        managed = {"manifest": project.manifest, "key": project.manifest_key}
    return reply.from_record(
        project, account_id=caller.live_account_id, livemode=caller.is_live, managed_by=managed
    )
