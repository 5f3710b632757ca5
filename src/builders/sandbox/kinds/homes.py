"""Projects, as aliases refer to them: by the key that the manifest gives one, by slug, or by id."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from builders.kit.values import ids
from builders.projects.records import Project, ProjectFields
from builders.sandbox.records import Action, ActionKind
from builders.sandbox.views import ProjectView


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """A project that takes aliases, as it will be when they are claimed."""

    project_id: UUID | None  # None: the plan makes it
    address: str | None  # of its action, if the plan makes or changes it
    project: ProjectFields
    is_archived: bool = False
    is_pruned: bool = False  # the plan archives it

    @property
    def after_unknown(self) -> tuple[str, ...]:
        """What of an alias in it is known only when it is made."""
        return () if self.project_id else ("project_id",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Homes:
    """All projects that a manifest may speak of."""

    by_key: Mapping[str, Home] = field(default_factory=dict)
    by_slug: Mapping[str, Home] = field(default_factory=dict)
    by_id: Mapping[UUID, Home] = field(default_factory=dict)

    def find(self, reference: str | None) -> Home | None:
        """The project that is meant; a key of the manifest goes before a slug."""
        if reference is None:
            return None
        found = self.by_key.get(reference) or self.by_slug.get(reference)
        return found or self.by_id.get(ids.parse(reference))


def homes(planned: Sequence[Action], removed: Sequence[Action], projects: Sequence[Project]) -> Homes:
    """Those that are there, as the planned actions on projects leave them, and those that the plan makes."""
    pruned = {action.resource_id for action in removed}
    views = [(action, action.after) for action in planned if isinstance(action.after, ProjectView)]
    by_key = {view.key: _planned(action, view) for action, view in views}
    changed = {home.project_id: home for home in by_key.values() if home.project_id}
    there = {each.id: changed.get(each.id) or _there(each, is_pruned=each.id in pruned) for each in projects}
    # Of a slug there may be archived projects beside the one that is active.
    slugs = {each.slug: there[each.id] for each in sorted(projects, key=lambda each: not each.is_archived)}
    slugs |= {view.slug: by_key[view.key] for _, view in views if view.slug}
    return Homes(by_key=by_key, by_slug=slugs, by_id=there)


def _planned(action: Action, view: ProjectView) -> Home:
    return Home(
        project_id=action.resource_id,
        address=None if action.action is ActionKind.NO_OP else action.address,
        project=view,
    )


def _there(project: Project, *, is_pruned: bool) -> Home:
    return Home(
        project_id=project.id,
        address=None,
        project=project,
        is_archived=project.is_archived,
        is_pruned=is_pruned,
    )
