"""Desired resources: the manifest, and the state of a resource before and after an action."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from uuid import UUID

from builders.aliases.records import AliasSettings
from builders.domains.records import DomainSettings
from builders.projects.records import ProjectFields


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasView(AliasSettings):
    """An alias before or after an action."""

    address: str
    key: str  # in the manifest that manages the resource; empty without one, as in the other views
    destinations: tuple[str, ...]
    project_id: UUID | None = None  # None also if the plan creates the project (after_unknown)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectView(ProjectFields):
    """A project before or after an action."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookView:
    """A webhook destination before or after an action, without its secret."""

    key: str
    label: str
    url: str
    enabled: bool
    events: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainView(DomainSettings):
    """The settings of an account domain before or after an action."""

    key: str
    domain: str


View = AliasView | ProjectView | WebhookView | DomainView


def changes(before: View, after: View) -> tuple[str, ...]:
    """Return the names of the fields that differ, in their sequence."""
    names = (each.name for each in fields(before))
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))


MAX_RESOURCES = 2000  # in a manifest, of all kinds together
MAX_BYTES = 1024 * 1024  # of a request body with a manifest
GENERATE = "generate"  # the reference of a new secret


class OnConflict(StrEnum):
    """The treatment of an existing resource that this manifest does not manage."""

    FAIL = "fail"
    ADOPT = "adopt"


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredAlias(AliasSettings):
    """A desired alias; domain and local part as written."""

    key: str  # unique in the manifest
    domain: str
    local_part: str
    destinations: tuple[str, ...]  # empty: the project's default
    project: str | None = None  # key, slug or id; None: the manifest's


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredWebhook(WebhookView):
    """A desired webhook destination; a manifest never contains its secret."""

    signing_secret_ref: str  # `generate`, or the key or label of the webhook whose secret is copied


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The desired state of an account's resources."""

    name: str
    labels: Mapping[str, str]
    prune: bool
    on_conflict: OnConflict
    aliases: tuple[DesiredAlias, ...] = ()
    projects: tuple[ProjectView, ...] = ()  # a slug of None keeps the project's current one
    domains: tuple[DomainView, ...] = ()  # as written
    webhooks: tuple[DesiredWebhook, ...] = ()
    project: str | None = None  # of aliases without a project of their own
