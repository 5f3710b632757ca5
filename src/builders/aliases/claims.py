"""The aliases of an account: claim, list, change, release and suspend them, one at a time or in sets.

A set costs the same number of statements as one alias.
"""

from collections.abc import Collection, Mapping, Sequence, Set as AbstractSet
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any
from uuid import UUID

from psycopg import Rollback

from builders.aliases import billing, confirmations, lookups, loops
from builders.aliases.errors import AliasNotFound, AliasReleased, AliasSuspended, NamesRefused
from builders.aliases.events import (
    ALIAS_CREATED,
    ALIAS_DELETED,
    ALIAS_RESTORED,
    ALIAS_SUSPENDED,
    ALIAS_UPDATED,
    AliasStopped,
    event_data,
)
from builders.aliases.fields import MAX_LABELS
from builders.aliases.records import (
    LIVE,
    Alias,
    AliasChange,
    AliasFilters,
    AliasName,
    AliasSpec,
    AliasStatus,
    Availability,
    Name,
    Reason,
    RequestedName,
)
from builders.aliases.store import aliases as store, billing as billing_store, destinations, names as name_store
from builders.identity import accounts
from builders.invoices import invoices
from builders.invoices.records import InvoiceStatus, Stage
from builders.kit.callers import Actor
from builders.kit.db import old_rows
from builders.kit.db.batches import HISTORY_RETENTION, by_account
from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.kit.http.callers import ImpersonationForbidden
from builders.kit.http.etags import WriteCondition
from builders.kit.http.pagination import PageRequest
from builders.kit.mandates import Mandate
from builders.kit.pages import Page
from builders.kit.values import clock, ids
from builders.kit.values.conflicts import KeysTaken, ResourcesChanged

PRUNE_BATCH = 1000
old_rows.declare("aliases_quarantines", key="domain, hash", age="until", after=timedelta())

# By the state of the name.
_REASONS = {"claimed": Reason.TAKEN, "quarantined": Reason.QUARANTINED, "held": Reason.HELD}


async def check_availability(
    conn: Conn, *, realm: UUID, wanted: Sequence[RequestedName], account_id: UUID = ids.NIL
) -> dict[Name, Availability]:
    """Return why names are not available; available ones are absent. One statement.

    Reservations, quarantines and confusable names of the account itself do not count; NIL is no account.
    """
    found = await name_store.list_conflicts(conn, realm=realm, wanted=wanted, now=clock.now())
    unavailable: dict[Name, Availability] = {}
    for each in found:
        name, is_own = Name(each.domain, each.key), each.account_id == account_id
        if each.state is None:
            if not is_own:
                unavailable[name] = Availability(reason=Reason.CONFUSABLE)
        elif not is_own or each.state == "claimed":
            unavailable[name] = Availability(reason=_REASONS[each.state], until=each.until)
    return unavailable


async def reserve_names(
    conn: Conn, *, realm: UUID = LIVE, account_id: UUID, wanted: Sequence[AliasName], until: datetime | None
) -> None:
    """Reserve names for the account until a time, or claim them (None); all or none. Raise NamesRefused."""
    await name_store.lock_skeletons(conn, realm=realm, account_id=account_id, wanted=wanted)
    refused = await _take(conn, realm, account_id, wanted, until)
    # Expired names are in the way only of other accounts.
    if refused and await name_store.delete_expired(conn, realm=realm, wanted=wanted, now=clock.now()):
        refused = await _take(conn, realm, account_id, wanted, until)
    if refused:
        found = await check_availability(conn, realm=realm, wanted=wanted, account_id=account_id)
        raise NamesRefused({name: found.get(name, Availability(reason=Reason.TAKEN)) for name in refused})


async def _take(
    conn: Conn, realm: UUID, account_id: UUID, wanted: Sequence[AliasName], until: datetime | None
) -> AbstractSet[Name]:
    """Take names whose skeletons are locked, all or none; return those that are refused."""
    refused = {each.name for each in wanted}
    async with conn.transaction():  # a savepoint: a refusal undoes the names taken so far
        refused -= await name_store.take(
            conn, realm=realm, account_id=account_id, wanted=wanted, until=until, now=clock.now()
        )
        if refused:
            raise Rollback
    return refused


