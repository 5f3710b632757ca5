"""List charges, apply them again, undo applications, and change a charge."""

from collections import Counter
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.values.patches import UNSET, Patch
from builders.portfolio.billing import summaries
from builders.portfolio.billing.applying import Booking, match_charges, taken_back, undo_charges, update_charges
from builders.portfolio.billing.errors import ChargeNotFound
from builders.portfolio.billing.records import (
    MIN_CONFIDENCE,
    Application,
    AppliedCharge,
    ApplyOutcome,
    Charge,
    ChargeFilters,
    ChargeReason,
    ChargeState,
    MatchMethod,
    StateSum,
)
from builders.portfolio.billing.store import charges as store, lists
from builders.portfolio.domains import lookups
from builders.portfolio.ledger.errors import EntryLimitReached

BATCH = 1_000  # charges of a statement
MAX_EXAMINED = 10_000  # charges of a call
MAX_RESULTS = 1_000  # of a reply
_OPEN = (ChargeState.UNMATCHED, ChargeState.SUGGESTED, ChargeState.MATCHED)


async def list_charges(
    conn: Conn, *, account_id: UUID, filters: ChargeFilters, page: PageRequest
) -> tuple[Page[Charge], Sequence[StateSum]]:
    """Return a page of charges, the newest first, and the sums of all charges of the filters."""
    before = None
    if page.after is not None:
        charged_on, charge_id = page.after
        before = date.fromisoformat(str(charged_on)), UUID(str(charge_id))
    rows = await lists.list_page(conn, account_id=account_id, filters=filters, before=before, limit=page.limit + 1)
    sums = await lists.list_sums(conn, account_id=account_id, filters=filters)
    return page.cut(rows, key=lambda each: (str(each.charged_on), str(each.id))), sums


async def apply_charges(
    conn: Conn,
    *,
    account_id: UUID,
    member_id: UUID | None,
    charge_ids: Sequence[UUID] | None = None,
    min_confidence: Decimal = MIN_CONFIDENCE,
) -> Application:
    """Match the charges that are not applied again, and apply those that are certain enough.

    Publish portfolio.billing.charge_matched. Needs a transaction. Ignored charges do not change.
    """
    booking = Booking(min_confidence=min_confidence, member_id=member_id)
    await store.lock_portfolio(conn, account_id=account_id)
    done: list[AppliedCharge] = []
    after: Charge | None = None
    has_more = True
    while has_more and len(done) < MAX_EXAMINED:
        batch, has_more = await _take(conn, account_id, _OPEN, charge_ids, after)
        done += await match_charges(conn, account_id=account_id, charges=batch, booking=booking)
        after = batch[-1] if batch else after
    await summaries.publish_application(conn, account_id=account_id, done=done)
    return _application(done, has_more=has_more)


async def undo_application(
    conn: Conn, *, account_id: UUID, member_id: UUID | None, charge_ids: Sequence[UUID] | None = None
) -> Application:
    """Void the entries of applied charges, which are matched again; needs a transaction."""
    await store.lock_portfolio(conn, account_id=account_id)
    done: list[AppliedCharge] = []
    after: Charge | None = None
    has_more = True
    while has_more and len(done) < MAX_EXAMINED:
        batch, has_more = await _take(conn, account_id, (ChargeState.APPLIED,), charge_ids, after)
        done += await undo_charges(conn, account_id=account_id, charges=batch, member_id=member_id)
        after = batch[-1] if batch else after
    return _application(done, has_more=has_more)


async def _take(
    conn: Conn,
    account_id: UUID,
    states: Sequence[ChargeState],
    charge_ids: Sequence[UUID] | None,
    after: Charge | None,
) -> tuple[Sequence[Charge], bool]:
    found = await store.list_open(
        conn, account_id=account_id, states=states, charge_ids=charge_ids, after=after, limit=BATCH + 1
    )
    return found[:BATCH], len(found) > BATCH


def _application(done: Sequence[AppliedCharge], *, has_more: bool) -> Application:
    counts = Counter(each.outcome for each in done)
    linked = counts[ApplyOutcome.LINKED]
    return Application(
        results=done[:MAX_RESULTS],
        examined=len(done),
        matched=sum(each.is_matched for each in done),
        applied=counts[ApplyOutcome.APPLIED] + linked,
        still_unmatched=counts[ApplyOutcome.UNMATCHED] + counts[ApplyOutcome.SUGGESTED],
        linked_existing=linked,
        undone=counts[ApplyOutcome.UNDONE],
        has_more=has_more,
    )


async def change_charge(
    conn: Conn,
    *,
    account_id: UUID,
    charge_id: UUID,
    domain: Patch[str | None],
    is_ignored: Patch[bool],
    member_id: UUID,
) -> Charge:
    """Set the domain of a charge and book it there, or ignore it; needs a transaction.

    An earlier booking is undone. A charge without a domain is matched with the next application. Publish
    portfolio.billing.charge_matched for another domain. Raise ChargeNotFound, DomainNotFound and
    EntryLimitReached.
    """
    await store.lock_portfolio(conn, account_id=account_id)
    charge = await _get_charge(conn, account_id=account_id, charge_id=charge_id)
    row: dict[str, Any] = {"is_ignored": charge.is_ignored if is_ignored is UNSET else is_ignored}
    if domain is not UNSET:
        found = None if domain is None else await lookups.get_domain(conn, account_id=account_id, key=domain)
        row |= {"domain_id": None, "confidence": None, "method": None, "candidates": []}
        if found is not None:
            row |= {"domain_id": found.id, "confidence": Decimal(1), "method": MatchMethod.MANUAL}
    if charge.state is ChargeState.APPLIED:
        await undo_charges(conn, account_id=account_id, charges=[charge], member_id=member_id)
    await update_charges(conn, account_id=account_id, rows=[taken_back(charge, **row)])
    changed = await _get_charge(conn, account_id=account_id, charge_id=charge_id)
    if changed.state is ChargeState.MATCHED:
        booking = Booking(min_confidence=MIN_CONFIDENCE, member_id=member_id)
        done = await match_charges(conn, account_id=account_id, charges=[changed], booking=booking)
        if any(each.reason is ChargeReason.ENTRY_LIMIT for each in done):
            raise EntryLimitReached
        if changed.domain_id != charge.domain_id:
            await summaries.publish_matches(conn, account_id=account_id, found=done)
    return await _get_charge(conn, account_id=account_id, charge_id=charge_id)


async def _get_charge(conn: Conn, *, account_id: UUID, charge_id: UUID) -> Charge:
    found = await store.find(conn, account_id=account_id, charge_id=charge_id)
    if found is None:
        raise ChargeNotFound
    return found
