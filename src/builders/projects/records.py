"""Records of projects, and the bounds of their fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

MAX_PROJECTS = 1000  # active projects of an account
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSpec:
    """The fields of a project to create."""

    id: UUID
    name: str
    slug: str | None = None  # None: derived from the name, unique by a number
    description: str | None = None
    website: str | None = None
    allowed_domains: Sequence[str] = ()  # A-labels; empty: any
    default_destination: str | None = None
    webhook_ids: Sequence[UUID] = ()
    alias_limit: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    manifest: str | None = None
    manifest_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectChange:
    """The new fields of an active project, to be written only if it still has this version."""

    id: UUID
    version: int
    name: str
    slug: str
    description: str | None
    website: str | None
    allowed_domains: Sequence[str]
    default_destination: str | None
    webhook_ids: Sequence[UUID]
    alias_limit: int | None
    metadata: Mapping[str, str]
    manifest: str | None
    manifest_key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project of an account."""

    account_id: UUID
    id: UUID
    name: str
    slug: str  # unique among the account's active projects
    description: str | None
    website: str | None
    allowed_domains: Sequence[str]  # A-labels; empty: any
    default_destination: str | None
    webhook_ids: Sequence[UUID]
    alias_limit: int | None
    metadata: Mapping[str, str]
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
class Patch:
    """A merge patch: the members of the request. A metadata pair with None is to be removed."""

    members: Mapping[str, object]  # named as the fields of ProjectChange
    metadata: Mapping[str, str | None] | None = None
    archived: bool | None = None


_FIELDS = tuple(each.name for each in fields(ProjectChange) if each.name not in {"id", "version"})


def change_of(project: Project, **new: Any) -> ProjectChange:
    """Return a change that sets these fields and keeps all others."""
    present = {name: getattr(project, name) for name in _FIELDS}
    return ProjectChange(id=project.id, version=project.version, **{**present, **new})


def changed_fields(project: Project, change: ProjectChange) -> list[str]:
    """Return the names of the fields that the change gives another value."""
    return [name for name in _FIELDS if _plain(getattr(project, name)) != _plain(getattr(change, name))]


def _plain(value: object) -> object:
    """Return a tuple as a list: sequences with the same items are equal."""
    return list(value) if isinstance(value, list | tuple) else value
