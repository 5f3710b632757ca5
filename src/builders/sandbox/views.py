"""The state of a resource before and after an action."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from uuid import UUID

from builders.projects.records import ProjectFields


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasView:
    """An alias before or after an action."""

    address: str
    key: str  # in the manifest that manages it; empty when none does, as in the other views
    destinations: tuple[str, ...]
    enabled: bool
    note: str | None
    labels: Mapping[str, str]
    project_id: UUID | None = None  # None also if the plan creates the project: see after_unknown


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
class DomainView:
    """The settings of an account domain before or after an action."""

    key: str
    domain: str
    default_destination: str | None
    catch_all: bool


View = AliasView | ProjectView | WebhookView | DomainView


def changes(before: View, after: View) -> tuple[str, ...]:
    """Return the names of the fields that differ, in their sequence."""
    names = (each.name for each in fields(before))
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))
