# Written by script/clients.
"""Operations: projects."""

from typing import Unpack

from builders_client.generated.bodies.projects import ProjectCreate, ProjectUpdate
from builders_client.generated.models.projects import ProjectReply, ProjectReplyPage, ProjectWritten
from builders_client.generated.sync.pages import Pages
from builders_client.generated.sync.sender import Sender


class Projects:
    """Builder projects, which group names and set their defaults and limits."""

    def __init__(self, client: Sender) -> None:
        self._client = client

    def archive(
        self,
        project_id: str,
        *,
        if_match: str | None = None,
    ) -> ProjectReply:
        """Archive a project: it accepts no new aliases, its aliases continue to work.

        A repeated request has no effect.

        Requires the scope `projects:write`.

        Errors: `project_not_found`, `version_mismatch`.

        Args:
            project_id: Identifier of the project; not its slug.
            if_match: `ETag` of the version to change; 412 if another one is current.
        """
        return self._client.send(
            "projects_archive", ProjectReply, path={"project_id": project_id}, headers={"If-Match": if_match}
        )

    def create(
        self,
        **body: Unpack[ProjectCreate],
    ) -> ProjectWritten:
        """Create a project. Only its name is required.

        Requires the scope `projects:write`.

        Errors: `slug_taken`, `project_limit`.
        """
        return self._client.send("projects_create", ProjectWritten, body=body)

    def get(
        self,
        project_id: str,
        *,
        if_none_match: str | None = None,
    ) -> ProjectReply:
        """Read one project, archived or not.

        Requires the scope `projects:read`.

        Errors: `project_not_found`.

        Args:
            project_id: Identifier of the project; not its slug.
            if_none_match: `ETag` of your version: the response is 304 while it is current.
        """
        return self._client.send(
            "projects_get", ProjectReply, path={"project_id": project_id}, headers={"If-None-Match": if_none_match}
        )

    def list_projects(
        self,
        *,
        include_archived: bool | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[ProjectReplyPage, ProjectReply]:
        """List the account's projects, newest first.

        Requires the scope `projects:read`.

        Args:
            include_archived: Include archived projects.
            q: Only projects whose name or slug contains this text.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return Pages(
            self._client,
            "projects_list_projects",
            ProjectReplyPage,
            "items",
            query={"include_archived": include_archived, "q": q, "limit": limit, "cursor": cursor},
        )

    def update(
        self,
        project_id: str,
        *,
        if_match: str | None = None,
        **body: Unpack[ProjectUpdate],
    ) -> ProjectWritten:
        """Update a project with a merge patch. `archived: false` restores an archived project.

        Requires the scope `projects:write`.

        Errors: `project_not_found`, `slug_taken`, `project_limit`, `project_archived`, `version_mismatch`.

        Args:
            project_id: Identifier of the project; not its slug.
            if_match: `ETag` of the version to change; 412 if another one is current.
        """
        return self._client.send(
            "projects_update",
            ProjectWritten,
            path={"project_id": project_id},
            headers={"If-Match": if_match},
            body=body,
        )
