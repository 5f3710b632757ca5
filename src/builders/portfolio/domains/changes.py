"""Add, change, tag and remove domains of a portfolio, any number at once, up to a maximum."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

from pydantic_core import to_json

from builders.identity import accounts
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.limits import maximums
from builders.kit.rows import RowOutcome, RowProblem, RowResult
from builders.kit.values import clock, ids
from builders.kit.values.domain_names import find_a_label
from builders.portfolio.domains import events, lookups
from builders.portfolio.domains.errors import DomainLimit, DomainNotFound, DomainsChanged, DuplicateDomain
from builders.portfolio.domains.events import DOMAIN_ADDED, DOMAIN_REMOVED, domain_data
from builders.portfolio.domains.fields import MAX_TAGS
from builders.portfolio.domains.records import (
    ChangeSource,
    Domain,
    DomainChange,
    DomainEdit,
    DomainPatch,
    EditedRow,
    ExpirySource,
    NewDomain,
    Ownership,
    PortfolioDomainStatus,
    WrittenDomain,
    domain_patch,
    list_changes,
)
from builders.portfolio.domains.store import domains as store
from builders.portfolio.domains.store.domains import written_columns
from builders.portfolio.domains.today import Today, get_today
from builders.portfolio.ledger import entries
from builders.portfolio.ledger.records import EntryFields

MAX_DOMAINS = maximums.declare(
    "portfolio_domains", 200_000, of="portfolio", counts="Domains, in any status.", code=DomainLimit.code
)
MAX_TEST_DOMAINS = maximums.declare(
    "test_portfolio_domains",
    10_000,
    of="portfolio of a sandbox account",
    counts="Domains, in any status.",
    code=DomainLimit.code,
)
FULL = f"A portfolio has at most {MAX_DOMAINS:,} domains, and one of test keys {MAX_TEST_DOMAINS:,}."
FULL_PROBLEM = RowProblem(code=DomainLimit.code, message=f"{FULL} Delete some, then send the row again.")
_UNKNOWN = RowProblem(code="portfolio_domain_not_found", message="The portfolio has no such domain.")
_TOO_MANY_TAGS = RowProblem(
    code="too_many_tags", message=f"A domain has at most {MAX_TAGS} tags.", field="add_tags"
)


async def lock_capacity(conn: Conn, *, account_id: UUID, max_domains: int = MAX_DOMAINS) -> int:
    """Return how many domains the portfolio can still add; lock their number until the transaction ends.

    A transaction that also changes domains calls this first: all take the locks in one order.
    """
    await store.lock_portfolio(conn, account_id=account_id)
    real = await accounts.load_real_accounts(conn, account_ids=[account_id])
    is_test = real.get(account_id, account_id) != account_id
    held = await store.count(conn, account_id=account_id)
    return max(min(max_domains, MAX_TEST_DOMAINS) - held if is_test else max_domains - held, 0)


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
    today = await get_today(conn, account_id=account_id)
    rows = [
        {
            **written_columns(each, tld=each.name.tld, today=today),
            "id": domain_id,
            "domain": each.name.domain,
            "unicode": each.name.unicode,
            "tld": each.name.tld,
        }
        for each, domain_id in zip(added, ids.new_many(len(added)), strict=True)
    ]
    of_now = {"now": today.now, "today": today.day, "rdap_due_at": today.now if uses_rdap else None}
    inserted = await store.insert(conn, account_id=account_id, rows=to_json(rows).decode(), **of_now)
    written = {each.domain: WrittenDomain.of(each, RowOutcome.CREATED) for each in inserted}
    missing = [each for each in names if each not in written]
    for each in await store.list_by_name(conn, account_id=account_id, names=missing):
        written[each.domain] = WrittenDomain.of(each, RowOutcome.UNCHANGED)
    refused = set(names).difference(each.name.domain for each in added)
    # Of those that are in neither: above the maximum, or removed concurrently.
    gone = {name: RowOutcome.ERROR if name in refused else RowOutcome.SKIPPED for name in names}
    return [written.get(name) or WrittenDomain(id=ids.NIL, outcome=gone[name]) for name in names]


async def change_domain(
    conn: Conn,
    *,
    account_id: UUID,
    domain: Domain,
    patch: DomainPatch,
    today: Today,
    source: ChangeSource,
    member_id: UUID | None = None,
) -> Domain:
    """Apply a patch to a locked domain; record and publish what changed. Return the domain."""
    changes = [DomainChange(id=domain.id, patch=patch)]
    after, _ = await _write(
        conn, account_id, {domain.id: domain}, changes, today=today, source=source, member_id=member_id
    )
    return after[domain.id]


async def change_domains(
    conn: Conn,
    *,
    account_id: UUID,
    changes: Sequence[DomainChange],
    source: ChangeSource,
    member_id: UUID | None = None,
    is_quiet: bool = False,
) -> Sequence[WrittenDomain]:
    """Apply a patch to each of several domains; return a result for each, in their order.

    A domain that does not exist is skipped. Record what changed, with its source and who requested it. Publish it
    unless `is_quiet`: the caller reports it then.
    """
    before = await lookups.lock_domains(conn, account_id=account_id, ids=[change.id for change in changes])
    today = await get_today(conn, account_id=account_id)
    after, changed = await _write(
        conn, account_id, before, changes, today=today, source=source, member_id=member_id, is_quiet=is_quiet
    )
    outcomes = dict.fromkeys(after, RowOutcome.UNCHANGED) | dict.fromkeys(changed, RowOutcome.UPDATED)
    return [
        WrittenDomain(id=each.id, outcome=outcomes.get(each.id, RowOutcome.SKIPPED), domain=after.get(each.id))
        for each in changes
    ]


async def _write(
    conn: Conn,
    account_id: UUID,
    before: Mapping[UUID, Domain],
    changes: Sequence[DomainChange],
    *,
    today: Today,
    source: ChangeSource,
    member_id: UUID | None,
    is_quiet: bool = False,
) -> tuple[Mapping[UUID, Domain], Sequence[UUID]]:
    """Change locked domains; return all of them as they are then, and the ids of those that changed."""
    now, after = today.now, dict(before)
    for change in changes:
        if change.id in after:
            after[change.id] = _patched(after[change.id], change.patch)
    changed = [domain_id for domain_id, domain in after.items() if domain != before[domain_id]]
    rows = []
    for domain_id, change_id in zip(changed, ids.new_many(len(changed)), strict=True):
        domain = after[domain_id]
        columns = written_columns(domain, tld=domain.tld, today=today)
        recorded = {"change_id": change_id, "changes": list_changes(before[domain_id], domain)}
        rows.append({**columns, **recorded, "id": domain_id})
        after[domain_id] = replace(domain, lifecycle=columns["lifecycle"], updated_at=now)
    if rows:
        of_now = {"now": now, "today": today.day, "source": source, "member_id": member_id}
        await store.update(conn, account_id=account_id, rows=to_json(rows).decode(), **of_now)
    if not is_quiet:
        pairs = [(before[domain_id], after[domain_id]) for domain_id in changed]
        await events.publish(conn, account_id=account_id, changes=pairs)
    return after, changed


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
        published = [(account_id, domain_data(each)) for each in removed]
        await outbox.publish_many(conn, DOMAIN_REMOVED, published)
    return [each.id for each in removed]


async def forget_connection(conn: Conn, *, account_id: UUID, connection_id: UUID) -> int:
    """Detach all domains from a registrar connection; return their number. The registries are queried again."""
    return await store.forget_connection(conn, account_id=account_id, connection_id=connection_id, now=clock.now())


async def edit_domains(
    conn: Conn,
    *,
    account_id: UUID,
    keys: Sequence[str],
    edit: DomainEdit,
    member_id: UUID,
    digest: str | None = None,
) -> tuple[Sequence[EditedRow], str]:
    """Change domains, given by id or name, in the same way; return a result for each, and a digest of it all.

    A constant number of statements. Publish what changed of each domain. Raise DomainsChanged when the digest is
    another one than the given.
    """
    of_key = await _lock_named(conn, account_id=account_id, keys=keys)
    before = {each.id: each for each in of_key.values()}
    planned = {domain_id: _edited(domain, edit) for domain_id, domain in before.items()}
    refused = {domain_id: each for domain_id, each in planned.items() if isinstance(each, RowProblem)}
    patches = [
        DomainChange(id=domain_id, patch=each)
        for domain_id, each in planned.items()
        if not isinstance(each, RowProblem)
    ]
    edited = await change_domains(
        conn, account_id=account_id, changes=patches, source=ChangeSource.MEMBER, member_id=member_id
    )
    written = {each.id: each for each in edited}
    outcomes = {domain_id: each.outcome for domain_id, each in written.items()}
    rows = [
        EditedRow.of(row, changes=list_changes(before[row.id], written[row.id].domain or before[row.id]))
        if row.id is not None and row.outcome is RowOutcome.UPDATED
        else EditedRow.of(row)
        for row in _results_of(keys, of_key, outcomes, refused)
    ]
    require_shown(rows, digest=digest)
    return rows, digest_changes(rows)


def require_shown(rows: Sequence[RowResult], *, digest: str | None) -> None:
    """Raise DomainsChanged when the rows change other than those whose digest a dry run gave."""
    if digest not in {None, digest_changes(rows)}:
        raise DomainsChanged


def digest_changes(rows: Sequence[RowResult]) -> str:
    """Return a digest of what changes, without the rows that change nothing."""
    edited = [row for row in rows if isinstance(row, EditedRow)]
    changed = [(str(row.id), [asdict(each) for each in row.changes]) for row in edited if row.changes]
    return hashlib.sha256(json.dumps(changed).encode()).hexdigest()[:32]


def _edited(domain: Domain, edit: DomainEdit) -> DomainPatch | RowProblem:
    """Return the patch of one of many domains, or why it is refused."""
    patch = edit.patches[domain.ownership]
    if isinstance(patch, RowProblem) or not (edit.add_tags or edit.remove_tags):
        return patch
    kept = (tag for tag in patch.members.get("tags", domain.tags) if tag not in edit.remove_tags)
    tags = [*dict.fromkeys((*kept, *edit.add_tags))]
    return _TOO_MANY_TAGS if len(tags) > MAX_TAGS else DomainPatch({**patch.members, "tags": tags})


async def hand_over_expiries(
    conn: Conn, *, account_id: UUID, keys: Sequence[str], member_id: UUID
) -> Sequence[RowResult]:
    """Let the registries decide the expiries of domains, given by id or name; return a result for each.

    They are queried at once. The present dates stay until then. A connected registrar keeps those that it
    reported, and its next sync replaces the others.
    """
    of_key = await _lock_named(conn, account_id=account_id, keys=keys)
    changes = [
        DomainChange(id=domain.id, patch=domain_patch(expiry_source=ExpirySource.RDAP))
        for domain in {each.id: each for each in of_key.values()}.values()
        if domain.expires_at is not None
        and (domain.connection_id is None or domain.expiry_source is not ExpirySource.REGISTRAR)
    ]
    written = await change_domains(
        conn, account_id=account_id, changes=changes, source=ChangeSource.MEMBER, member_id=member_id
    )
    outcomes = {domain.id: RowOutcome.UNCHANGED for domain in of_key.values()}
    return _results_of(keys, of_key, outcomes | {each.id: each.outcome for each in written})


async def _lock_named(conn: Conn, *, account_id: UUID, keys: Sequence[str]) -> Mapping[str, Domain]:
    """Lock the domains that keys name, each by id or name; return those that exist."""
    by_id = {key: each for key in keys if (each := ids.find(key)) is not None}
    names = {key: name for key in keys if key not in by_id and (name := find_a_label(key)) is not None}
    named = await store.list_by_name(conn, account_id=account_id, names=sorted(set(names.values())))
    id_of = {each.domain: each.id for each in named}
    by_id |= {key: id_of[name] for key, name in names.items() if name in id_of}
    domains = {
        each.id: each for each in await store.lock(conn, account_id=account_id, ids=sorted(set(by_id.values())))
    }
    return {key: domains[domain_id] for key, domain_id in by_id.items() if domain_id in domains}


def _results_of(
    keys: Sequence[str],
    of_key: Mapping[str, Domain],
    outcomes: dict[UUID, RowOutcome],
    refused: Mapping[UUID, RowProblem] | None = None,
) -> Sequence[RowResult]:
    """Return the result of each key. A domain that is given twice is changed once."""
    results = []
    for index, key in enumerate(keys):
        domain = of_key.get(key)
        if domain is None:
            results.append(RowResult(index=index, domain=key, outcome=RowOutcome.ERROR, errors=[_UNKNOWN]))
            continue
        outcome = outcomes.get(domain.id, RowOutcome.ERROR)
        outcomes |= {domain.id: RowOutcome.UNCHANGED} if outcome is RowOutcome.UPDATED else {}
        errors = [(refused or {})[domain.id]] if outcome is RowOutcome.ERROR else []
        results.append(RowResult(index=index, domain=domain.domain, id=domain.id, outcome=outcome, errors=errors))
    return results
