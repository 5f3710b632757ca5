"""List charges, apply them again, undo applications, and change a charge."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import partial
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.http.pagination import PageRequest
from builders.kit.pages import Page
from builders.kit.values.patches import UNSET, Patch
from builders.portfolio.billing import store
from builders.portfolio.billing.bookings import match_charges, taken_back, undo_charges, update_charges
from builders.portfolio.billing.errors import ChargeNotFound, ChargeNotOpen
from builders.portfolio.billing.events import CHARGES_MATCHED, charges_data
from builders.portfolio.billing.records import (
    MIN_CONFIDENCE,
    Application,
    AppliedCharge,
    Booking,
    Charge,
    ChargeFilters,
    ChargeReason,
    ChargeState,
    MatchMethod,
    RunCount,
    StateSum,
)
from builders.portfolio.domains import lookups
from builders.portfolio.ledger.errors import EntryLimitReached

BATCH = 1_000  # charges of a statement
MAX_EXAMINED = 10_000  # charges of a call
_UNDECIDED = (ChargeState.UNMATCHED, ChargeState.SUGGESTED)
_CHARGE = "/v1/portfolio/registrars/billing/charges"
# Why a charge is not open, and what to do first.
_CLOSED = {
    ChargeState.APPLIED: ("is booked", f"Void its entry first: POST {_CHARGE}/apply with `undo=true` and `ids`."),
    ChargeState.IGNORED: (
        "is ignored",
        f"Take that back first: PATCH {_CHARGE}/{{charge_id}} with `ignored` false.",
    ),
    ChargeState.SPLIT: ("is split", f"Take that back first: DELETE {_CHARGE}/{{charge_id}}/split."),
}


async def list_charges(
    conn: Conn, *, account_id: UUID, filters: ChargeFilters, page: PageRequest
) -> tuple[Page[Charge], Sequence[StateSum]]:
    """Return a page of charges, the newest first, and the sums of all charges of the filters."""
    before = None
    if page.after is not None:
        charged_on, charge_id = page.after
        before = date.fromisoformat(str(charged_on)), UUID(str(charge_id))
    rows = await store.list_page(conn, account_id=account_id, filters=filters, before=before, limit=page.limit + 1)
    sums = await store.list_sums(conn, account_id=account_id, filters=filters)
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
    match = partial(match_charges, booking=Booking(min_confidence=min_confidence, member_id=member_id))
    states = (*_UNDECIDED, ChargeState.MATCHED)
    done = await _take_batches(conn, account_id, states, charge_ids, match)
    found = [each for each in done.results if each.charge.state in _UNDECIDED and each.is_matched]
    await publish_matches(conn, account_id=account_id, matched=found)
    return done


async def undo_application(
    conn: Conn, *, account_id: UUID, member_id: UUID | None, charge_ids: Sequence[UUID] | None = None
) -> Application:
    """Void the entries of applied charges, which are matched again; needs a transaction."""
    undo = partial(undo_charges, member_id=member_id)
    return await _take_batches(conn, account_id, (ChargeState.APPLIED,), charge_ids, undo)


async def _take_batches(
    conn: Conn,
    account_id: UUID,
    states: Sequence[ChargeState],
    charge_ids: Sequence[UUID] | None,
    take: Callable[..., Awaitable[Sequence[AppliedCharge]]],
) -> Application:
    await store.lock_portfolio(conn, account_id=account_id)
    done: list[AppliedCharge] = []
    after: Charge | None = None
    has_more = True
    while has_more and len(done) < MAX_EXAMINED:
        found = await store.list_open(
            conn, account_id=account_id, states=states, charge_ids=charge_ids, after=after, limit=BATCH + 1
        )
        batch, has_more = found[:BATCH], len(found) > BATCH
        done += await take(conn, account_id=account_id, charges=batch)
        after = batch[-1] if batch else after
    return Application(results=done, has_more=has_more)


async def publish_matches(conn: Conn, *, account_id: UUID, matched: Sequence[AppliedCharge]) -> None:
    """Publish the charges whose domain was found, if there are any."""
    if matched:
        domains = sorted({each.candidate.domain for each in matched if each.candidate is not None})
        data = charges_data(
            RunCount(charges=len(matched), domains=domains, domain_count=len(domains)),
            run_id=None,
            providers=sorted({each.charge.provider for each in matched}),
        )
        await outbox.publish(conn, CHARGES_MATCHED, account_id=account_id, data=data)


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
    portfolio.billing.charge_matched for another domain. Raise ChargeNotFound, DomainNotFound, EntryLimitReached,
    and ChargeNotOpen for a split charge.
    """
    await store.lock_portfolio(conn, account_id=account_id)
    charge = await get_charge(conn, account_id=account_id, charge_id=charge_id)
    if charge.state is ChargeState.SPLIT:
        raise not_open(charge)
    wanted = taken_back(charge)
    if is_ignored is not UNSET:
        wanted = replace(wanted, is_ignored=is_ignored)
    if domain is None:
        wanted = replace(wanted, domain_id=None, confidence=None, method=None, candidates=())
    elif domain is not UNSET:
        found = await lookups.get_domain(conn, account_id=account_id, key=domain)
        wanted = replace(
            wanted, domain_id=found.id, confidence=Decimal(1), method=MatchMethod.MANUAL, candidates=()
        )
    if charge.state is ChargeState.APPLIED:
        await undo_charges(conn, account_id=account_id, charges=[charge], member_id=member_id)
    await update_charges(conn, account_id=account_id, charges=[wanted])
    changed = await get_charge(conn, account_id=account_id, charge_id=charge_id)
    if changed.state is ChargeState.MATCHED:
        booking = Booking(member_id=member_id)
        done = await match_charges(conn, account_id=account_id, charges=[changed], booking=booking)
        if any(each.reason is ChargeReason.ENTRY_LIMIT for each in done):
            raise EntryLimitReached
        if changed.domain_id != charge.domain_id:
            await publish_matches(conn, account_id=account_id, matched=done)
    return await get_charge(conn, account_id=account_id, charge_id=charge_id)


async def get_charge(conn: Conn, *, account_id: UUID, charge_id: UUID) -> Charge:
    """Return a charge. Raise ChargeNotFound."""
    found = await store.find(conn, account_id=account_id, charge_id=charge_id)
    if found is None:
        raise ChargeNotFound
    return found


def not_open(charge: Charge) -> ChargeNotOpen:
    """Return the refusal of a change that its parts, its entry or a decision about it prevent."""
    if charge.split_of is None:
        closed, remedy = _CLOSED[charge.state]
    else:
        closed, remedy = f"is a part of the charge {charge.split_of}", _CLOSED[ChargeState.SPLIT][1]
    return ChargeNotOpen(f"The charge {closed}.", next_action=remedy)
