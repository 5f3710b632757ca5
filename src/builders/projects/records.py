"""Records of projects."""

from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from builders.kit.limits import maximums
from builders.kit.values.docs import (
    CreatedAt,
    EventManifest,
    EventManifestKey,
    Livemode,
    ManifestKey,
    ManifestName,
    UpdatedAt,
    doc,
)
from builders.kit.values.resources import HIDDEN, OF_CALLER, Masked, resource
from builders.mail import addresses
from builders.projects.fields import (
    AliasLimit,
    Description,
    Domains,
    Mailbox,
    Metadata,
    Name,
    Slug,
    WebhookIds,
    Website,
)

MAX_PROJECTS = maximums.declare("projects", 1000, of="account", counts="Active projects.", code="project_limit")


class ProjectStatus(StrEnum):
    """An active project accepts new aliases, an archived one does not."""

    ACTIVE = "active"
    ARCHIVED = "archived"


class Refusal(StrEnum):
    """Why a project does not accept an alias."""

    DOMAIN_NOT_ALLOWED = "domain_not_allowed"
    ALIAS_LIMIT = "alias_limit"


SLUG = doc("Unique among the account's active projects, for URLs and manifests; by default derived from the name.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFields:
    """The fields of a project that its account sets; without a slug it is derived from the name."""

    name: Annotated[Name, doc("Name of the project.")]
    slug: Annotated[Slug | None, SLUG]
    description: Annotated[Description | None, doc("Text about the project; null when not set.")]
    website: Annotated[Website | None, doc("An http or https address; null when not set.")]
    allowed_domains: Annotated[
        Domains, doc("Domains allowed for its aliases, as A-labels; Unicode is accepted. Empty: any.")
    ]
    default_destination: Annotated[
        Mailbox | None,
        doc("Default recipient of its aliases, masked in events; null when not set."),
        Masked(addresses.mask),
    ]
    webhook_ids: Annotated[WebhookIds, doc("Webhook destinations of the project.")]
    alias_limit: Annotated[AliasLimit | None, doc("Maximum number of its aliases; null: no limit.")]
    metadata: Annotated[Metadata, doc("Your own key-value pairs.")]

    def refusal(self, *, domain: str, aliases: int) -> Refusal | None:
        """Return why the project, which has this number of aliases, does not accept one more on the domain."""
        if self.allowed_domains and domain not in self.allowed_domains:
            return Refusal.DOMAIN_NOT_ALLOWED
        if self.alias_limit is not None and aliases >= self.alias_limit:
            return Refusal.ALIAS_LIMIT
        return None

    def values(self) -> dict[str, Any]:
        """Return these fields by name, to copy them into another record."""
        return {name: getattr(self, name) for name in FIELDS}


FIELDS = tuple(each.name for each in fields(ProjectFields))
# A change of these can refuse aliases or send their mail elsewhere.
SENSITIVE_FIELDS = frozenset({"allowed_domains", "alias_limit", "default_destination"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSpec(ProjectFields):
    """The fields of a project to create."""

    id: UUID
    manifest: str | None = None
    manifest_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectChange(ProjectFields):
    """The new fields of an active project, to be written only if it still has this version."""

    id: UUID
    version: int
    slug: str
    manifest: str | None
    manifest_key: str | None


@resource("ProjectManagedBy")
@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedBy:
    """The manifest that manages a resource, and the resource's key in it."""

    manifest: ManifestName
    key: ManifestKey


@resource(
    "ProjectReply",
    computed={
        "managed_by": "The manifest that manages it; null when there is none.",
        "status": "An archived project accepts no new aliases; existing ones work.",
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Project(ProjectFields):
    """A project."""

    account_id: Annotated[UUID, doc("The account; with a test key also the real account."), OF_CALLER]
    id: Annotated[UUID, doc("Identifier of the project.")]
    slug: Annotated[Slug, SLUG]
    manifest: Annotated[EventManifest, HIDDEN]
    manifest_key: Annotated[EventManifestKey, HIDDEN]
    livemode: Annotated[Livemode, OF_CALLER] = True
    version: Annotated[int, doc("Increases with each change; part of the ETag.")]
    created_at: CreatedAt
    updated_at: UpdatedAt
    archived_at: Annotated[datetime | None, doc("When it was archived; null while active.")]

    @property
    def status(self) -> ProjectStatus:
        """Return whether it is active or archived."""
        return ProjectStatus.ACTIVE if self.archived_at is None else ProjectStatus.ARCHIVED

    @property
    def managed_by(self) -> ManagedBy | None:
        """Return the manifest that manages it."""
        return None if self.manifest is None else ManagedBy(manifest=self.manifest, key=self.manifest_key or "")

    @property
    def is_archived(self) -> bool:
        """Return whether it accepts no new aliases."""
        return self.archived_at is not None


def change_of(project: Project, **new: Any) -> ProjectChange:
    """Return a change that sets these fields and keeps all others."""
    managed = {"manifest": project.manifest, "manifest_key": project.manifest_key}
    return ProjectChange(id=project.id, version=project.version, **{**project.values(), **managed, **new})


def changed_fields(project: Project, change: ProjectChange) -> list[str]:
    """Return the names of the fields whose values change."""
    names = (*FIELDS, "manifest", "manifest_key")
    return [name for name in names if getattr(project, name) != getattr(change, name)]
