"""Errors of projects."""

from builders.kit.errors import Problem


class ProjectNotFound(Problem):
    """There is no such project."""

    status, code = 404, "project_not_found"
    remedy = "List the projects: GET /v1/builders/projects."
    collection = "/v1/builders/projects"
    search = "q"


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
