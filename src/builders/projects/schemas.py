"""Projects on the wire."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, StringConstraints
from pydantic.config import JsonDict

from builders.kit import emails, ids, texts
from builders.kit.bodies import Body, Reply, WriteReply, by_example
from builders.kit.callers import Caller
from builders.kit.merge_patches import PatchBody
from builders.kit.texts import checked
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
    checked(members.description, "text_form"),
]
Website = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=texts.MAX_URL),
    checked(texts.web_address, "web_address"),
    Field(description="An http or https address."),
]
Domain = Annotated[str, StringConstraints(min_length=1, max_length=253), checked(members.domain, "domain_name")]
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

    name: Name
    slug: Annotated[
        Slug | None,
        Field(
            description="Unique among the account's active projects; of the name when absent, numbered if need be."
        ),
    ] = None
    description: Description | None = None
    website: Website | None = None
    allowed_domains: Domains | None = None
    default_destination: Mailbox | None = None
    webhook_ids: WebhookIds | None = None
    alias_limit: AliasLimit | None = None
    metadata: Annotated[dict[Key, Value], Field(max_length=records.MAX_METADATA)] | None = None

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

    name: Annotated[Name, OPTIONAL] = LEFT_OUT
    slug: Annotated[Slug, OPTIONAL, Field(description="Unique among the account's active projects.")] = LEFT_OUT
    description: Description | None = None
    website: Website | None = None
    allowed_domains: Domains | None = None
    default_destination: Mailbox | None = None
    webhook_ids: WebhookIds | None = None
    alias_limit: AliasLimit | None = None
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

    manifest: str
    key: str


class ProjectReply(Reply):
    """A project."""

    model_config = ConfigDict(json_schema_extra=by_example(_ITEM))

    id: UUID
    account_id: UUID
    name: str
    slug: str
    description: str | None
    website: str | None
    allowed_domains: list[str]
    default_destination: str | None
    webhook_ids: list[UUID]
    alias_limit: int | None
    metadata: dict[str, str]
    managed_by: ProjectManagedBy | None
    status: Annotated[
        ProjectStatus, Field(description="An archived project takes no new names; those it has work on.")
    ]
    livemode: bool
    version: Annotated[int, Field(description="Grows with every change; the ETag is of it.")]
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None


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