async def release_reservations(conn: Conn, *, realm: UUID, account_id: UUID, names: Sequence[Name]) -> None:
    """Delete the account's reservations of these names; claimed and quarantined names stay. Idempotent."""
    for domain, found in groupby(sorted(names), attrgetter("domain")):
        row = {"realm": realm, "account_id": account_id, "domain": domain, "keys": [each.key for each in found]}
        await name_store.lock_reserved(conn, **row)
        await name_store.release_reserved(conn, **row)


async def expire_reservations(conn: Conn, *, realm: UUID, account_id: UUID, domain: str) -> None:
    """End the account's reservations and quarantines on a domain; claimed names stay."""
    row = {"realm": realm, "account_id": account_id, "domain": domain}
    await name_store.lock_unclaimed(conn, **row)
    await name_store.expire_unclaimed(conn, **row, now=clock.now())


async def prune_names(conn: Conn) -> int:
    """Delete up to PRUNE_BATCH expired reservations and quarantines; return their number."""
    return await name_store.prune_expired(conn, now=clock.now(), limit=PRUNE_BATCH)


async def erase_names(conn: Conn, *, account_id: UUID, until: datetime, limit: int) -> int:
    """Delete names of an account that is erased, which nobody claims until then; return how many skeletons."""
    return await name_store.erase(
        conn, account_id=account_id, live_realm=LIVE, until=until, now=clock.now(), limit=limit
    )


async def prune_aliases(conn: Conn) -> int:
    """Delete up to PRUNE_BATCH aliases that were released before HISTORY_RETENTION; return their number."""
    now, pruned = clock.now(), 0
    before = now - HISTORY_RETENTION
    for account_id, alias_ids in by_account(
        await store.list_pruned(conn, before=before, now=now, limit=PRUNE_BATCH)
    ):
        pruned += await store.prune_released(
            conn, account_id=account_id, alias_ids=alias_ids, before=before, now=now
        )
    return pruned


async def end_pauses(conn: Conn) -> int:
    """List the aliases whose pauses ended as changed, up to PRUNE_BATCH; return their number.

    `pause_until` and the version stay: they belong to the owner.
    """
    now, ended = clock.now(), 0
    for account_id, alias_ids in by_account(await store.list_ended_pauses(conn, now=now, limit=PRUNE_BATCH)):
        ended += await store.end_pauses(conn, account_id=account_id, alias_ids=alias_ids, now=now)
    return ended


async def create_aliases(conn: Conn, *, realm: UUID = LIVE, account_id: UUID, specs: Sequence[AliasSpec]) -> None:
    """Claim names, all or none; publish alias.created for each.

    Unique keys decide: if two accounts claim a name concurrently, one succeeds and the other gets NamesRefused.
    Raise KeysTaken if a manifest key belongs to another alias, and PricesChanged unless exactly the specs with a
    current paid period continue it. The caller has locked the account's routes, and checks for loops.
    """
    now = clock.now()
    await billing.check_prices(conn, account_id=account_id, specs=specs)
    wanted = [
        AliasName(domain=spec.domain, key=spec.key, skeleton=spec.skeleton, alias_id=spec.id) for spec in specs
    ]
    if not await name_store.take_reserved(conn, realm=realm, account_id=account_id, wanted=wanted, now=now):
        await reserve_names(conn, realm=realm, account_id=account_id, wanted=wanted, until=None)
    if taken := await store.create(conn, account_id=account_id, specs=specs, now=now):
        raise KeysTaken(taken)
    await _replace_destinations(conn, account_id, specs)
    await lookups.write_names(conn, account_id=account_id, alias_ids=[spec.id for spec in specs])
    await outbox.publish_many(conn, ALIAS_CREATED, [(account_id, event_data(spec)) for spec in specs])


async def update_aliases(conn: Conn, *, account_id: UUID, changes: Sequence[AliasChange]) -> None:
    """Change aliases that still have their version, all or none; publish alias.updated for each.

    One call can swap keys of a manifest. Raise ResourcesChanged, and KeysTaken if a key belongs to an alias that
    is not in `changes`. The caller has locked the account's routes, and checks for loops.
    """
    versions = {change.id: change.version for change in changes}
    before = await lock_unchanged(conn, account_id=account_id, versions=versions)
    if taken := await store.list_taken_keys(conn, account_id=account_id, wanted=changes):
        raise KeysTaken(taken)
    await store.update(conn, account_id=account_id, changes=changes, now=clock.now())
    await _replace_destinations(conn, account_id, changes)
    await lookups.write_names(conn, account_id=account_id, alias_ids=versions)
    after = [replace(before[each.id], **each.fields()) for each in changes]
    await outbox.publish_many(conn, ALIAS_UPDATED, [(account_id, event_data(each)) for each in after])


