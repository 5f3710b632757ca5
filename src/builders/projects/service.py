"""The door of projects.

The doors for many at once work in sets: a handful of statements for any number, all or none.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.events import outbox
from builders.kit.http.etags import Expected
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.values import clock, ids
from builders.projects import members, store, telling
from builders.projects.clearing import (
    clear as clear,
    count as count,
)
from builders.projects.errors import (
    ProjectArchived as ProjectArchived,
    ProjectKeysTaken as ProjectKeysTaken,
    ProjectLimit as ProjectLimit,
    ProjectNotFound as ProjectNotFound,
    ProjectsChanged as ProjectsChanged,
    SlugsTaken as SlugsTaken,
)
from builders.projects.events import PROJECT_ARCHIVED, PROJECT_CREATED, PROJECT_RESTORED, PROJECT_UPDATED
from builders.projects.members import (
    derive_slug as derive_slug,
    read_description as read_description,
    read_domain as read_domain,
)
from builders.projects.records import MAX_METADATA, MOST, Patch, Project, ProjectChange, ProjectSpec
from builders.webhooks import service as webhooks


async def list_page(conn: Conn, *, account_id: UUID, include_archived: bool, page: PageRequest) -> Page[Project]:
    """Some of the account's projects, newest first."""
    after = UUID(str(page.after[0])) if page.after else ids.LAST
    rows = await store.list_page(
        conn, account_id=account_id, include_archived=include_archived, after=after, limit=page.limit + 1
    )
    return page.cut(rows, lambda each: [str(each.id)])


async def get(conn: Conn, *, account_id: UUID, project_id: UUID | None) -> Project:
    """A project of the account, archived ones too. Raises ProjectNotFound."""
    found = None if project_id is None else await store.find(conn, account_id=account_id, project_id=project_id)
    if found is None:
        raise ProjectNotFound("There is no such project.")
    return found


async def create(conn: Conn, *, account_id: UUID, spec: ProjectSpec) -> Project:
    """Opens a project; publishes project.created.

    Raises SlugsTaken, ProjectLimit, and Invalid for webhooks that are not the account's.
    """
    await _check_webhooks(conn, account_id=account_id, wanted=spec.webhook_ids)
    return (await create_many(conn, account_id=account_id, specs=[spec]))[0]


async def update(
    conn: Conn, *, account_id: UUID, project_id: UUID | None, patch: Patch, expected: Expected
) -> Project:
    """The project with the patch, which can archive or restore it; one that changes nothing is no new version.

    Publishes project.updated, archived or restored. Raises ProjectNotFound, VersionMismatch, ProjectArchived,
    SlugsTaken, ProjectLimit, and Invalid at the members of the body.
    """
    await store.take_turn(conn, account_id=account_id)
    before = await _locked(conn, account_id=account_id, project_id=project_id)
    expected.check(of=before.id, version=before.version)
    wanted = telling.change_of(before, **_members(before, patch))
    changed = telling.changed(before, wanted)
    to_archive = before.is_archived if patch.archived is None else patch.archived
    if before.is_archived and to_archive and changed:
        raise ProjectArchived("An archived project does not change.", next_action="Send archived: false as well.")
    if "webhook_ids" in changed:
        await _check_webhooks(conn, account_id=account_id, wanted=wanted.webhook_ids)
    after = before
    if changed or (before.is_archived and not to_archive):
        event = PROJECT_RESTORED if before.is_archived else PROJECT_UPDATED
        after = (await _write(conn, account_id, [wanted]))[wanted.id]
        await outbox.publish(conn, event, account_id=account_id, data=telling.news(after, changed))
    return after if after.is_archived or not to_archive else await _archive(conn, after)


async def archive(conn: Conn, *, account_id: UUID, project_id: UUID | None, expected: Expected) -> Project:
    """The project, archived; done again it changes nothing. Publishes project.archived.

    Raises ProjectNotFound, VersionMismatch; the latter not when it is archived already (RFC 9110, 13.1.1).
    """
    before = await _locked(conn, account_id=account_id, project_id=project_id)
    if before.is_archived:
        return before
    expected.check(of=before.id, version=before.version)
    return await _archive(conn, before)


async def list_projects(
    conn: Conn,
    *,
    account_id: UUID,
    manifest: str | None = None,
    project_ids: Iterable[UUID] = (),
    slugs: Iterable[str] = (),
) -> list[Project]:
    """The account's projects, archived ones too, that a manifest manages, or that have one of the ids or slugs.

    Of a slug there can be archived ones beside the one that is active.
    """
    return await store.list_projects(
        conn, account_id=account_id, manifest=manifest, project_ids=project_ids, slugs=slugs
    )


async def lock_projects(conn: Conn, *, account_id: UUID, project_ids: Iterable[UUID]) -> list[Project]:
    """Those that are there, as they are until the transaction ends: for limits that hold for two at once.

    Call it after the other doors of this room, not before, or two may wait for each other.
    """
    return await store.lock(conn, account_id=account_id, project_ids=project_ids)


