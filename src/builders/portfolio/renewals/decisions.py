"""Decide about renewals, up to a thousand domains at once."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.rows import RowOutcome, RowProblem, RowResult, refused_row
from builders.kit.values import clock
from builders.kit.values.patches import patched, set_members
from builders.portfolio.domains import changes as domain_changes, lookups
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.domains.records import (
    ChangeSource,
    Domain,
    DomainChange,
    DomainPatch,
    EditedRow,
    MemberChange,
    RenewalDecision,
)
from builders.portfolio.renewals import store
from builders.portfolio.renewals.events import RENEWAL_DECISION_CHANGED, DecisionData
from builders.portfolio.renewals.records import Decision, DecisionPatch, DecisionRow
from builders.portfolio.renewals.report import load_decisions

_OF_DOMAIN = frozenset({"auto_renew", "renewal_price"})  # members of a decision that are fields of the domain


async def decide(
    conn: Conn, *, account_id: UUID, member_id: UUID, rows: Sequence[DecisionRow | RowResult]
) -> Sequence[RowResult]:
    """Apply decisions and return a result for each row, in their order; needs a transaction.

    Rows that are results already are returned unchanged. Publish portfolio.renewal.decision_changed for each
    domain with another decision. Raise DomainNotFound when a domain is removed at the same time.
    """
    await store.lock_portfolio(conn, account_id=account_id)
    keys = {row.domain for row in rows if isinstance(row, DecisionRow)}
    domains = await lookups.load_domains_by_key(conn, account_id=account_id, keys=keys)
    planned, refused = _plan(rows, domains)
    if len(await lookups.lock_domains(conn, account_id=account_id, ids=planned.keys())) < len(planned):
        message = "A domain was removed at the same time, so no decision was recorded."
        raise DomainNotFound(message, next_action="Send the request again.")
    before = await load_decisions(
        conn, account_id=account_id, expiries={each: domain.expires_at for each, (domain, _) in planned.items()}
    )
    changed_domains = await _change_domains(conn, account_id, member_id, planned)
    now = clock.now()
    after = {each: _decided(before[each], *planned[each], now) for each in planned}
    changed = {each for each in planned if after[each] != before[each]}
    if changed:
        saved = [after[each] for each in changed]
        await store.upsert_decisions(conn, account_id=account_id, member_id=member_id, decisions=saved)
    events = [
        (account_id, _event(domain, after[each], before[each]))
        for each, (domain, _) in planned.items()
        if after[each].decision is not before[each].decision
    ]
    await outbox.publish_many(conn, RENEWAL_DECISION_CHANGED, events)
    changed |= changed_domains
    return [
        _result(row, domains[row.domain], (before[domains[row.domain].id], after[domains[row.domain].id]), changed)
        if isinstance(row, DecisionRow) and at not in refused
        else refused[at]
        for at, row in enumerate(rows)
    ]


async def list_decisions(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> Sequence[Decision]:
    """Return the last decisions about those of the domains that have one, also about an earlier expiry."""
    return await store.list_decisions(conn, account_id=account_id, domain_ids=domain_ids)


async def record_decisions(
    conn: Conn, *, account_id: UUID, member_id: UUID, decisions: Sequence[Decision]
) -> Sequence[UUID]:
    """Record decisions of an import where there is none or an earlier one; return their domains, which are locked.

    Publish nothing: the caller reports them.
    """
    return await store.upsert_decisions(
        conn, account_id=account_id, member_id=member_id, decisions=decisions, only_later=True
    )


def _plan(
    rows: Sequence[DecisionRow | RowResult], domains: Mapping[str, Domain]
) -> tuple[Mapping[UUID, tuple[Domain, DecisionPatch]], Mapping[int, RowResult]]:
    """Return the patch of each domain, and the results of the rows without one by their position."""
    planned: dict[UUID, tuple[Domain, DecisionPatch]] = {}
    refused: dict[int, RowResult] = {}
    for at, row in enumerate(rows):
        if isinstance(row, RowResult):
            refused[at] = row
            continue
        domain = domains.get(row.domain)
        if domain is None:
            message = "The portfolio has no such domain."
            refused[at] = refused_row(
                "portfolio_domain_not_found", message, index=row.index, domain=row.domain, field="domain_id"
            )
        elif domain.id in planned:
            message = "An earlier row is about the same domain."
            refused[at] = refused_row("duplicate_row", message, index=row.index, domain=domain.domain)
        else:
            planned[domain.id] = (domain, row.patch)
    return planned, refused


def _decided(before: Decision, domain: Domain, patch: DecisionPatch, now: datetime) -> Decision:
    """Return the decision after a patch; the same record without a change."""
    own = {name: value for name, value in set_members(patch).items() if name not in _OF_DOMAIN}
    after = replace(before, **own)
    return before if after == before else replace(after, expires_at=domain.expires_at, decided_at=now)


async def _change_domains(
    conn: Conn, account_id: UUID, member_id: UUID, planned: Mapping[UUID, tuple[Domain, DecisionPatch]]
) -> set[UUID]:
    """Apply what belongs to the domains; return those that changed."""
    changes = [
        DomainChange(id=domain_id, patch=DomainPatch(members))
        for domain_id, (_, patch) in planned.items()
        if (members := {name: value for name, value in set_members(patch).items() if name in _OF_DOMAIN})
    ]
    if not changes:
        return set()
    written = await domain_changes.change_domains(
        conn, account_id=account_id, changes=changes, source=ChangeSource.MEMBER, member_id=member_id
    )
    return {each.id for each in written if each.outcome is RowOutcome.UPDATED}


def _event(domain: Domain, decision: Decision, previous: Decision) -> DecisionData:
    return DecisionData(
        id=domain.id,
        domain=domain.domain,
        decision=decision.decision,
        previous=previous.decision,
        years=decision.years,
        note=decision.note,
        snooze_until=decision.snooze_until,
        expires_at=domain.expires_at,
    )


def _result(
    row: DecisionRow, domain: Domain, decisions: tuple[Decision, Decision], changed: Collection[UUID]
) -> EditedRow:
    """Return the result of a row about a domain, as it was before, with its decisions before and after."""
    before, decision = decisions
    auto_renew = patched(row.patch.auto_renew, domain.auto_renew)
    pairs = [
        (name, getattr(domain if name in _OF_DOMAIN else before, name), value)
        for name, value in set_members(row.patch).items()
    ]
    warnings = []
    if decision.decision is RenewalDecision.DROP and auto_renew:
        message = "The registrar renews the domain automatically: switch auto-renew off there."
        warnings.append(RowProblem(code="auto_renew_on", message=message, field="auto_renew"))
    if decision.decision is RenewalDecision.RENEW and auto_renew is False:
        message = "The registrar does not renew the domain automatically: renew it there."
        warnings.append(RowProblem(code="auto_renew_off", message=message, field="auto_renew"))
    return EditedRow(
        outcome=RowOutcome.UPDATED if domain.id in changed else RowOutcome.UNCHANGED,
        changes=[MemberChange.of(name, old, new) for name, old, new in pairs if old != new],
        index=row.index,
        domain=domain.domain,
        id=domain.id,
        warnings=warnings,
    )
