"""Match charges with the domains of a portfolio, book them in its ledger, and undo that."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.errors import ForeignKeyViolation

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.billing import facts
from builders.portfolio.billing.matching import Earlier, Holdings, match_charge, match_refund
from builders.portfolio.billing.records import (
    AppliedCharge,
    ApplyOutcome,
    Candidate,
    Charge,
    ChargeReason,
    Match,
    MatchMethod,
)
from builders.portfolio.billing.store import charges as store
from builders.portfolio.billing.wording import entry_kind
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.ledger import currencies, entries as ledger_entries
from builders.portfolio.ledger.records import MAX_MEMO, Entry, EntrySource, NewEntry, PostedEntry

_UNDONE = "The application of the charge was undone."


@dataclass(frozen=True, slots=True, kw_only=True)
class Booking:
    """How charges are applied."""

    min_confidence: Decimal
    applies: bool = True  # False: they are only matched
    member_id: UUID | None = None  # None: a job


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decision:
    charge: Charge
    match: Match
    candidate: Candidate | None
    linked: UUID | None = None  # the entry that a member recorded


async def match_charges(
    conn: Conn, *, account_id: UUID, charges: Sequence[Charge], booking: Booking
) -> Sequence[AppliedCharge]:
    """Match charges that are not applied, book those that are certain enough, and return the result of each.

    Needs a transaction that holds the lock of the portfolio. Raise DomainNotFound when a domain is removed at the
    same time.
    """
    if not charges:
        return ()
    holdings = await facts.load_holdings(conn, account_id=account_id, charges=charges)
    earlier = await facts.load_earlier(conn, account_id=account_id, charges=charges)
    holdings = await facts.with_domains_of(
        conn, account_id=account_id, charges=[*charges, *earlier], holdings=holdings
    )
    known = {each.id: each for each in earlier}
    decided: dict[UUID, _Decision] = {}
    index: Earlier | None = None
    for charge in sorted(charges, key=lambda each: each.is_refund):  # refunds after other charges
        chosen = _own_match(charge, holdings)
        match = chosen or match_charge(charge, holdings)
        if charge.is_refund and chosen is None:
            index = index or Earlier(known.values())  # complete: the other charges are decided
            match = match_refund(charge, match, index, holdings)
        candidate = None if match.is_ignored else match.accepted(booking.min_confidence)
        decided[charge.id] = _Decision(charge=charge, match=match, candidate=candidate)
        if candidate is not None and not charge.is_refund:
            known[charge.id] = replace(charge, domain_id=candidate.domain_id, confidence=candidate.confidence)
    decisions: Sequence[_Decision] = [decided[each.id] for each in charges]
    if booking.applies:
        decisions = await _with_links(conn, account_id=account_id, decisions=decisions)
    applied = await _book(conn, account_id=account_id, decisions=decisions, booking=booking)
    await _write(conn, account_id=account_id, decisions=decisions, applied=applied, is_applied=booking.applies)
    return applied


def _own_match(charge: Charge, holdings: Holdings) -> Match | None:
    """Return the match that a member chose."""
    chosen = None if charge.domain_id is None else holdings.by_id.get(charge.domain_id)
    if charge.method is not MatchMethod.MANUAL or chosen is None:
        return None
    candidate = Candidate(
        domain_id=chosen.id, domain=chosen.domain, confidence=Decimal(1), method=MatchMethod.MANUAL
    )
    return Match(candidates=[candidate], years=charge.years, refund_of=charge.refund_of)


async def _with_links(conn: Conn, *, account_id: UUID, decisions: Sequence[_Decision]) -> Sequence[_Decision]:
    """Return the decisions with the entries that members recorded for their charges."""
    paid = [
        None if each.candidate is None else _new_entry(each.charge, each.candidate, each.match.years, None)
        for each in decisions
    ]
    recorded = await facts.load_recorded(conn, account_id=account_id, paid=[each for each in paid if each])
    return [
        replace(each, linked=None if entry is None else recorded.take(entry))
        for each, entry in zip(decisions, paid, strict=True)
    ]


async def _book(
    conn: Conn, *, account_id: UUID, decisions: Sequence[_Decision], booking: Booking
) -> Sequence[AppliedCharge]:
    """Record the entries of the charges that have a domain, and no entry yet.

    A charge whose domain cannot hold another entry remains as it is, with the reason.
    """
    new = [
        (each, _new_entry(each.charge, each.candidate, each.match.years, booking.member_id))
        for each in decisions
        if booking.applies and each.candidate is not None and each.linked is None and each.charge.total
    ]
    entries = [entry for _, entry in new]
    posted: Sequence[PostedEntry] = ()
    if entries:
        # The domains are not locked: those of the next batch could be locked before them by another request.
        await currencies.lock_base_currency(conn, account_id=account_id, exclusive=True)
        posted = await ledger_entries.post_entries(conn, account_id=account_id, entries=entries)
    by_charge = {each.charge.id: found.entry for (each, _), found in zip(new, posted, strict=True)}
    return [_applied(each, by_charge, is_applied=booking.applies) for each in decisions]


def _applied(decision: _Decision, entries: Mapping[UUID, Entry | None], *, is_applied: bool) -> AppliedCharge:
    booked = entries.get(decision.charge.id)
    entry_id = decision.linked or (None if booked is None else booked.id)
    is_refused = entry_id is None and decision.charge.id in entries
    return AppliedCharge(
        charge=decision.charge,
        outcome=_outcome(decision, is_applied=is_applied, is_refused=is_refused),
        candidate=decision.candidate or next(iter(decision.match.candidates), None),
        entry_id=entry_id,
        reason=ChargeReason.ENTRY_LIMIT if is_refused else None,
    )


def _outcome(decision: _Decision, *, is_applied: bool, is_refused: bool) -> ApplyOutcome:
    if is_refused:
        return ApplyOutcome.UNMATCHED if decision.charge.domain_id is None else ApplyOutcome.MATCHED
    if decision.match.is_ignored:
        return ApplyOutcome.IGNORED
    if decision.candidate is None:
        return ApplyOutcome.SUGGESTED if decision.match.candidates else ApplyOutcome.UNMATCHED
    if not is_applied:
        return ApplyOutcome.MATCHED
    return ApplyOutcome.LINKED if decision.linked else ApplyOutcome.APPLIED


def _new_entry(charge: Charge, candidate: Candidate, years: int | None, member_id: UUID | None) -> NewEntry:
    return NewEntry(
        domain_id=candidate.domain_id,
        kind=entry_kind(charge),
        money=Money(abs(charge.total), charge.currency),
        occurred_on=charge.charged_on,
        source=EntrySource.SYNC,
        charge_id=charge.id,
        years=years,
        registrar=facts.label_of(charge.provider),
        memo=charge.description[:MAX_MEMO] or None,
        created_by=member_id,
    )


async def _write(
    conn: Conn,
    *,
    account_id: UUID,
    decisions: Sequence[_Decision],
    applied: Sequence[AppliedCharge],
    is_applied: bool,
) -> None:
    now = clock.now()
    rows = [
        _row(decision, done, applied_at=now if is_applied and decision.candidate is not None else None)
        for decision, done in zip(decisions, applied, strict=True)
    ]
    await update_charges(conn, account_id=account_id, rows=rows)


def _row(decision: _Decision, done: AppliedCharge, *, applied_at: datetime | None) -> Mapping[str, Any]:
    if done.reason is not None:
        return taken_back(decision.charge, reason=done.reason)
    match, candidate = decision.match, decision.candidate
    best = candidate or next(iter(match.candidates), None)
    return {
        "id": done.charge.id,
        "domain_id": None if candidate is None else candidate.domain_id,
        "confidence": None if best is None else best.confidence,
        "method": None if best is None else best.method,
        "candidates": [asdict(each) for each in match.candidates] if candidate is None else [],
        "refund_of": match.refund_of,
        "years": match.years,
        "is_ignored": match.is_ignored,
        "applied_at": applied_at,
        "entry_id": done.entry_id,
        "is_linked": decision.linked is not None,
    }


async def undo_charges(
    conn: Conn, *, account_id: UUID, charges: Sequence[Charge], member_id: UUID | None
) -> Sequence[AppliedCharge]:
    """Void the entries of applied charges, which are matched again. An entry that was linked stays."""
    own = [each.entry_id for each in charges if each.entry_id is not None and not each.is_linked]
    if own:
        # Before any entry is locked: a change of the base currency locks all entries of the portfolio. Exclusively
        # as in `_book`, which can follow in the same transaction.
        await currencies.lock_base_currency(conn, account_id=account_id, exclusive=True)
        await ledger_entries.void_entries(
            conn, account_id=account_id, ids=own, reason=_UNDONE, voided_by=member_id
        )
    await update_charges(conn, account_id=account_id, rows=[taken_back(each) for each in charges])
    return [AppliedCharge(charge=each, outcome=ApplyOutcome.UNDONE) for each in charges]


def taken_back(charge: Charge, **changed: Any) -> Mapping[str, Any]:
    """Return the row of a charge that is not applied, with other changed columns."""
    return {
        "id": charge.id,
        "domain_id": charge.domain_id,
        "confidence": charge.confidence,
        "method": charge.method,
        "candidates": charge.candidates,
        "refund_of": charge.refund_of,
        "years": charge.years,
        "is_ignored": charge.is_ignored,
        "applied_at": None,
        "entry_id": None,
        "is_linked": False,
        "reason": None,
        **changed,
    }


async def update_charges(conn: Conn, *, account_id: UUID, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the matches of charges. Raise DomainNotFound for a domain that is removed at the same time."""
    try:
        await store.update(conn, account_id=account_id, rows=rows)
    except ForeignKeyViolation:
        message = "A domain was removed at the same time, so no charge was applied."
        raise DomainNotFound(message, next_action="Send the request again.") from None
