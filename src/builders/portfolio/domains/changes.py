"""Add, change and remove domains of a portfolio, each with any number at once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.http.bulk import RowOutcome
from builders.kit.values import clock, ids
from builders.portfolio.domains import announcements
from builders.portfolio.domains.domain_limit import FULL, MAX_DOMAINS, lock_capacity
from builders.portfolio.domains.errors import DomainLimit, DomainNotFound, DuplicateDomain
from builders.portfolio.domains.events import DOMAIN_ADDED, DOMAIN_REMOVED, domain_data
from builders.portfolio.domains.records import (
    Domain,
    DomainChange,
    DomainPatch,
    ExpirySource,
    NewDomain,
    Ownership,
    PortfolioDomainStatus,
    WrittenDomain,
)
from builders.portfolio.domains.store import domains as store
from builders.portfolio.domains.store.rows import written_columns
from builders.portfolio.ledger import entries
from builders.portfolio.ledger.records import EntryFields


async def add_domain(
    conn: Conn,
    *,
    account_id: UUID,
    new: NewDomain,
    purchase: EntryFields | None = None,
    member_id: UUID | None = None,
) -> Domain:
    """Add a domain, and record its purchase price; publish portfolio.domain.added.

    Raise DuplicateDomain with the id of the existing one, DomainLimit.
    """
    if purchase is not None:
        new = replace(new, acquired_on=new.acquired_on or purchase.occurred_on)
    [written] = await add_domains(conn, account_id=account_id, new=[new])
    if written.outcome is RowOutcome.ERROR:
        raise DomainLimit(FULL)
    if written.outcome is not RowOutcome.CREATED or written.domain is None:
        raise DuplicateDomain(
            f"The portfolio has {new.name.domain} already.",
            domain=new.name.domain,
            domain_id=str(written.id),
            next_action=f"Change it: PATCH /v1/portfolio/domains/{written.id}.",
        )
    if purchase is not None:
        entry = purchase.entry(written.id, created_by=member_id)
        [posted] = await entries.post_entries(conn, account_id=account_id, entries=[entry])
        entries.require_recorded(posted)
    await outbox.publish(conn, DOMAIN_ADDED, account_id=account_id, data=domain_data(written.domain))
    return written.domain


async def add_domains(
    conn: Conn,
    *,
    account_id: UUID,
    new: Sequence[NewDomain],
    uses_rdap: bool = True,
    max_domains: int = MAX_DOMAINS,
) -> Sequence[WrittenDomain]:
    """Add domains with different names; return a result for each in order: created, or unchanged if present.

    The result of a domain above the maximum is an error. Publish no event: the caller reports them together.
    Without `uses_rdap`, registries are not queried about them.
    """
    capacity = await lock_capacity(conn, account_id=account_id, max_domains=max_domains)
    names = [each.name.domain for each in new]
    if len(new) > capacity:
        known = {each.domain for each in await store.list_by_name(conn, account_id=account_id, names=names)}
        added = [each for each in new if each.name.domain not in known][:capacity]
    else:
        added = list(new)
    created = {each.domain: each for each in await _insert(conn, account_id, added, uses_rdap=uses_rdap)}
    missing = [each for each in names if each not in created]
    present = await store.list_by_name(conn, account_id=account_id, names=missing) if missing else ()
    found = {each.domain: each for each in present}
    refused = set(names).difference(each.name.domain for each in added)
    return [_written(created.get(name), found.get(name), is_refused=name in refused) for name in names]


async def _insert(conn: Conn, account_id: UUID, new: Sequence[NewDomain], *, uses_rdap: bool) -> Sequence[Domain]:
    if not new:
        return ()
    now = clock.now()
    rows = [
        {
            **written_columns(each, tld=each.name.tld, now=now),
            "id": domain_id,
            "domain": each.name.domain,
            "unicode": each.name.unicode,
            "tld": each.name.tld,
        }
        for each, domain_id in zip(new, ids.new_many(len(new)), strict=True)
    ]
    rdap_due_at = now if uses_rdap else None
    return await store.insert(conn, account_id=account_id, rows=rows, now=now, rdap_due_at=rdap_due_at)


def _written(created: Domain | None, present: Domain | None, *, is_refused: bool) -> WrittenDomain:
    if created is not None:
        return WrittenDomain(id=created.id, outcome=RowOutcome.CREATED, domain=created)
    if present is None and is_refused:
        return WrittenDomain(id=ids.NIL, outcome=RowOutcome.ERROR)
    if present is None:  # removed concurrently
        return WrittenDomain(id=ids.NIL, outcome=RowOutcome.SKIPPED)
    return WrittenDomain(id=present.id, outcome=RowOutcome.UNCHANGED, domain=present)


async def change_domain(conn: Conn, *, account_id: UUID, domain_id: UUID, patch: DomainPatch) -> Domain:
    """Apply a patch; publish what changed. Raise DomainNotFound."""
    change = DomainChange(id=domain_id, patch=patch)
    [written] = await change_domains(conn, account_id=account_id, changes=[change])
    if written.domain is None:
        raise DomainNotFound
    return written.domain


async def change_domains(
    conn: Conn, *, account_id: UUID, changes: Sequence[DomainChange], is_quiet: bool = False
) -> Sequence[WrittenDomain]:
    """Apply a patch to each of several domains; return a result for each, in their order.

    A domain that does not exist is skipped. Publish what changed, unless `is_quiet`: the caller reports it then.
    """
    before = {
        each.id: each
        for each in await store.lock(conn, account_id=account_id, ids=[change.id for change in changes])
    }
    now = clock.now()
    after = dict(before)
    for change in changes:
        if change.id in after:
            after[change.id] = _patched(after[change.id], change.patch)
    changed = [domain_id for domain_id, domain in after.items() if domain != before[domain_id]]
    rows = []
    for domain_id in changed:
        domain = after[domain_id]
        columns = written_columns(domain, tld=domain.tld, now=now)
        rows.append({**columns, "id": domain_id})
        after[domain_id] = replace(domain, lifecycle=columns["lifecycle"], updated_at=now)
    if rows:
        await store.update(conn, account_id=account_id, rows=rows, now=now)
    if not is_quiet:
        pairs = [(before[domain_id], after[domain_id]) for domain_id in changed]
        await announcements.publish(conn, account_id=account_id, changes=pairs)
    outcomes = dict.fromkeys(after, RowOutcome.UNCHANGED) | dict.fromkeys(changed, RowOutcome.UPDATED)
    return [
        WrittenDomain(id=each.id, outcome=outcomes.get(each.id, RowOutcome.SKIPPED), domain=after.get(each.id))
        for each in changes
    ]


def _patched(domain: Domain, patch: DomainPatch) -> Domain:
    """Return the domain with the values of the patch, and with those that follow from them."""
    members: dict[str, Any] = {
        name: list(value) if isinstance(value, tuple) else value for name, value in patch.members.items()
    }
    expires_at = members.get("expires_at", domain.expires_at)
    if expires_at is None:
        members["expiry_source"] = None
    else:
        source = ExpirySource.MANUAL if expires_at != domain.expires_at else domain.expiry_source
        members["expiry_source"] = members.get("expiry_source") or source
    ownership = members.get("ownership", domain.ownership)
    # A status that only repeats the ownership follows it.
    if ownership != domain.ownership and "status" not in members and domain.status.value == domain.ownership.value:
        members["status"] = PortfolioDomainStatus(ownership.value)
    if ownership is Ownership.OWNED:
        members |= {"counterparty": None, "revenue_share": None}
    return replace(domain, **members)


async def remove_domain(conn: Conn, *, account_id: UUID, domain_id: UUID, member_id: UUID | None = None) -> None:
    """Remove a domain and void its entries; publish portfolio.domain.removed. Raise DomainNotFound."""
    if not await remove_domains(conn, account_id=account_id, ids=[domain_id], member_id=member_id):
        raise DomainNotFound


async def remove_domains(
    conn: Conn, *, account_id: UUID, ids: Sequence[UUID], member_id: UUID | None = None, is_quiet: bool = False
) -> Sequence[UUID]:
    """Remove domains and void their entries; return those that existed.

    Publish portfolio.domain.removed, unless `is_quiet`.
    """
    removed = await store.delete(conn, account_id=account_id, ids=ids)
    await entries.void_entries(
        conn,
        account_id=account_id,
        domain_ids=[each.id for each in removed],
        reason="The domain was removed from the portfolio.",
        voided_by=member_id,
    )
    if not is_quiet:
        events = [(account_id, domain_data(each)) for each in removed]
        await outbox.publish_many(conn, DOMAIN_REMOVED, events)
    return [each.id for each in removed]


async def forget_connection(conn: Conn, *, account_id: UUID, connection_id: UUID) -> int:
    """Detach all domains from a registrar connection; return their number. The registries are queried again."""
    return await store.forget_connection(conn, account_id=account_id, connection_id=connection_id, now=clock.now())
