"""Projects on the wire."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, StringConstraints
from pydantic.config import JsonDict

from builders.kit.http.bodies import Body, Reply, WriteReply, by_example
from builders.kit.http.callers import Caller
from builders.kit.http.members import CreatedAt, Livemode, ManifestKey, ManifestName, UpdatedAt
from builders.kit.http.merge_patches import PatchBody
from builders.kit.values import emails, ids, texts
from builders.kit.values.texts import checked
from builders.projects import members, records
from builders.projects.records import Patch, Project, ProjectSpec, ProjectStatus

T = TypeVar("T")
_CREATE: JsonDict = {
    "name": "Acme mail",
    "allowed_domains": ["harbour.example"],
    "default_destination": "ops@example.net",
    "alias_limit": 500,
    "metadata": {"team": "growth"},
}
_ITEM: JsonDict = {
    "id": "0193a1b2-0000-7000-8000-000000000006",
    "account_id": "0193a1b2-0000-7000-8000-000000000005",
    "slug": "acme-mail",
    "description": None,
    "website": None,
    "webhook_ids": [],
    **_CREATE,
    "managed_by": None,
    "status": "active",
    "livemode": True,
    "version": 1,
    "created_at": "2026-01-05T09:30:00Z",
    "updated_at": "2026-01-05T09:30:00Z",
    "archived_at": None,
}


def _whole(value: object) -> object:
    """JSON has one kind of number: 3.0 is the integer 3 (JSON Schema 2020-12, core, 4.2.3)."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _distinct(values: Sequence[T]) -> list[T]:
    return list(dict.fromkeys(values))


def _no_default(schema: dict[str, Any]) -> None:
    """A member that is left out stays as it is; null is no default."""
    schema.pop("default", None)


OPTIONAL = Field(json_schema_extra=_no_default)
LEFT_OUT: Any = None  # no value of the member: null is refused
Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=records.MAX_NAME),
    checked(texts.plain, "text_form"),
]
Slug = Annotated[str, Field(pattern=records.SLUG)]
Description = Annotated[
    str,
    StringConstraints(min_length=1, max_length=records.MAX_DESCRIPTION),
    checked(members.read_description, "text_form"),
]
Website = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=texts.MAX_URL),
    checked(texts.web_address, "web_address"),
    Field(description="An http or https address."),
]
Domain = Annotated[
    str, StringConstraints(min_length=1, max_length=253), checked(members.read_domain, "domain_name")
]
Domains = Annotated[
    list[Domain],
    Field(
        max_length=records.MAX_DOMAINS,
        description="Where its names may be, in either form; kept as A-labels. Empty: on any domain.",
    ),
]
Mailbox = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=254),
    checked(emails.canonical, "email"),
    Field(description="Where its names forward to when a manifest does not say."),
]
WebhookIds = Annotated[
    list[UUID],
    Field(max_length=records.MAX_WEBHOOKS, description="Webhook destinations of the account that go with it."),
]
AliasLimit = Annotated[
    StrictInt,
    Field(ge=1, le=records.MAX_ALIASES, description="How many names it may have; null: as many as one likes."),
    BeforeValidator(_whole),
]
Key = Annotated[str, StringConstraints(min_length=1, max_length=records.MAX_METADATA_KEY)]
Value = Annotated[str, StringConstraints(max_length=records.MAX_METADATA_VALUE)]


class ProjectCreate(Body):
    """A project to be opened; all but its name can be left out."""

    model_config = ConfigDict(json_schema_extra=by_example({"name": "Acme mail"}, _CREATE))

    name: Annotated[Name, Field(description="Name of the project.")]
    slug: Annotated[
        Slug | None,
        Field(
            description="Unique among the account's active projects; of the name when absent, numbered if need be."
        ),
    ] = None
    description: Annotated[Description | None, Field(description="Text about the project; null without one.")] = (
        None
    )
    website: Annotated[Website | None, Field(description="An http or https address; null without one.")] = None
    allowed_domains: Annotated[
        Domains | None,
        Field(description="Domains on which its names may be, in Unicode or as A-labels. Empty: any."),
    ] = None
    default_destination: Annotated[
        Mailbox | None, Field(description="Recipient of its names that have none of their own.")
    ] = None
    webhook_ids: Annotated[
        WebhookIds | None, Field(description="Webhook destinations of the account that belong to it.")
    ] = None
    alias_limit: Annotated[
        AliasLimit | None, Field(description="Most names that it may have; null: no limit.")
    ] = None
    metadata: Annotated[
        Annotated[dict[Key, Value], Field(max_length=records.MAX_METADATA)] | None,
        Field(description="Your own pairs of text."),
    ] = None

    def spec(self) -> ProjectSpec:
        """The record."""
        return ProjectSpec(
            id=ids.new(),
            name=self.name,
            slug=self.slug,
            description=self.description,
            website=self.website,
            allowed_domains=_distinct(self.allowed_domains or ()),
            default_destination=self.default_destination,
            webhook_ids=_distinct(self.webhook_ids or ()),
            alias_limit=self.alias_limit,
            metadata=self.metadata or {},
        )


