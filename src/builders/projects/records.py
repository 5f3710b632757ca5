"""Records of projects, and the bounds of their fields."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from builders.kit.limits import maximums
from builders.kit.values.patches import UNSET, Patch

MAX_PROJECTS = maximums.declare("projects", 1000, of="account", counts="Active projects.", code="project_limit")
MAX_NAME = 80  # characters
MAX_DESCRIPTION = 500
MAX_DOMAINS = 100
MAX_WEBHOOKS = 20
MAX_ALIAS_LIMIT = 100_000
MAX_METADATA = 20  # pairs
MAX_METADATA_KEY = 40  # characters
MAX_METADATA_VALUE = 500
SLUG = r"^[a-z][a-z0-9-]{1,38}[a-z0-9]$"


class ProjectStatus(StrEnum):
    """An active project accepts new aliases, an archived one does not."""

    ACTIVE = "active"
    ARCHIVED = "archived"


class Refusal(StrEnum):
    """Why a project does not accept an alias."""

    DOMAIN_NOT_ALLOWED = "domain_not_allowed"
    ALIAS_LIMIT = "alias_limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFields:
    """The fields of a project that its account sets."""

    name: str
    slug: str | None  # None: derived from the name, unique by a number
    description: str | None
    website: str | None
    allowed_domains: tuple[str, ...]  # A-labels; empty: any
    default_destination: str | None
    webhook_ids: tuple[UUID, ...]
    alias_limit: int | None
    metadata: Mapping[str, str]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Project(ProjectFields):
    """A project of an account."""

    account_id: UUID
    id: UUID
    slug: str  # unique among the account's active projects
    manifest: str | None
    manifest_key: str | None
    version: int
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None  # None while active

    @property
    def status(self) -> ProjectStatus:
        """Return whether it is active or archived."""
        return ProjectStatus.ACTIVE if self.archived_at is None else ProjectStatus.ARCHIVED

    @property
    def is_archived(self) -> bool:
        """Return whether it accepts no new aliases."""
        return self.archived_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectPatch:
    """A merge patch of a project."""

    name: Patch[str] = UNSET
    slug: Patch[str] = UNSET
    description: Patch[str | None] = UNSET
    website: Patch[str | None] = UNSET
    allowed_domains: Patch[tuple[str, ...]] = UNSET
    default_destination: Patch[str | None] = UNSET
    webhook_ids: Patch[tuple[UUID, ...]] = UNSET
    alias_limit: Patch[int | None] = UNSET
    metadata: Patch[Mapping[str, str | None] | None] = UNSET  # merged; a pair with None is removed
    archived: Patch[bool] = UNSET


def change_of(project: Project, **new: Any) -> ProjectChange:
    """Return a change that sets these fields and keeps all others."""
    managed = {"manifest": project.manifest, "manifest_key": project.manifest_key}
    return ProjectChange(id=project.id, version=project.version, **{**project.values(), **managed, **new})


def changed_fields(project: Project, change: ProjectChange) -> list[str]:
    """Return the names of the fields whose values change."""
    names = (*FIELDS, "manifest", "manifest_key")
    return [name for name in names if getattr(project, name) != getattr(change, name)]