async def release_aliases(
    conn: Conn, *, realm: UUID = LIVE, account_id: UUID, versions: Mapping[UUID, int], quarantine: timedelta
) -> None:
    """Release aliases that still have their version, all or none; publish alias.deleted for each.

    Only the account can claim the names before the quarantine ends. The caller ends its transaction with
    `withdraw_charges`. Raise ResourcesChanged.
    """
    now = clock.now()
    before = await lock_unchanged(conn, account_id=account_id, versions=versions)
    await store.release(conn, account_id=account_id, alias_ids=versions, now=now)
    until = now + quarantine
    await name_store.quarantine(conn, realm=realm, account_id=account_id, aliases=before.values(), until=until)
    await lookups.write_names(conn, account_id=account_id, alias_ids=versions)
    released = [replace(each, enabled=False) for each in before.values()]
    await outbox.publish_many(conn, ALIAS_DELETED, [(account_id, event_data(each)) for each in released])


async def lock_unchanged(conn: Conn, *, account_id: UUID, versions: Mapping[UUID, int]) -> Mapping[UUID, Alias]:
    """Lock aliases that still have their version, by id, until the transaction ends. Raise ResourcesChanged."""
    locked = await store.lock_unchanged(
        conn, account_id=account_id, alias_ids=versions, versions=versions.values()
    )
    unchanged = {each.id: each for each in locked}
    if changed := versions.keys() - unchanged.keys():
        raise ResourcesChanged(frozenset(changed))
    return unchanged


async def set_receiving(conn: Conn, *, account_id: UUID, alias_id: UUID, receives: bool) -> None:
    """Set whether the mail to a name is an event; the caller has locked its alias."""
    await store.set_receiving(conn, account_id=account_id, alias_id=alias_id, receives=receives)
    await lookups.write_names(conn, account_id=account_id, alias_ids=[alias_id])


async def clear_aliases(conn: Conn, *, account_id: UUID) -> int:
    """Delete all aliases of a sandbox account, without quarantines and events; return their number.

    Raise ValueError for a live account.
    """
    await accounts.require_sandbox_account(conn, account_id=account_id)
    return await store.clear(conn, account_id=account_id)


async def settle_invoice(conn: Conn, *, account_id: UUID, invoice_id: UUID, quarantine: timedelta) -> None:
    """Suspend, restore or release the names of an invoice, by its current status. Idempotent.

    The current status decides, because events can arrive twice, late or in another order. Publish
    alias.suspended, alias.restored or alias.deleted for each name. Raise InvoiceNotFound.
    """
    await billing_store.lock_invoice(conn, account_id=account_id, invoice_id=invoice_id)
    invoice = await invoices.get_invoice(conn, account_id=account_id, invoice_id=invoice_id)
    if invoice.status in {InvoiceStatus.PAID, InvoiceStatus.VOID}:
        await billing_store.lock_suspended(conn, account_id=account_id, invoice_id=invoice_id)
        restored = await billing_store.restore(conn, account_id=account_id, invoice_id=invoice_id, now=clock.now())
        await _tell_stopped(conn, ALIAS_RESTORED, account_id, invoice_id, restored)
    elif invoice.status is InvoiceStatus.UNCOLLECTIBLE:
        versions = await billing_store.lock_aliases(conn, account_id=account_id, alias_ids=invoice.alias_ids)
        real = await accounts.load_real_accounts(conn, account_ids=[account_id])
        realm = LIVE if real.get(account_id, account_id) == account_id else account_id
        await release_aliases(conn, realm=realm, account_id=account_id, versions=versions, quarantine=quarantine)
        await billing.withdraw_charges(conn, account_id=account_id, alias_ids=versions)
    elif invoice.status is InvoiceStatus.OPEN and invoice.stage >= Stage.GRACE_ENDED:
        await billing_store.lock_aliases(conn, account_id=account_id, alias_ids=invoice.alias_ids)
        suspended = await billing_store.suspend(
            conn, account_id=account_id, invoice_id=invoice_id, alias_ids=invoice.alias_ids, now=clock.now()
        )
        await _tell_stopped(conn, ALIAS_SUSPENDED, account_id, invoice_id, suspended)


