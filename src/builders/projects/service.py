"""The public interface of projects.

Functions for many projects use a fixed number of statements, and change all of the projects or none.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from builders.identity import accounts
from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.events import outbox
from builders.kit.http.etags import WriteCondition
from builders.kit.http.pagination import PageRequest
from builders.kit.values import clock
from builders.kit.values.conflicts import KeysTaken, ResourcesChanged
from builders.projects import fields, store
from builders.projects.errors import ProjectArchived, ProjectLimit, ProjectNotFound, SlugsTaken
from builders.projects.events import (
    PROJECT_ARCHIVED,
    PROJECT_CREATED,
    PROJECT_RESTORED,
    PROJECT_UPDATED,
    project_data,
)
from builders.projects.records import (
    MAX_PROJECTS,
    Project,
    ProjectChange,
    ProjectSpec,
    change_of,
    changed_fields,
)
from builders.webhooks import destinations


async def get(conn: Conn, *, account_id: UUID, project_id: UUID) -> Project:
    """Return a project of the account, active or archived. Raise ProjectNotFound."""
    found = await store.find(conn, account_id=account_id, project_id=project_id)
    if found is None:
        raise ProjectNotFound
    return found


async def create(conn: Conn, *, account_id: UUID, spec: ProjectSpec) -> Project:
    """Create a project; publish project.created.

    Raise SlugsTaken, ProjectLimit, and Invalid for webhooks that are not the account's.
    """
    await _check_webhooks(conn, account_id=account_id, wanted=spec.webhook_ids)
    return (await create_many(conn, account_id=account_id, specs=[spec]))[0]


async def update(
    conn: Conn,
    *,
    account_id: UUID,
    project_id: UUID,
    patch: Mapping[str, Any],
    archived: bool | None,
    expected: WriteCondition,
) -> Project:
    """Set the fields of a patch, and archive or restore the project; a patch without effect keeps the version.

    Pairs of metadata are merged (RFC 7396). Publish project.updated, archived or restored. Raise ProjectNotFound,
    VersionMismatch, ProjectArchived, SlugsTaken, ProjectLimit, and Invalid at the members of the body.
    """
    await store.lock_account(conn, account_id=account_id)
    before = await _lock(conn, account_id=account_id, project_id=project_id)
    expected.check(of=before.id, version=before.version)
    change = change_of(before, **{**patch, "metadata": _merge_metadata(before, patch)})
    changed = changed_fields(before, change)
    to_archive = before.is_archived if archived is None else archived
    if before.is_archived and to_archive and changed:
        raise ProjectArchived("An archived project cannot be changed.", next_action="Also send archived: false.")
    if "webhook_ids" in changed:
        await _check_webhooks(conn, account_id=account_id, wanted=change.webhook_ids)
    after = before
    if changed or (before.is_archived and not to_archive):
        event = PROJECT_RESTORED if before.is_archived else PROJECT_UPDATED
        after = (await _write(conn, account_id, [change]))[change.id]
        await outbox.publish(conn, event, account_id=account_id, data=project_data(after, changed))
    if to_archive and not after.is_archived:
        [after] = await _archive(conn, account_id, [after.id])
    return after


async def archive(conn: Conn, *, account_id: UUID, project_id: UUID, expected: WriteCondition) -> Project:
    """Archive the project and publish project.archived; leave an archived project unchanged.

    Raise ProjectNotFound, and VersionMismatch unless the project is already archived (RFC 9110, 13.1.1).
    """
    before = await _lock(conn, account_id=account_id, project_id=project_id)
    if before.is_archived:
        return before
    expected.check(of=before.id, version=before.version)
    [archived] = await _archive(conn, account_id, [before.id])
    return archived


async def list_projects(
    conn: Conn,
    *,
    account_id: UUID,
    manifest: str | None = None,
    project_ids: Iterable[UUID] = (),
    slugs: Iterable[str] = (),
) -> list[Project]:
    """Return the projects, active or archived, that a manifest manages or that have one of the ids or slugs.

    A slug can belong to one active project and to any number of archived ones.
    """
    return await store.list_projects(
        conn, account_id=account_id, manifest=manifest, project_ids=project_ids, slugs=slugs
    )


async def lock_projects(conn: Conn, *, account_id: UUID, project_ids: Iterable[UUID]) -> list[Project]:
    """Return those of the projects that exist, locked until the transaction ends.

    Call it after the other functions of this module: the opposite sequence can deadlock.
    """
    return await store.lock(conn, account_id=account_id, project_ids=project_ids)


async def create_many(conn: Conn, *, account_id: UUID, specs: Sequence[ProjectSpec]) -> list[Project]:
    """Create all of the projects or none; publish project.created for each. The webhook ids are not checked.

    Raise SlugsTaken, KeysTaken, ProjectLimit.
    """
    await store.lock_account(conn, account_id=account_id)
    taken = await store.list_slugs(conn, account_id=account_id)
    await _check(conn, account_id, taken, specs)
    slugs = {*taken, *(spec.slug for spec in specs if spec.slug)}
    with_slugs: list[ProjectSpec] = []
    for spec in specs:
        slug = spec.slug or fields.choose_slug(spec.name, slugs)
        slugs.add(slug)
        with_slugs.append(replace(spec, slug=slug))
    inserted = await store.insert(conn, account_id=account_id, specs=with_slugs, now=clock.now())
    created = [inserted[spec.id] for spec in specs]
    await outbox.publish_many(conn, PROJECT_CREATED, [(account_id, project_data(each)) for each in created])
    return created


async def update_many(conn: Conn, *, account_id: UUID, changes: Sequence[ProjectChange]) -> list[Project]:
    """Change all of the projects or none; publish project.updated for each.

    One call can swap slugs and keys. Raise SlugsTaken, KeysTaken, and ResourcesChanged unless each project
    is active and still has the version of its change.
    """
    await store.lock_account(conn, account_id=account_id)
    versions = {change.id: change.version for change in changes}
    before = await _lock_unchanged(conn, account_id, versions)
    after = await _write(conn, account_id, changes)
    data = [project_data(after[each.id], changed_fields(before[each.id], each)) for each in changes]
    await outbox.publish_many(conn, PROJECT_UPDATED, [(account_id, each) for each in data])
    return [after[each.id] for each in changes]


async def archive_many(conn: Conn, *, account_id: UUID, versions: Mapping[UUID, int]) -> list[Project]:
    """Archive all of the projects or none; publish project.archived for each.

    Raise ResourcesChanged unless each project is active and still has the given version.
    """
    await _lock_unchanged(conn, account_id, versions)
    return await _archive(conn, account_id, versions)


async def count(conn: Conn, *, account_id: UUID) -> int:
    """Return the number of active projects of the account."""
    return len(await store.list_slugs(conn, account_id=account_id))


async def clear(conn: Conn, *, account_id: UUID) -> int:
    """Delete all projects of a sandbox account without events; return their number.

    Raise ValueError for a live account, whose projects can only be archived.
    """
    await accounts.require_sandbox_account(conn, account_id=account_id)
    return await store.clear(conn, account_id=account_id)


async def _lock(conn: Conn, *, account_id: UUID, project_id: UUID) -> Project:
    found = await store.lock(conn, account_id=account_id, project_ids=[project_id])
    if not found:
        raise ProjectNotFound
    return found[0]


async def _lock_unchanged(conn: Conn, account_id: UUID, versions: Mapping[UUID, int]) -> dict[UUID, Project]:
    """Lock the projects. Raise ResourcesChanged unless each is active and has its version."""
    found = await store.lock(conn, account_id=account_id, project_ids=versions)
    unchanged = {each.id: each for each in found if not each.is_archived and each.version == versions[each.id]}
    if changed := versions.keys() - unchanged:
        raise ResourcesChanged(changed)
    return unchanged


async def _write(conn: Conn, account_id: UUID, changes: Sequence[ProjectChange]) -> dict[UUID, Project]:
    """Write changes of locked projects, under the lock of the account; restore archived ones."""
    changed_ids = {change.id for change in changes}
    active = await store.list_slugs(conn, account_id=account_id)
    others = [slug for slug, project_id in active.items() if project_id not in changed_ids]
    await _check(conn, account_id, others, changes)
    return await store.update(conn, account_id=account_id, changes=changes, now=clock.now())


async def _archive(conn: Conn, account_id: UUID, project_ids: Iterable[UUID]) -> list[Project]:
    """Archive locked projects; publish project.archived for each."""
    archived = await store.archive(conn, account_id=account_id, project_ids=project_ids, now=clock.now())
    await outbox.publish_many(conn, PROJECT_ARCHIVED, [(account_id, project_data(each)) for each in archived])
    return archived


def _merge_metadata(before: Project, patch: Mapping[str, Any]) -> Mapping[str, str]:
    sent: Mapping[str, str | None] | None = patch.get("metadata", before.metadata)
    pairs = {} if sent is None else {**before.metadata, **sent}
    merged = {key: value for key, value in pairs.items() if value is not None}
    if len(merged) > fields.MAX_METADATA:
        message = f"A project has at most {fields.MAX_METADATA} pairs."
        raise Invalid(("body", "metadata"), message, "metadata_full")
    return merged


async def _check(
    conn: Conn, account_id: UUID, others: Collection[str], wanted: Sequence[ProjectSpec | ProjectChange]
) -> None:
    """Raise ProjectLimit, SlugsTaken, KeysTaken; `others` are the slugs of the other active projects."""
    if len(others) + len(wanted) > MAX_PROJECTS:
        raise ProjectLimit(f"An account has up to {MAX_PROJECTS} active projects.")
    uses = Counter(each.slug for each in wanted if each.slug)
    if refused := (uses.keys() & set(others)) | {slug for slug, number in uses.items() if number > 1}:
        raise SlugsTaken(frozenset(refused))
    has_keys = any(each.manifest is not None for each in wanted)
    if has_keys and (taken := await store.list_taken_keys(conn, account_id=account_id, wanted=wanted)):
        raise KeysTaken(taken)


async def _check_webhooks(conn: Conn, *, account_id: UUID, wanted: Sequence[UUID]) -> None:
    """Raise Invalid with an error for each webhook that is not the account's."""
    if not wanted:
        return
    page = await destinations.list_destinations(conn, account_id=account_id, page=PageRequest(limit=MAX_PROJECTS))
    existing = {each.id for each in page.items}
    errors: list[dict[str, Any]] = [
        {"loc": ("body", "webhook_ids", index), "msg": "No webhook of the account.", "type": "webhook_unknown"}
        for index, each in enumerate(wanted)
        if each not in existing
    ]
    if errors:
        raise Invalid.many(errors)
