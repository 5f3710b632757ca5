"""Change the finance of a domain: its acquisition, its sale, prices and single entries."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from psycopg.errors import UniqueViolation
from pydantic_core import to_jsonable_python

from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.jobs import queue
from builders.kit.values import clock
from builders.kit.values.patches import UNSET, Changes
from builders.portfolio.domains import changes, lookups
from builders.portfolio.domains.records import ChangeSource, DomainPatch, PortfolioDomainStatus
from builders.portfolio.domains.today import get_today
from builders.portfolio.finance import sales, store
from builders.portfolio.finance.calculation import Facts, calculate
from builders.portfolio.finance.overview import read_finance
from builders.portfolio.finance.records import (
    PRICES,
    Acquisition,
    ChangedField,
    DomainFinance,
    FinanceChange,
    HoldingPeriod,
    Plan,
)
from builders.portfolio.ledger import currencies, entries
from builders.portfolio.ledger.records import START_KINDS, Entry, EntryFields, EntryKind, EntrySource

TAKE_BACK_CHARGES = "portfolio.take_back_charges"  # the task, of billing
VOIDED, REPLACED = "Voided by a member.", "Replaced by a correction."


async def change_finance(
    conn: Conn, *, account_id: UUID, key: str, change: FinanceChange, member_id: UUID | None
) -> tuple[DomainFinance, Sequence[ChangedField]]:
    """Apply a merge patch; publish portfolio.domain.updated, and portfolio.domain.sold for a sale.

    A new base currency is that of the whole portfolio. Return the finance after the change, and what changed.
    Raise DomainNotFound, and Invalid at the member of the body that does not fit.
    """
    domain = await lookups.lock_domain(conn, account_id=account_id, key=key)
    today = await get_today(conn, account_id=account_id)
    before = await read_finance(conn, account_id=account_id, domain=domain, today=today)
    plan = await _plan(conn, account_id, before, change, member_id)
    if change.base_currency is None:
        # Two changes that void a reference which the other records would wait for each other.
        frees_and_takes = bool(plan.void or plan.replace) and bool(plan.post)
        await currencies.lock_base_currency(conn, account_id=account_id, exclusive=frees_and_takes)
    else:
        await currencies.set_base_currency(conn, account_id=account_id, base_currency=change.base_currency)
    posted = await _write(conn, account_id, plan, member_id)
    if plan.void or plan.correction is not None:  # a job, because billing locks its charges before entries
        replaced_id, by = _corrected(plan, posted)
        await queue.defer(
            conn,
            TAKE_BACK_CHARGES,
            account_id=str(account_id),
            domain_id=str(domain.id),
            replaced_id=replaced_id,
            correction_id=by,
        )
    changed = await changes.change_domain(
        conn,
        account_id=account_id,
        domain=domain,
        patch=DomainPatch(plan.domain),
        today=today,
        source=ChangeSource.MEMBER,
        member_id=member_id,
    )
    after = await read_finance(conn, account_id=account_id, domain=changed, today=today)
    return after, list(_list_changes(before, after))


def _corrected(plan: Plan, posted: Sequence[Entry]) -> tuple[str, str]:
    """Return the ids of the acquisition that a plan replaces and of its correction; empty ones without one."""
    if plan.correction is None:
        return "", ""
    replaced_id, correction = plan.correction
    [by] = [entry.id for given, entry in zip(plan.post, posted, strict=True) if given is correction]
    return str(replaced_id), str(by)


async def _write(conn: Conn, account_id: UUID, plan: Plan, member_id: UUID | None) -> Sequence[Entry]:
    """Write a plan; return its new entries. Raise Invalid for a taken reference, and EntryLimitReached."""
    written: list[Entry] = []
    for void_ids, reason in ((plan.void, VOIDED), (plan.replace, REPLACED)):
        if void_ids:
            await entries.void_entries(
                conn, account_id=account_id, ids=void_ids, reason=reason, voided_by=member_id
            )
    if plan.post:
        posted = await entries.post_entries(conn, account_id=account_id, entries=plan.post)
        for at, (given, each) in enumerate(zip(plan.post, posted, strict=True)):
            entry = entries.require_recorded(each)
            written.append(entry)
            is_same = (entry.domain_id, entry.kind, entry.money) == (given.domain_id, given.kind, given.money)
            if not each.is_new and not is_same:  # one of `entries_add`, which are first: no other has a reference
                message = f"Another entry has the reference {given.reference!r}."
                raise Invalid(("body", "entries_add", at, "reference"), message, "reference_taken")
    if plan.void_sales:
        await store.void_sales(conn, account_id=account_id, ids=plan.void_sales, now=clock.now())
    if plan.sale is not None:
        try:
            await store.save_sales(conn, account_id=account_id, sales=[plan.sale], created_by=member_id)
        except UniqueViolation:
            message = "Another sale of the domain has this day."
            raise Invalid(("body", "sale", "sold_on"), message, "sale_exists") from None
    return written


async def _plan(
    conn: Conn, account_id: UUID, before: DomainFinance, change: FinanceChange, member_id: UUID | None
) -> Plan:
    for at, each in enumerate(change.entries_add):
        if each.kind is EntryKind.SALE:
            raise Invalid(("body", "entries_add", at, "kind"), "Record a sale with `sale`.", "entry_of_sale")
    added = [each.entry(before.domain.id, created_by=member_id) for each in change.entries_add]
    voids = _plan_voids(before, change)
    plan = Plan(post=added, domain=change.domain.members).merged(voids)
    if change.acquisition is not UNSET:
        acquisition, sale = change.acquisition, before.present.sale
        on = None if acquisition is None else acquisition.members.get("on")
        if on is not None and sale is not None and on > sale.sold_on:  # it is bought back
            figures = calculate((), Facts(), as_of=before.as_of)
            new = HoldingPeriod(since=before.as_of, entries=(), sale=None, terms=None, figures=figures)
            before = replace(before, periods=[*before.periods, new])
        plan = plan.merged(_plan_acquisition(before, acquisition, voided=voids.void, member_id=member_id))
    if change.sale is not UNSET:
        planned = await sales.plan_sale(
            conn,
            account_id=account_id,
            before=before,
            change=change.sale,
            sale_id=change.sale_id,
            member_id=member_id,
        )
        plan = plan.merged(planned)
    return plan


def _plan_acquisition(
    before: DomainFinance,
    changed: Changes[Acquisition] | None,
    *,
    voided: Collection[UUID],
    member_id: UUID | None,
) -> Plan:
    """Return what records, changes or, for None, voids the acquisition. Raise Invalid without an amount.

    `voided` are entries that the same change voids.
    """
    domain, purchase = before.domain, _find_purchase(before.present, voided=voided)
    if changed is None:
        return Plan() if purchase is None else Plan(void=[purchase.id])
    present = None if purchase is None else _acquisition_of(purchase)
    given = changed.members
    if present is not None:
        new = replace(present, **given)
    elif "money" not in given:
        raise Invalid(("body", "acquisition", "amount"), "An acquisition requires an amount.", "missing")
    else:
        registered_on = domain.registered_on if given.get("kind") is EntryKind.REGISTRATION else None
        on = domain.acquired_on or registered_on or before.as_of
        new = Acquisition(**{"on": on, "kind": EntryKind.ACQUISITION, "venue": None, **given})
    of_domain: dict[str, object] = {"acquired_on": new.on}
    if len(before.periods) > 1 and before.present.sale is None and domain.status is PortfolioDomainStatus.SOLD:
        of_domain["status"] = PortfolioDomainStatus(domain.ownership.value)
    if new == present:
        return Plan(domain=of_domain)
    # The key of a charge says that it is booked, also after an import of an export.
    fields = EntryFields(
        kind=new.kind,
        money=new.money,
        occurred_on=new.on,
        memo=new.venue,
        charge_key=None if purchase is None else purchase.charge_key,
    )
    entry = fields.entry(domain.id, created_by=member_id)
    return Plan(
        post=[entry],
        replace=[] if purchase is None else [purchase.id],
        correction=None if purchase is None else (purchase.id, entry),
        domain=of_domain,
    )


def _find_purchase(period: HoldingPeriod, *, voided: Collection[UUID] = ()) -> Entry | None:
    """Return the entry of the acquisition: the first one of a purchase; None without one."""
    purchases = (each for each in period.entries if each.kind in START_KINDS and each.sale_id is None)
    return next((each for each in purchases if each.id not in voided), None)


def _acquisition_of(purchase: Entry) -> Acquisition:
    return Acquisition(money=purchase.money, on=purchase.occurred_on, kind=purchase.kind, venue=purchase.memo)


def _plan_voids(before: DomainFinance, change: FinanceChange) -> Plan:
    """Return the entries to void; that of the price of a sale, or its first instalment, voids the sale."""
    by_id = {each.id: each for each in before.entries}
    periods = {each.sale.id: each for each in before.periods if each.sale is not None}
    plan = Plan()
    for at, entry_id in enumerate(change.entries_void):
        entry = by_id.get(entry_id)
        if entry is None:
            raise Invalid(("body", "entries_void", at), "The domain has no such entry.", "entry_unknown")
        if entry.source is EntrySource.PARKING and not entry.is_void:
            # Parking would keep the day as recorded, and the same row would not book it again.
            message = (
                "The entry is parking revenue: POST /v1/portfolio/parking/revenue with the amount 0 for its day."
            )
            raise Invalid(("body", "entries_void", at), message, "entry_of_parking")
        if entry.is_void or entry.sale_id is None:
            plan = plan.merged(Plan(void=[entry_id]))
        elif entry.sale_line == 0 and (change.sale is UNSET or change.sale_id not in {None, entry.sale_id}):
            plan = plan.merged(sales.plan_void(before, periods[entry.sale_id]))
        else:
            message = "The entry is part of the sale: change `sale`, or send null for it."
            raise Invalid(("body", "entries_void", at), message, "entry_of_sale")
    return plan


def _list_changes(before: DomainFinance, after: DomainFinance) -> Iterator[ChangedField]:
    """Yield the members of a patch that changed, and the status of the domain."""
    old, new = _shown(before), _shown(after)
    for name, value in new.items():
        if value != old[name]:
            yield ChangedField(field=name, before=old[name], after=value)
    present = {each.id for each in before.entries if not each.is_void}
    kept = {each.id for each in after.entries if not each.is_void}
    for each in after.entries:
        if each.id in kept and each.id not in present:
            yield ChangedField(field="entries_add", before=None, after=str(each.id))
        elif each.id in present and each.id not in kept:
            yield ChangedField(field="entries_void", before=str(each.id), after=None)


def _shown(finance: DomainFinance) -> Mapping[str, object]:
    """Return the members of a patch as JSON, with the names that a body has."""
    domain, purchase = finance.domain, _find_purchase(finance.present)
    shown = {
        "acquisition": None if purchase is None else _acquisition_of(purchase),
        "sale": finance.present.terms,
        **{name: getattr(domain, name) for name in PRICES},
        "base_currency": finance.base_currency,
        "pinned": domain.pinned,
        "notes": domain.notes,
        "status": domain.status,
    }
    return {name: _renamed(value) for name, value in to_jsonable_python(shown).items()}


def _renamed(value: Any) -> Any:  # any JSON
    if isinstance(value, list):
        return [_renamed(each) for each in value]
    if isinstance(value, dict):
        return {"amount" if name == "money" else name: _renamed(each) for name, each in value.items()}
    return value