async def _tell_stopped(
    conn: Conn, event: Event, account_id: UUID, invoice_id: UUID, aliases: Sequence[Alias]
) -> None:
    await lookups.write_names(conn, account_id=account_id, alias_ids=[each.id for each in aliases])
    data = [AliasStopped.of(event_data(each), invoice_id=invoice_id) for each in aliases]
    await outbox.publish_many(conn, event, [(account_id, each) for each in data])


async def _replace_destinations(conn: Conn, account_id: UUID, forwards: Sequence[AliasChange | AliasSpec]) -> None:
    """Replace the destinations of aliases; recipients of new addresses have to confirm (`confirmations`)."""
    terms = await confirmations.choose_terms(conn, account_id=account_id)
    await destinations.replace(conn, account_id=account_id, forwards=forwards, terms=terms)


ASK_OPERATOR = "Ask the operator why it is suspended."


async def list_owned(
    conn: Conn, *, realm: UUID = LIVE, account_id: UUID, filters: AliasFilters, page: PageRequest
) -> Page[Alias]:
    """Return the account's aliases, newest first; released ones only with that status in the filter."""
    rows = await store.list_owned(
        conn, account_id=account_id, filters=filters, after=page.before_id, limit=page.limit + 1
    )
    rows = await _add_quarantines(conn, realm, account_id, rows)
    return page.cut(rows, lambda each: [str(each.id)])


async def get_alias(
    conn: Conn, *, realm: UUID = LIVE, account_id: UUID, alias_id: UUID, lock: bool = False
) -> Alias:
    """Return an alias of the account, active or released. Raise AliasNotFound."""
    found = await store.find(conn, account_id=account_id, alias_id=alias_id, lock=lock)
    if found is None:
        raise AliasNotFound
    [alias] = await _add_quarantines(conn, realm, account_id, [found])
    return alias


async def _add_quarantines(conn: Conn, realm: UUID, account_id: UUID, aliases: Sequence[Alias]) -> list[Alias]:
    """Return the aliases, released ones with the end of their quarantine."""
    released = [each for each in aliases if each.status is AliasStatus.DELETED]
    ends = await name_store.list_quarantines(
        conn, realm=realm, account_id=account_id, aliases=released, now=clock.now()
    )
    return [replace(each, quarantined_until=ends[each.id]) if each.id in ends else each for each in aliases]


async def update_alias(
    conn: Conn,
    *,
    realm: UUID = LIVE,
    account_id: UUID,
    alias_id: UUID,
    actor: Actor,
    expected: WriteCondition,
    patch: Mapping[str, Any],
    mandate: Mandate | None = None,
) -> Alias:
    """Change an alias, and publish alias.updated, unless the patch changes nothing; return the alias.

    Raise AliasNotFound, VersionMismatch, AliasSuspended, AliasReleased, Invalid for a forwarding loop,
    ImpersonationForbidden for other destinations in a support session, and MandateExceeded.
    """
    await store.lock_routes(conn, account_id=account_id)
    before = await get_alias(conn, realm=realm, account_id=account_id, alias_id=alias_id, lock=True)
    expected.check(of=before.id, version=before.version)
    if mandate is not None:
        mandate.require_project(before.project_id)
    if before.status is AliasStatus.SUSPENDED:
        raise AliasSuspended(
            "A suspended alias cannot be changed.",
            next_action=ASK_OPERATOR if before.is_blocked else "Pay its invoice to restore it.",
        )
    if before.status is AliasStatus.DELETED:
        raise AliasReleased("The alias was released.")
    current = AliasChange(id=before.id, version=before.version, **before.fields())
    emails, labels = patch.get("destinations", current.destinations), _merged_labels(current.labels, patch)
    wanted = replace(current, **{**patch, "destinations": tuple(emails), "labels": labels})
    if wanted == current:
        return before
    if wanted.destinations != current.destinations:
        _check_actor(actor, "change destinations")
        if mandate is not None:
            added = set(wanted.destinations) - set(current.destinations)
            mandate.require_known(await confirmations.list_new(conn, account_id=account_id, emails=added))
        await _check_loops(conn, realm, account_id, before, wanted)
    await update_aliases(conn, account_id=account_id, changes=[wanted])
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
    mandate: Mandate | None = None,
) -> Alias:
    """Release an alias, and publish alias.deleted, unless it was released before; return the alias.

    Withdraw the charges for later periods, and all charges of the claim within the cooling-off period. Raise
    AliasNotFound, VersionMismatch, AliasSuspended for an alias that the operator suspended,
    ImpersonationForbidden in a support session, and MandateExceeded.
    """
    before = await get_alias(conn, realm=realm, account_id=account_id, alias_id=alias_id, lock=True)
    if mandate is not None:
        mandate.require_project(before.project_id)
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
    await release_aliases(
        conn, realm=realm, account_id=account_id, versions={before.id: before.version}, quarantine=quarantine
    )
    await billing.withdraw_charges(conn, account_id=account_id, alias_ids=[before.id], undone=undone)
    return await get_alias(conn, realm=realm, account_id=account_id, alias_id=alias_id)


