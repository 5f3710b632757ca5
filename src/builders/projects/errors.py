"""Errors of projects."""

from collections.abc import Iterable
from uuid import UUID

from builders.kit.errors import Problem


class ProjectNotFound(Problem):
    """There is no such project."""

    status, code = 404, "project_not_found"
    remedy = "List the projects: GET /v1/builders/projects."
    collection = "/v1/builders/projects"


class SlugsTaken(Problem):
    """An active project of the account has the slug."""

    status, code = 409, "slug_taken"
    remedy = "Send another slug, or archive the project that has this one."

    def __init__(self, slugs: frozenset[str]) -> None:
        subject = "An active project has the slug" if len(slugs) == 1 else "Active projects have the slugs"
        super().__init__(
            f"{subject} {', '.join(sorted(slugs))}.",
        )
        self.slugs = slugs


class ProjectArchived(Problem):
    """The project is archived."""

    status, code = 409, "project_archived"
    remedy = "Restore the project: PATCH /v1/builders/projects/{project_id} with `archived` false."


class ProjectLimit(Problem):
    """The account has the maximum number of active projects."""

    status, code = 409, "project_limit"
    remedy = "Archive one that is not used."


class ProjectsChanged(Problem):
    """Some of the projects were changed or archived since they were read."""

    status, code = 409, "projects_changed"

    def __init__(self, changed: Iterable[UUID]) -> None:
        super().__init__("A project was changed or archived in the meantime.", next_action="Plan again.")
        self.changed = frozenset(changed)


class ProjectKeysTaken(Problem):
    """Some of the manifest keys belong to other projects."""

    status, code = 409, "project_keys_taken"

    def __init__(self, keys: frozenset[tuple[str, str]]) -> None:
        listed = ", ".join(f"{key} of {manifest}" for manifest, key in sorted(keys))
        super().__init__(f"Keys of other projects: {listed}.", next_action="Plan again.")
        self.keys = keys
