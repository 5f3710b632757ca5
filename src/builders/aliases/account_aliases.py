"""The aliases of an account: list, read, change and release one at a time, by the rules of a manifest."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from builders.aliases import billing, claims, forwarding
from builders.aliases.errors import AliasNotFound, AliasReleased, AliasSuspended
from builders.aliases.records import (
    LIVE,
    MAX_LABELS,
    Alias,
    AliasChange,
    AliasFilters,
    AliasPatch,
    AliasStatus,
    Name,
)
from builders.aliases.store import aliases as store
from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.http.callers import Actor, ImpersonationForbidden
from builders.kit.http.etags import WriteCondition
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.values import clock
from builders.kit.values.patches import UNSET, set_members

ASK_OPERATOR = "Ask the operator why it is suspended."


async def list_owned(
    conn: Conn, *, realm: UUID = LIVE, account_id: UUID, filters: AliasFilters, page: PageRequest
) -> Page[Alias]:
    """Return the account's aliases, newest first; released ones only with that status in the filter."""
    rows = await store.list_owned(
        conn,
        realm=realm,
        account_id=account_id,
        filters=filters,
        after=page.before_id,
        limit=page.limit + 1,
        now=clock.now(),
    )
    return page.cut(rows, lambda each: [str(each.id)])


async def get_alias(
    conn: Conn, *, realm: UUID = LIVE, account_id: UUID, alias_id: UUID, lock: bool = False
) -> Alias:
    """Return an alias of the account, active or released. Raise AliasNotFound."""
    found = await store.find(
        conn, realm=realm, account_id=account_id, alias_id=alias_id, now=clock.now(), lock=lock
    )
    if found is None:
        raise AliasNotFound
    return found


async def update_alias(
    conn: Conn,
    *,
    realm: UUID = LIVE,
    account_id: UUID,
    alias_id: UUID,
    actor: Actor,
    expected: WriteCondition,
    patch: AliasPatch,
) -> Alias:
    """Change an alias, and publish alias.updated, unless the patch changes nothing; return the alias.

    Raise AliasNotFound, VersionMismatch, AliasSuspended, AliasReleased, Invalid for a forwarding loop, and
    ImpersonationForbidden for other destinations in a support session.
    """
    await store.lock_routes(conn, account_id=account_id)
    before = await get_alias(conn, realm=realm, account_id=account_id, alias_id=alias_id, lock=True)
    expected.check(of=before.id, version=before.version)
    if before.status is AliasStatus.SUSPENDED:
        raise AliasSuspended(
            "A suspended alias cannot be changed.",
            next_action=ASK_OPERATOR if before.is_blocked else "Pay its invoice to restore it.",
        )
    if before.status is AliasStatus.DELETED:
        raise AliasReleased("The alias was released.")
    current = AliasChange(id=before.id, version=before.version, **before.fields())
    members = set_members(patch)
    if patch.labels is not UNSET:
        members["labels"] = _merged_labels(current.labels, patch.labels)
    wanted = replace(current, **members)
    if wanted == current:
        return before
    if wanted.destinations != current.destinations:
        _check_actor(actor, "change destinations")
        await _check_loops(conn, realm, account_id, before, wanted)
    await claims.update_aliases(conn, account_id=account_id, changes=[wanted])
    return await get_alias(conn, realm=realm, account_id=account_id, alias_id=alias_id)


async def release_alias(
    conn: Conn,
    *,
    realm: UUID = LIVE,
    account_id: UUID,
    alias_id: UUID,
    actor: Actor,
    expected: WriteCondition,
    quarantine: timedelta,
    cooling_off: timedelta,
) -> Alias:
    """Release an alias, and publish alias.deleted, unless it was released before; return the alias.

    Withdraw the charges for later periods, and all charges of the claim within the cooling-off period. Raise
    AliasNotFound, VersionMismatch, AliasSuspended for an alias that the operator suspended, and
    ImpersonationForbidden in a support session.
    """
    before = await get_alias(conn, realm=realm, account_id=account_id, alias_id=alias_id, lock=True)
    if before.status is AliasStatus.DELETED:
        return before
    expected.check(of=before.id, version=before.version)
    _check_actor(actor, "release names")
    if before.is_blocked:  # another claim would end the suspension
        raise AliasSuspended(
            "The operator suspended this name, so it cannot be released.", next_action=ASK_OPERATOR
        )
    terms = await billing.list_release_terms(
        conn, account_id=account_id, aliases=[before], cooling_off=cooling_off
    )
    undone = {alias_id for alias_id, each in terms.items() if each.undoable_until is not None}
    await claims.release_aliases(
        conn, realm=realm, account_id=account_id, versions={before.id: before.version}, quarantine=quarantine
    )
    await billing.withdraw_charges(conn, account_id=account_id, alias_ids=[before.id], undone=undone)
    return await get_alias(conn, realm=realm, account_id=account_id, alias_id=alias_id)


def _merged_labels(labels: Mapping[str, str], sent: Mapping[str, str | None] | None) -> Mapping[str, str]:
    if sent is None:
        return {}
    merged = {name: value for name, value in {**labels, **sent}.items() if value is not None}
    if sent and len(merged) > MAX_LABELS:
        raise Invalid(("body", "labels"), f"An alias has at most {MAX_LABELS} labels.", "too_long")
    return merged


def _check_actor(actor: Actor, what: str) -> None:
    if actor.type == "support":  # mail of a name can give access to other accounts of its owner
        next_action = "Use a key or a session of the account's holder."
        raise ImpersonationForbidden(f"A support session cannot {what}.", next_action=next_action)


async def _check_loops(conn: Conn, realm: UUID, account_id: UUID, before: Alias, wanted: AliasChange) -> None:
    """Raise Invalid for a destination that forwards mail back to the alias, or into another loop."""
    alias = replace(before, destinations=wanted.destinations)
    names = sorted({name for email in wanted.destinations for name in forwarding.list_spellings(email)})
    forwarded = await forwarding.list_forwarded(conn, realm=realm, account_id=account_id, names=names, lock=True)
    found = [alias, *(each for each in forwarded if each.id != alias.id)]
    if alias.name in forwarding.find_looping_names(forwarding.map_routes(found)):
        message = "Mail to this destination would loop through aliases."
        raise Invalid(("body", "destinations"), message, "destination_loop")


async def list_aliases(
    conn: Conn,
    *,
    account_id: UUID,
    manifest: str | None = None,
    names: Sequence[Name] = (),
    alias_ids: Sequence[UUID] = (),
) -> list[Alias]:
    """Return the account's aliases that the manifest manages, and those with one of the names or ids."""
    return await store.list_aliases(
        conn, account_id=account_id, manifest=manifest, names=names, alias_ids=alias_ids
    )


async def count_aliases(conn: Conn, *, account_id: UUID) -> int:
    """Return the number of the account's aliases, with suspended ones. One statement."""
    return await store.count_aliases(conn, account_id=account_id)


async def count_by_domain(conn: Conn, *, account_id: UUID, domains: Collection[str]) -> Mapping[str, int]:
    """Return the number of the account's aliases on each domain, with suspended ones. One statement."""
    return await store.count_by_domain(conn, account_id=account_id, domains=domains)


async def count_by_project(conn: Conn, *, account_id: UUID, project_ids: Collection[UUID]) -> Mapping[UUID, int]:
    """Return the number of aliases of each project, with suspended ones. At most one statement."""
    if not project_ids:
        return {}
    return await store.count_by_project(conn, account_id=account_id, project_ids=project_ids)
