"""Aliases for their owners, one by one: the rules are those of a manifest."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from builders.aliases import circles, claiming, periods, routing
from builders.aliases.errors import AliasNotFound, AliasReleased, AliasSuspended
from builders.aliases.records import LIVE, MAX_LABELS, AliasChange, AliasPatch, AliasStatus, Filters, Owned
from builders.aliases.store import owned as store
from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.http.callers import Actor, ImpersonationForbidden
from builders.kit.http.etags import WriteCondition
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.values import clock
from builders.kit.values.patches import UNSET, patched

ASK_OPERATOR = "Ask the operator why it is suspended."


async def list_owned(
    conn: Conn, *, realm: UUID = LIVE, account_id: UUID, filters: Filters, page: PageRequest
) -> Page[Owned]:
    """The account's aliases, newest first; released ones only when they are asked for."""
    rows = await store.list_page(
        conn,
        realm=realm,
        account_id=account_id,
        filters=filters,
        after=page.before_id,
        limit=page.limit + 1,
        now=clock.now(),
    )
    return page.cut(rows, lambda each: [str(each.alias.id)])


async def get(conn: Conn, *, realm: UUID = LIVE, account_id: UUID, alias_id: UUID, lock: bool = False) -> Owned:
    """One alias of the account, also a released one. Raises AliasNotFound."""
    found = await store.find(
        conn, realm=realm, account_id=account_id, alias_id=alias_id, now=clock.now(), lock=lock
    )
    if found is None:
        raise AliasNotFound
    return found


async def change(
    conn: Conn,
    *,
    realm: UUID = LIVE,
    account_id: UUID,
    alias_id: UUID,
    actor: Actor,
    expected: WriteCondition,
    patch: AliasPatch,
) -> Owned:
    """The alias with the changes; one that changes nothing is no new version. Publishes alias.updated.

    Raises AliasNotFound, VersionMismatch, AliasSuspended, AliasReleased, Invalid for a circle, and for other
    destinations ImpersonationForbidden when support asks.
    """
    await routing.lock_routes(conn, account_id=account_id)
    before = await get(conn, realm=realm, account_id=account_id, alias_id=alias_id, lock=True)
    expected.check(of=before.alias.id, version=before.alias.version)
    _refuse_ended(before)
    wanted = _changed(before, patch)
    if wanted == _changed(before, AliasPatch()):
        return before
    if list(wanted.destinations) != list(before.alias.destinations):
        _may_redirect(actor)
        await _refuse_circle(conn, realm, account_id, before, wanted)
    await claiming.update(conn, account_id=account_id, changes=[wanted])
    return await get(conn, realm=realm, account_id=account_id, alias_id=alias_id)


async def give_up(
    conn: Conn,
    *,
    realm: UUID = LIVE,
    account_id: UUID,
    alias_id: UUID,
    actor: Actor,
    expected: WriteCondition,
    quarantine: timedelta,
    cooling_off: timedelta,
) -> Owned:
    """The alias as it is released, now or before; publishes alias.deleted, once.

    What was billed ahead is withdrawn, and all that was charged when this undoes the claim.

    Raises AliasNotFound, VersionMismatch, AliasSuspended for one that the operator suspended, and
    ImpersonationForbidden when support asks.
    """
    before = await get(conn, realm=realm, account_id=account_id, alias_id=alias_id, lock=True)
    if before.alias.status is AliasStatus.DELETED:
        return before
    expected.check(of=before.alias.id, version=before.alias.version)
    if actor.type == "support":
        raise ImpersonationForbidden(
            "A support session does not release names.", next_action="The account's holder can."
        )
    if before.alias.is_blocked:  # else claiming it again would end the suspension
        raise AliasSuspended("The operator suspended this name: it is not released.", next_action=ASK_OPERATOR)
    versions = {before.alias.id: before.alias.version}
    terms = await periods.list_release_terms(
        conn, account_id=account_id, aliases=[before.alias], cooling_off=cooling_off
    )
    undone = {alias_id for alias_id, each in terms.items() if each.undoable_until is not None}
    await claiming.release(conn, realm=realm, account_id=account_id, versions=versions, quarantine=quarantine)
    await periods.withdraw_charges(conn, account_id=account_id, alias_ids=versions, undone=undone)
    return await get(conn, realm=realm, account_id=account_id, alias_id=alias_id)


def _refuse_ended(owned: Owned) -> None:
    if owned.alias.status is AliasStatus.SUSPENDED:
        raise AliasSuspended(
            "A suspended alias is not changed.",
            next_action=ASK_OPERATOR if owned.alias.is_blocked else "Pay its invoice, and it is restored.",
        )
    if owned.alias.status is AliasStatus.DELETED:
        raise AliasReleased("The alias was released.", next_action="Claim the name again with a manifest.")


def _changed(before: Owned, patch: AliasPatch) -> AliasChange:
    alias = before.alias
    sent = {} if patch.labels is UNSET else patch.labels
    merged = {} if sent is None else {**alias.labels, **sent}
    labels = {name: value for name, value in merged.items() if value is not None}
    if sent and len(labels) > MAX_LABELS:
        raise Invalid(("body", "labels"), f"An alias has at most {MAX_LABELS} labels.", "too_long")
    return AliasChange(
        id=alias.id,
        version=alias.version,
        destinations=list(patched(patch.destinations, alias.destinations)),
        enabled=patched(patch.enabled, before.enabled),
        note=patched(patch.note, alias.note),
        labels=labels,
        manifest=alias.manifest,
        manifest_key=alias.manifest_key,
        project_id=alias.project_id,
    )


def _may_redirect(actor: Actor) -> None:
    if actor.type == "support":  # who gets the mail of a name can get at more than the name
        raise ImpersonationForbidden(
            "A support session does not change where mail goes.", next_action="The account's holder can."
        )


async def _refuse_circle(conn: Conn, realm: UUID, account_id: UUID, before: Owned, wanted: AliasChange) -> None:
    """Raises Invalid for a destination from which mail would come back, or go round elsewhere."""
    alias = replace(before.alias, destinations=wanted.destinations)
    names = sorted({name for email in wanted.destinations for name in circles.spellings(email)})
    ahead = await routing.keep_ahead(conn, realm=realm, account_id=account_id, names=names)
    found = [alias, *(each for each in ahead if each.id != alias.id)]
    if alias.name in circles.endless(circles.routes_of(found)):
        message = "Mail to it would go round in a circle of aliases."
        raise Invalid(("body", "destinations"), message, "destination_loop")