def _merged_labels(labels: Mapping[str, str], patch: Mapping[str, Any]) -> Mapping[str, str]:
    sent: Mapping[str, str | None] | None = patch.get("labels", {})
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
    names = sorted({name for email in wanted.destinations for name in loops.list_spellings(email)})
    forwarded = await loops.list_forwarded(conn, realm=realm, account_id=account_id, names=names, lock=True)
    found = [alias, *(each for each in forwarded if each.id != alias.id)]
    if alias.name in loops.list_looping_names(loops.map_routes(found)):
        message = "Mail to this destination would loop through aliases."
        raise Invalid(("body", "destinations"), message, "destination_loop")


async def list_aliases(
    conn: Conn,
    *,
    account_id: UUID,
    manifest: str | None = None,
    names: Sequence[Name] = (),
    alias_ids: Sequence[UUID] = (),
) -> Sequence[Alias]:
    """Return the account's aliases that the manifest manages, and those with one of the names or ids."""
    found, _ = await list_for_plan(
        conn, account_id=account_id, manifest=manifest, names=names, alias_ids=alias_ids
    )
    return found


async def list_for_plan(
    conn: Conn,
    *,
    account_id: UUID,
    manifest: str | None,
    names: Collection[Name] = (),
    alias_ids: Sequence[UUID] = (),
    claimed: Collection[Name] = (),
) -> tuple[Sequence[Alias], Sequence[Alias]]:
    """Return the account's aliases that the manifest manages, and those with one of the names or ids.

    The second ones are released: of the `claimed` names, those whose last period has not ended (`list_reclaims`).
    """
    found = await store.list_aliases(
        conn,
        account_id=account_id,
        manifest=manifest,
        names=names,
        alias_ids=alias_ids,
        claimed=claimed,
        now=clock.now(),
    )
    released = [each for each in found if each.status is AliasStatus.DELETED]
    return [each for each in found if each.status is not AliasStatus.DELETED], released


async def count_aliases(conn: Conn, *, account_id: UUID) -> int:
    """Return the number of the account's aliases, with suspended ones. One statement."""
    return await store.count_aliases(conn, account_id=account_id)


async def count_by_domain(conn: Conn, *, account_id: UUID, domains: Collection[str]) -> Mapping[str, int]:
    """Return the number of the account's aliases on each domain, with suspended ones. One statement."""
    found = await store.count_by_domain(conn, account_id=account_id, domains=domains)
    return dict.fromkeys(domains, 0) | found


async def count_by_project(conn: Conn, *, account_id: UUID, project_ids: Collection[UUID]) -> Mapping[UUID, int]:
    """Return the number of aliases of each project, with suspended ones. At most one statement."""
    if not project_ids:
        return {}
    found = await store.count_by_project(conn, account_id=account_id, project_ids=project_ids)
    return dict.fromkeys(project_ids, 0) | found


async def list_blocked(conn: Conn, *, account_id: UUID, limit: int) -> Sequence[str]:
    """Return the addresses of names that the operator suspended."""
    return await billing_store.list_blocked(conn, account_id=account_id, limit=limit)