class ProjectUpdate(PatchBody):
    """A merge patch of a project (RFC 7396): what is absent stays as it is, null clears. At least one member."""

    conditions = frozenset({"version"})

    model_config = ConfigDict(
        json_schema_extra=by_example({"alias_limit": 1000, "website": None}, {"archived": False})
    )

    name: Annotated[Name, OPTIONAL, Field(description="Name of the project; cannot be null.")] = LEFT_OUT
    slug: Annotated[Slug, OPTIONAL, Field(description="Unique among the account's active projects.")] = LEFT_OUT
    description: Annotated[Description | None, Field(description="Text about the project; null removes it.")] = (
        None
    )
    website: Annotated[Website | None, Field(description="An http or https address; null removes it.")] = None
    allowed_domains: Annotated[
        Domains | None,
        Field(description="Domains on which its names may be; replaces the list. Null or empty: any."),
    ] = None
    default_destination: Annotated[
        Mailbox | None, Field(description="Recipient of its names that have none of their own; null removes it.")
    ] = None
    webhook_ids: Annotated[
        WebhookIds | None,
        Field(description="Webhook destinations of the account that belong to it; replaces the list."),
    ] = None
    alias_limit: Annotated[
        AliasLimit | None, Field(description="Most names that it may have; null: no limit.")
    ] = None
    metadata: Annotated[
        dict[Key, Value | None] | None,
        Field(max_length=2 * records.MAX_METADATA, description="Pairs to be set, those with null to be dropped."),
    ] = None
    archived: Annotated[
        StrictBool, OPTIONAL, Field(description="False restores an archived project, true archives it.")
    ] = LEFT_OUT
    version: Annotated[
        StrictInt,
        OPTIONAL,
        Field(ge=1, description="The version that is to be changed, as If-Match; it changes nothing by itself."),
        BeforeValidator(_whole),
    ] = LEFT_OUT

    def patch(self) -> Patch:
        """The record."""
        sent = self.model_dump(include=self.model_fields_set & _CHANGES)
        archived = sent.pop("archived", None)
        for name in sent.keys() & {"allowed_domains", "webhook_ids"}:
            sent[name] = _distinct(sent[name] or ())
        if self.metadata is not None:
            return Patch(members=sent, metadata=sent.pop("metadata"), archived=archived)
        if "metadata" in sent:
            sent["metadata"] = {}
        return Patch(members=sent, archived=archived)


_CHANGES = frozenset(ProjectUpdate.model_fields) - ProjectUpdate.conditions


class ProjectManagedBy(Reply):
    """The manifest that manages a resource, and the resource's key in it."""

    manifest: ManifestName
    key: ManifestKey


class ProjectReply(Reply):
    """A project."""

    model_config = ConfigDict(json_schema_extra=by_example(_ITEM))

    id: Annotated[UUID, Field(description="Identifier of the project.")]
    account_id: Annotated[UUID, Field(description="The account; the real one also with a test key.")]
    name: Annotated[str, Field(description="Name of the project.")]
    slug: Annotated[
        str, Field(description="Short name for URLs and manifests, unique among the account's active projects.")
    ]
    description: Annotated[str | None, Field(description="Text about the project; null without one.")]
    website: Annotated[str | None, Field(description="http or https address; null when not set.")]
    allowed_domains: Annotated[
        list[str], Field(description="Domains on which its names may be, as A-labels; empty: any.")
    ]
    default_destination: Annotated[
        str | None, Field(description="Recipient of its names that have none of their own; null without one.")
    ]
    webhook_ids: Annotated[list[UUID], Field(description="Webhook destinations that belong to it.")]
    alias_limit: Annotated[int | None, Field(description="Most names that it may have; null: no limit.")]
    metadata: Annotated[dict[str, str], Field(description="Your own pairs of text.")]
    managed_by: Annotated[
        ProjectManagedBy | None, Field(description="The manifest that manages it; null without one.")
    ]
    status: Annotated[
        ProjectStatus, Field(description="An archived project takes no new names; those it has work on.")
    ]
    livemode: Livemode
    version: Annotated[int, Field(description="Grows with every change; the ETag is of it.")]
    created_at: CreatedAt
    updated_at: UpdatedAt
    archived_at: Annotated[datetime | None, Field(description="When it was archived; null while active.")]


class ProjectWritten(ProjectReply, WriteReply):
    """A project after a change."""

    model_config = ConfigDict(json_schema_extra=by_example({**_ITEM, "warnings": []}))


def shown(project: Project, caller: Caller) -> ProjectReply:
    """The answer to a read."""
    return ProjectReply.model_validate(_members(project, caller))


def written(project: Project, caller: Caller) -> ProjectWritten:
    """The answer to a change."""
    return ProjectWritten.model_validate(_members(project, caller))


def _members(project: Project, caller: Caller) -> dict[str, Any]:
    own = {name: getattr(project, name) for name in ProjectReply.model_fields if hasattr(project, name)}
    managed = None
    if project.manifest is not None:
        managed = {"manifest": project.manifest, "key": project.manifest_key}
    # Outside an account has one id, whichever of its keys asks.
    outside = {"account_id": caller.live_account_id, "livemode": caller.mode == "live"}
    return {**own, **outside, "managed_by": managed}