async def create_many(conn: Conn, *, account_id: UUID, specs: Sequence[ProjectSpec]) -> list[Project]:
    """Opens projects, all or none; publishes project.created for each. Webhook ids are taken as they are.

    Raises SlugsTaken, KeysTaken, ProjectLimit.
    """
    await store.take_turn(conn, account_id=account_id)
    taken = await store.list_slugs(conn, account_id=account_id)
    _check_number(len(taken) + len(specs))
    _check_slugs(taken, specs)
    await _check_keys(conn, account_id, specs)
    slugs = {*taken, *(spec.slug for spec in specs if spec.slug)}
    named: list[ProjectSpec] = []
    for spec in specs:
        slug = spec.slug or members.free_slug(spec.name, slugs)
        slugs.add(slug)
        named.append(replace(spec, slug=slug))
    made = await store.insert(conn, account_id=account_id, specs=named, now=clock.now())
    created = [made[spec.id] for spec in specs]
    await outbox.publish_many(conn, PROJECT_CREATED, [(account_id, telling.news(each)) for each in created])
    return created


async def update_many(conn: Conn, *, account_id: UUID, changes: Sequence[ProjectChange]) -> list[Project]:
    """Changes active projects that still have their version, all or none; publishes project.updated for each.

    Slugs and keys can be swapped within one call. Raises ProjectsChanged, SlugsTaken, KeysTaken.
    """
    await store.take_turn(conn, account_id=account_id)
    versions = {change.id: change.version for change in changes}
    before = await _unchanged(conn, account_id, versions)
    after = await _write(conn, account_id, changes)
    news = [telling.news(after[each.id], telling.changed(before[each.id], each)) for each in changes]
    await outbox.publish_many(conn, PROJECT_UPDATED, [(account_id, each) for each in news])
    return [after[each.id] for each in changes]


async def archive_many(conn: Conn, *, account_id: UUID, versions: Mapping[UUID, int]) -> list[Project]:
    """Archives active projects that still have their version, all or none; publishes project.archived for each.

    Raises ProjectsChanged.
    """
    await _unchanged(conn, account_id, versions)
    archived = await store.archive(conn, account_id=account_id, project_ids=versions, now=clock.now())
    await outbox.publish_many(conn, PROJECT_ARCHIVED, [(account_id, telling.news(each)) for each in archived])
    return archived


async def _locked(conn: Conn, *, account_id: UUID, project_id: UUID | None) -> Project:
    found = [] if project_id is None else await store.lock(conn, account_id=account_id, project_ids=[project_id])
    if not found:
        raise ProjectNotFound("There is no such project.")
    return found[0]


async def _unchanged(conn: Conn, account_id: UUID, versions: Mapping[UUID, int]) -> dict[UUID, Project]:
    """The projects, locked. Raises ProjectsChanged unless each is active and has its version."""
    found = await store.lock(conn, account_id=account_id, project_ids=versions)
    same = {each.id: each for each in found if not each.is_archived and each.version == versions[each.id]}
    if changed := versions.keys() - same:
        raise ProjectsChanged(changed)
    return same


async def _write(conn: Conn, account_id: UUID, changes: Sequence[ProjectChange]) -> dict[UUID, Project]:
    """Writes changes of locked projects, in the account's turn; archived ones come back."""
    own = {change.id for change in changes}
    active = await store.list_slugs(conn, account_id=account_id)
    others = {slug: project_id for slug, project_id in active.items() if project_id not in own}
    _check_number(len(others) + len(changes))
    _check_slugs(others, changes)
    await _check_keys(conn, account_id, changes)
    return await store.update(conn, account_id=account_id, changes=changes, now=clock.now())


async def _archive(conn: Conn, project: Project) -> Project:
    [archived] = await store.archive(
        conn, account_id=project.account_id, project_ids=[project.id], now=clock.now()
    )
    await outbox.publish(conn, PROJECT_ARCHIVED, account_id=project.account_id, data=telling.news(archived))
    return archived


def _members(before: Project, patch: Patch) -> dict[str, Any]:
    """The members of a patch; metadata with its pairs merged into those that are there (RFC 7396)."""
    if patch.metadata is None:
        return dict(patch.members)
    pairs = {**before.metadata, **patch.metadata}
    merged = {key: value for key, value in pairs.items() if value is not None}
    if len(merged) > MAX_METADATA:
        raise Invalid(("body", "metadata"), f"A project has at most {MAX_METADATA} pairs.", "metadata_full")
    return {**patch.members, "metadata": merged}


def _check_number(active: int) -> None:
    if active > MOST:
        raise ProjectLimit(
            f"An account has up to {MOST} active projects.", next_action="Archive one that is not used."
        )


def _check_slugs(taken: Iterable[str], wanted: Sequence[ProjectSpec | ProjectChange]) -> None:
    given = Counter(each.slug for each in wanted if each.slug)
    if refused := (given.keys() & set(taken)) | {slug for slug, number in given.items() if number > 1}:
        raise SlugsTaken(frozenset(refused))


async def _check_keys(conn: Conn, account_id: UUID, wanted: Sequence[ProjectSpec | ProjectChange]) -> None:
    if all(each.manifest is None for each in wanted):
        return
    if taken := await store.list_taken_keys(conn, account_id=account_id, wanted=wanted):
        raise ProjectKeysTaken(taken)


async def _check_webhooks(conn: Conn, *, account_id: UUID, wanted: Sequence[UUID]) -> None:
    """Raises Invalid for each that is none of the account's."""
    if not wanted:
        return
    page = await webhooks.list_destinations(conn, account_id=account_id, page=PageRequest(limit=MOST))
    own = {each.id for each in page.items}
    said: list[dict[str, Any]] = [
        {"loc": ("body", "webhook_ids", at), "msg": "No webhook of the account.", "type": "webhook_unknown"}
        for at, each in enumerate(wanted)
        if each not in own
    ]
    if said:
        raise Invalid.many(said)
