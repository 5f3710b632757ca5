"""/v1/builders/projects."""

from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from starlette.responses import Response

from builders.kit.callers import Caller
from builders.kit.db.connections import Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import problems
from builders.kit.http import etags
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import needs
from builders.kit.http.etags import IfMatch, IfNoneMatch
from builders.kit.http.pagination import PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import Router
from builders.kit.pages import Page
from builders.kit.values import ids
from builders.projects import service as projects, store
from builders.projects.errors import ProjectArchived, ProjectLimit, ProjectNotFound, SlugsTaken
from builders.projects.records import Project, ProjectSpec
from builders.projects.schemas import SUPPORT_FIELDS, ProjectCreate, ProjectUpdate, ProjectWritten

router = Router(prefix="/v1/builders/projects", tags=["projects"])
ProjectId = Annotated[
    UUID, Path(description="Identifier of the project; not its slug."), ResourceId(ProjectNotFound)
]
Reader = Annotated[Caller, needs("projects:read")]
Writer = Annotated[Caller, needs("projects:write", effect=Effect.WRITE, support=SUPPORT_FIELDS, plannable=True)]
Changer = Annotated[
    Caller,
    needs("projects:write", effect=Effect.WRITE, support=SUPPORT_FIELDS, plannable=True, checks_target=True),
]
Archiver = Annotated[
    Caller,
    needs("projects:write", effect=Effect.DELETE, support=SUPPORT_FIELDS, plannable=True, checks_target=True),
]
Archived = Annotated[bool, Query(description="Include archived projects.")]
Containing = Annotated[
    str | None, Query(max_length=320, description="Only projects whose name or slug contains this text.")
]


@router.get("", response_model=PageReply[Project])
async def list_projects(
    caller: Reader, conn: Reads, page: PageQuery, include_archived: Archived = False, q: Containing = None
) -> Page[Project]:
    """List the account's projects, newest first."""
    rows = await (store.list_page if include_archived else store.list_active_page)(
        conn, account_id=caller.account_id, after=page.before_id, limit=page.limit + 1, q=(q or "").strip()
    )
    return page.cut(rows, lambda each: [str(each.id)])


@router.post("", status_code=201, response_model=ProjectWritten, responses=problems(SlugsTaken, ProjectLimit))
async def create(body: ProjectCreate, caller: Writer, conn: Tx) -> Project:
    """Create a project. Only its name is required."""
    spec = ProjectSpec(id=ids.new(), **body.values())
    return await projects.create(conn, account_id=caller.account_id, spec=spec)


@router.get("/{project_id}", response_model=Project)
async def get(
    project_id: ProjectId, caller: Reader, conn: Reads, known: IfNoneMatch
) -> ReplyWithHeaders | Response:
    """Read one project, archived or not."""
    found = await projects.get(conn, account_id=caller.account_id, project_id=project_id)
    return known.answer(found, of=found.id, version=found.version)


@router.patch(
    "/{project_id}",
    response_model=ProjectWritten,
    responses=problems(SlugsTaken, ProjectLimit, ProjectArchived),
)
async def update(
    project_id: ProjectId, body: ProjectUpdate, caller: Changer, conn: Tx, expected: IfMatch
) -> ReplyWithHeaders:
    """Update a project with a merge patch. `archived: false` restores an archived project."""
    if caller.mandate is not None:
        caller.mandate.require_project(project_id)
    changed = await projects.update(
        conn,
        account_id=caller.account_id,
        project_id=project_id,
        patch=body.values(),
        archived=body.archived,
        expected=replace(expected, version=body.version),
    )
    return etags.with_etag(changed, of=changed.id, version=changed.version)


@router.delete("/{project_id}", response_model=Project)
async def archive(project_id: ProjectId, caller: Archiver, conn: Tx, expected: IfMatch) -> ReplyWithHeaders:
    """Archive a project: it accepts no new aliases, its aliases continue to work.

    A repeated request has no effect.
    """
    if caller.mandate is not None:
        caller.mandate.require_project(project_id)
    archived = await projects.archive(conn, account_id=caller.account_id, project_id=project_id, expected=expected)
    return etags.with_etag(archived, of=archived.id, version=archived.version)
