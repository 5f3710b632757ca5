"""Match charges with the domains of a portfolio, book them in its ledger, and undo that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from psycopg.errors import ForeignKeyViolation

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.billing import store
from builders.portfolio.billing.bill_text import read_names
from builders.portfolio.billing.matches import (
    LIKENESS,
    REFUND_PERIOD,
    CandidateDomains,
    Earlier,
    Recorded,
    candidate_of,
    match_charge,
    match_refund,
)
from builders.portfolio.billing.records import (
    AppliedCharge,
    ApplyOutcome,
    Booking,
    Candidate,
    Charge,
    ChargeReason,
    Match,
    MatchMethod,
)
from builders.portfolio.domains import lookups
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.domains.records import Domain, PortfolioDomainStatus
from builders.portfolio.finance import sales as finance_sales
from builders.portfolio.ledger import currencies, entries as ledger_entries
from builders.portfolio.ledger.records import MAX_MEMO, EntryKind, EntrySource, NewEntry
from builders.portfolio.registrars import providers
from builders.portfolio.registrars.records import ChargeKind

ENTRY_KINDS: Mapping[ChargeKind, EntryKind] = {
    ChargeKind.REGISTRATION: EntryKind.REGISTRATION,
    ChargeKind.RENEWAL: EntryKind.RENEWAL,
    ChargeKind.TRANSFER: EntryKind.TRANSFER_FEE,
    ChargeKind.REDEMPTION: EntryKind.REDEMPTION,
    ChargeKind.PRIVACY: EntryKind.PRIVACY,
    ChargeKind.TAX: EntryKind.TAX,
    ChargeKind.REFUND: EntryKind.REFUND,
    ChargeKind.OTHER: EntryKind.OTHER_COST,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decision:
    charge: Charge
    match: Match
    candidate: Candidate | None  # the accepted one


async def match_charges(
    conn: Conn, *, account_id: UUID, charges: Sequence[Charge], booking: Booking
) -> Sequence[AppliedCharge]:
    """Match charges that are not applied, book those that are certain enough, and return the result of each.

    Needs a transaction that holds the lock of the portfolio. Raise DomainNotFound when a domain is removed at the
    same time.
    """
    if not charges:
        return ()
    domains, earlier = await _load_facts(conn, account_id, charges)
    known = {each.id: each for each in earlier}
    decided: dict[UUID, _Decision] = {}
    index: Earlier | None = None
    for charge in sorted(charges, key=lambda each: each.is_refund):  # refunds after other charges
        chosen = None
        if charge.method is MatchMethod.MANUAL and charge.domain_id is not None:
            chosen = domains.by_id.get(charge.domain_id)
        if chosen is not None:
            own = [candidate_of(chosen, Decimal(1), MatchMethod.MANUAL)]
            match = Match(candidates=own, years=charge.years, refund_of=charge.refund_of)
        else:
            match = match_charge(charge, domains)
        if charge.is_refund and chosen is None:
            index = index or Earlier(known.values())  # complete: the other charges are decided
            match = match_refund(charge, match, index, domains)
        candidate = match.accepted(booking.min_confidence)
        decided[charge.id] = _Decision(charge=charge, match=match, candidate=candidate)
        if candidate is not None and not charge.is_refund:
            known[charge.id] = replace(charge, domain_id=candidate.domain_id, confidence=candidate.confidence)
    decisions = [decided[each.id] for each in charges]
    linked, booked = await _book(conn, account_id, decisions, booking)
    done = [_applied(each, linked, booked, is_applied=booking.applies) for each in decisions]
    now = clock.now() if booking.applies else None
    changed = [_changed(*each, applied_at=now) for each in zip(decisions, done, strict=True)]
    await update_charges(conn, account_id=account_id, charges=changed)
    return done


async def _load_facts(
    conn: Conn, account_id: UUID, charges: Sequence[Charge]
) -> tuple[CandidateDomains, Sequence[Charge]]:
    """Return the domains that charges can be for, and the charges that the refunds among them can reverse."""
    found = [read_names(each.domain_raw, each.description) for each in charges]
    names = {name for each in found for name in (each.field, *each.text) if name is not None}
    labels = {label for each in found for label in each.labels}
    held = dict(await lookups.load_domains(conn, account_id=account_id, names=sorted(names))) if names else {}
    by_label: Mapping[str, Sequence[Domain]] = {}
    if labels:
        by_label = await lookups.load_domains_by_label(conn, account_id=account_id, labels=sorted(labels))
        held |= {each.domain: each for domains in by_label.values() for each in domains}
    sold = [each.id for each in held.values() if each.status is PortfolioDomainStatus.SOLD]
    sold_on = await finance_sales.list_last_sales(conn, account_id=account_id, domain_ids=sold) if sold else {}
    earlier: Sequence[Charge] = ()
    if refunds := [each for each in charges if each.is_refund]:
        orders = {order for each in refunds for order in (each.parent_order_id, each.order_id) if order}
        earlier = await store.list_earlier(
            conn,
            account_id=account_id,
            orders=sorted(orders),
            domains=sorted({each.domain for each in refunds if each.domain is not None}),
            since=min(each.charged_on for each in refunds) - REFUND_PERIOD,
            until=max(each.charged_on for each in refunds),
        )
    by_id = {each.id: each for each in held.values()}
    missing = {each.domain_id for each in (*charges, *earlier) if each.domain_id is not None} - by_id.keys()
    if missing:
        by_id |= await lookups.load_domains_by_id(conn, account_id=account_id, ids=sorted(missing))
    registrars = {each: providers.get_profile(each).label for each in {charge.provider for charge in charges}}
    return CandidateDomains(
        by_name=held, by_label=by_label, by_id=by_id, sold_on=sold_on, registrars=registrars
    ), earlier


async def _book(
    conn: Conn, account_id: UUID, decisions: Sequence[_Decision], booking: Booking
) -> tuple[Mapping[UUID, UUID], Mapping[UUID, UUID | None]]:
    """Link the charges that have a domain with entries that members recorded for them, or record entries.

    Return the linked and the new entries by charge; None instead of an entry that the domain cannot hold.
    """
    if not booking.applies:
        return {}, {}
    wanted = {
        each.charge.id: _new_entry(each.charge, each.candidate, each.match.years, booking.member_id)
        for each in decisions
        if each.candidate is not None
    }
    like = await ledger_entries.list_like(
        conn, account_id=account_id, entries=list(wanted.values()), likeness=LIKENESS
    )
    taken = set(await list_booked_entries(conn, account_id=account_id, entry_ids=[each.id for each in like]))
    recorded = Recorded(each for each in like if each.id not in taken)
    known = {charge_id: recorded.take_charged(each) for charge_id, each in wanted.items()}
    found = {charge_id: known[charge_id] or recorded.take(each) for charge_id, each in wanted.items()}
    linked = {charge_id: entry_id for charge_id, entry_id in found.items() if entry_id is not None}
    new = {key: each for key, each in wanted.items() if key not in linked and each.amount}
    if not new:
        return linked, {}
    # The domains are not locked: those of the next batch could be locked before them by another request.
    await currencies.lock_base_currency(conn, account_id=account_id, exclusive=True)
    posted = await ledger_entries.post_entries(conn, account_id=account_id, entries=list(new.values()))
    return linked, {
        key: None if each.entry is None else each.entry.id for key, each in zip(new, posted, strict=True)
    }


def _new_entry(charge: Charge, candidate: Candidate, years: int | None, member_id: UUID | None) -> NewEntry:
    return NewEntry(
        domain_id=candidate.domain_id,
        kind=EntryKind.REFUND if charge.is_refund else ENTRY_KINDS[charge.kind],
        money=Money(abs(charge.total), charge.currency),
        occurred_on=charge.charged_on,
        source=EntrySource.SYNC,
        charge_id=charge.id,
        charge_key=charge.key,
        years=years,
        registrar=providers.get_profile(charge.provider).label,
        memo=charge.description[:MAX_MEMO] or None,
        created_by=member_id,
    )


def _applied(
    decision: _Decision,
    linked: Mapping[UUID, UUID],
    booked: Mapping[UUID, UUID | None],
    *,
    is_applied: bool,
) -> AppliedCharge:
    charge, match = decision.charge, decision.match
    reason = ChargeReason.ENTRY_LIMIT if booked.get(charge.id, charge.id) is None else None
    if reason is not None:
        outcome = ApplyOutcome.UNMATCHED if charge.domain_id is None else ApplyOutcome.MATCHED
    elif match.is_ignored:
        outcome = ApplyOutcome.IGNORED
    elif decision.candidate is None:
        outcome = ApplyOutcome.SUGGESTED if match.candidates else ApplyOutcome.UNMATCHED
    elif not is_applied:
        outcome = ApplyOutcome.MATCHED
    else:
        outcome = ApplyOutcome.LINKED if charge.id in linked else ApplyOutcome.APPLIED
    return AppliedCharge(
        charge=charge,
        outcome=outcome,
        candidate=decision.candidate or match.best,
        entry_id=linked.get(charge.id) or booked.get(charge.id),
        reason=reason,
    )


def _changed(decision: _Decision, done: AppliedCharge, *, applied_at: datetime | None) -> Charge:
    """Return the charge with its match and its entry."""
    match, accepted, best = decision.match, decision.candidate, done.candidate
    if done.reason is not None:
        return replace(taken_back(done.charge), reason=done.reason)
    return replace(
        done.charge,
        domain_id=None if accepted is None else accepted.domain_id,
        confidence=None if best is None else best.confidence,
        method=None if best is None else best.method,
        candidates=match.candidates if accepted is None else [],
        refund_of=match.refund_of,
        years=match.years,
        is_ignored=match.is_ignored,
        applied_at=None if accepted is None else applied_at,
        entry_id=done.entry_id,
        is_linked=done.outcome is ApplyOutcome.LINKED,
        reason=None,
    )


async def list_booked_entries(conn: Conn, *, account_id: UUID, entry_ids: Sequence[UUID]) -> Sequence[UUID]:
    """Return those of the entries that belong to an applied charge."""
    return await store.list_taken(conn, account_id=account_id, entry_ids=entry_ids) if entry_ids else ()


async def undo_charges(
    conn: Conn, *, account_id: UUID, charges: Sequence[Charge], member_id: UUID | None
) -> Sequence[AppliedCharge]:
    """Void the entries of applied charges, which are matched again. An entry that was linked stays."""
    own = [each.entry_id for each in charges if each.entry_id is not None and not each.is_linked]
    if own:
        # Before any entry is locked: a change of the base currency locks all entries of the portfolio. Exclusively
        # as in `_book`, which can follow in the same transaction.
        await currencies.lock_base_currency(conn, account_id=account_id, exclusive=True)
        reason = "The application of the charge was undone."
        await ledger_entries.void_entries(conn, account_id=account_id, ids=own, reason=reason, voided_by=member_id)
    await update_charges(conn, account_id=account_id, charges=[taken_back(each) for each in charges])
    return [AppliedCharge(charge=each, outcome=ApplyOutcome.UNDONE) for each in charges]


async def take_back_voided(
    conn: Conn, *, account_id: UUID, domain_id: UUID, corrections: Mapping[UUID, UUID]
) -> None:
    """Take back the charges that are applied with void entries of a domain; needs a transaction.

    `corrections` are entries in place of void ones: the charges are linked with those that count and have none.
    """
    await store.lock_portfolio(conn, account_id=account_id)
    found = await ledger_entries.list_entries_by_domain(conn, account_id=account_id, domain_ids=[domain_id])
    void_ids = {each.id for each in found.get(domain_id, ()) if each.is_void}
    charges = await store.list_applied(conn, account_id=account_id, entry_ids=list(void_ids)) if void_ids else ()
    taken = await list_booked_entries(conn, account_id=account_id, entry_ids=list(corrections.values()))
    free = {old: new for old, new in corrections.items() if new not in {*taken, *void_ids}}
    linked = [
        replace(each, entry_id=free[each.entry_id], is_linked=True) if each.entry_id in free else taken_back(each)
        for each in charges
    ]
    await update_charges(conn, account_id=account_id, charges=linked)


def taken_back(charge: Charge) -> Charge:
    """Return a charge that is not applied."""
    return replace(charge, applied_at=None, entry_id=None, is_linked=False, reason=None)


async def update_charges(conn: Conn, *, account_id: UUID, charges: Sequence[Charge]) -> None:
    """Write what is matched and booked. Raise DomainNotFound for a domain that is removed at the same time."""
    try:
        await store.update(conn, account_id=account_id, charges=charges)
    except ForeignKeyViolation:
        message = "A domain was removed at the same time, so no charge was applied."
        raise DomainNotFound(message, next_action="Send the request again.") from None
