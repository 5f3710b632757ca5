"""Records of projects."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from builders.kit.limits import maximums

MAX_PROJECTS = maximums.declare("projects", 1000, of="account", counts="Active projects.", code="project_limit")


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


def change_of(project: Project, **new: Any) -> ProjectChange:
    """Return a change that sets these fields and keeps all others."""
    managed = {"manifest": project.manifest, "manifest_key": project.manifest_key}
    return ProjectChange(id=project.id, version=project.version, **{**project.values(), **managed, **new})


def changed_fields(project: Project, change: ProjectChange) -> list[str]:
    """Return the names of the fields whose values change."""
    names = (*FIELDS, "manifest", "manifest_key")
    return [name for name in names if getattr(project, name) != getattr(change, name)]
