"""What crosses the door of projects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

MOST = 1000  # active ones of an account
MAX_NAME = 80  # characters
MAX_DESCRIPTION = 500
MAX_DOMAINS = 100
MAX_WEBHOOKS = 20
MAX_ALIASES = 100_000  # that a limit can allow
MAX_METADATA = 20  # pairs
MAX_METADATA_KEY = 40  # characters
MAX_METADATA_VALUE = 500
SLUG = r"^[a-z][a-z0-9-]{1,38}[a-z0-9]$"


class ProjectStatus(StrEnum):
    """Whether a project takes new names."""

    ACTIVE = "active"
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSpec:
    """A project to open, with all that it is to be."""

    id: UUID
    name: str
    slug: str | None = None  # None: derived from the name, with a number where that is taken
    description: str | None = None
    website: str | None = None
    allowed_domains: Sequence[str] = ()  # A-labels; empty: all
    default_destination: str | None = None
    webhook_ids: Sequence[UUID] = ()
    alias_limit: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    manifest: str | None = None
    manifest_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectChange:
    """What an active project is to be, if it still has the version."""

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
    slug: str  # unique among the account's active ones
    description: str | None
    website: str | None
    allowed_domains: Sequence[str]  # A-labels; empty: all
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
        """Whether it takes new names."""
        return ProjectStatus.ACTIVE if self.archived_at is None else ProjectStatus.ARCHIVED

    @property
    def is_archived(self) -> bool:
        """Whether it takes no new names."""
        return self.archived_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A merge patch: what was sent. Of metadata the pairs that were, those to be dropped with None."""

    members: Mapping[str, object]  # by the names of a ProjectChange
    metadata: Mapping[str, str | None] | None = None
    archived: bool | None = None
