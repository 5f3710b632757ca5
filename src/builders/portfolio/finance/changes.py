"""Change the finance of a domain: its acquisition, its sale, prices and single entries."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from psycopg.errors import UniqueViolation
from pydantic_core import to_jsonable_python

from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.values import clock
from builders.kit.values.patches import UNSET
from builders.portfolio.domains import changes, lookups
from builders.portfolio.domains.records import DomainPatch
from builders.portfolio.finance import sales, store
from builders.portfolio.finance.acquisition import (
    acquisition_of,
    begins_period,
    find_purchase,
    plan_acquisition,
)
from builders.portfolio.finance.calculation import Facts, calculate
from builders.portfolio.finance.overview import own_share, read_finance
from builders.portfolio.finance.records import (
    DOMAIN_MEMBERS,
    Acquisition,
    AddedEntry,
    ChangedField,
    ChangedFinance,
    DomainFinance,
    FinanceChange,
    HoldingPeriod,
    Plan,
)
from builders.portfolio.ledger import currencies, entries
from builders.portfolio.ledger.records import EntryKind, EntrySource, NewEntry, PostedEntry, SaleTerms

VOIDED, REPLACED = "Voided by a member.", "Replaced by a correction."


async def change_finance(
    conn: Conn, *, account_id: UUID, key: str, change: FinanceChange, member_id: UUID | None
) -> ChangedFinance:
    """Apply a merge patch; publish portfolio.domain.updated, and portfolio.domain.sold for a sale.

    A new base currency is that of the whole portfolio. Raise DomainNotFound, and Invalid at the member of the
    body that does not fit.
    """
    domain = await lookups.lock_domain(conn, account_id=account_id, key=key)
    before = await read_finance(conn, account_id=account_id, domain=domain)
    plan = _plan(before, change, member_id)
    if change.base_currency is UNSET:
        # Two changes that void a reference which the other records would wait for each other.
        frees_and_takes = bool(plan.void or plan.replace) and bool(plan.post)
        await currencies.lock_base_currency(conn, account_id=account_id, exclusive=frees_and_takes)
    else:
        await currencies.set_base_currency(conn, account_id=account_id, base_currency=change.base_currency)
    await _write(conn, account_id, plan, member_id)
    changed = await changes.change_domain(
        conn, account_id=account_id, domain_id=domain.id, patch=DomainPatch(plan.domain)
    )
    after = await read_finance(conn, account_id=account_id, domain=changed)
    return ChangedFinance(finance=after, changes=list(_list_changes(before, after)))


async def _write(conn: Conn, account_id: UUID, plan: Plan, member_id: UUID | None) -> None:
    for void_ids, reason in ((plan.void, VOIDED), (plan.replace, REPLACED)):
        if void_ids:
            await entries.void_entries(
                conn, account_id=account_id, ids=void_ids, reason=reason, voided_by=member_id
            )
    if plan.post:
        posted = await entries.post_entries(conn, account_id=account_id, entries=plan.post)
        _require_own(plan.post, posted)
    if plan.void_sales:
        await store.void_sales(conn, account_id=account_id, ids=plan.void_sales, now=clock.now())
    if plan.sale is not None:
        try:
            await store.save_sales(conn, account_id=account_id, sales=[plan.sale], created_by=member_id)
        except UniqueViolation:
            message = "Another sale of the domain has this day."
            raise Invalid(("body", "sale", "sold_on"), message, "sale_exists") from None


def _require_own(new: Sequence[NewEntry], posted: Sequence[PostedEntry]) -> None:
    """Raise Invalid for a reference that another entry has, and EntryLimitReached. The same entry twice is one."""
    for at, (given, found) in enumerate(zip(new, posted, strict=True)):
        entry = entries.require_recorded(found)
        same = (entry.domain_id, entry.kind, entry.money) == (given.domain_id, given.kind, given.money)
        if not found.is_new and not same:  # one of `entries_add`, which are the first: no other has a reference
            message = f"Another entry has the reference {given.reference!r}."
            raise Invalid(("body", "entries_add", at, "reference"), message, "reference_taken")


def _plan(before: DomainFinance, change: FinanceChange, member_id: UUID | None) -> Plan:
    plan = Plan(
        post=[_new_entry(before, at, each, member_id) for at, each in enumerate(change.entries_add)],
        domain={name: value for name in DOMAIN_MEMBERS if (value := getattr(change, name)) is not UNSET},
    )
    voids = _plan_voids(before, change)
    plan = plan.merged(voids)
    if change.acquisition is not UNSET:
        if begins_period(before, change.acquisition):
            before = replace(before, periods=[*before.periods, _new_period(before)])
        plan = plan.merged(plan_acquisition(before, change.acquisition, voided=voids.void, member_id=member_id))
    if change.sale is not UNSET:
        share = own_share(before.domain)
        plan = plan.merged(sales.plan_sale(before, change.sale, own_share=share, member_id=member_id))
    return plan


def _new_period(before: DomainFinance) -> HoldingPeriod:
    """Return the holding period of a domain that is bought back."""
    figures = calculate((), Facts(), as_of=before.as_of)
    return HoldingPeriod(since=before.as_of, entries=(), sale=None, terms=None, figures=figures)


def _new_entry(before: DomainFinance, at: int, added: AddedEntry, member_id: UUID | None) -> NewEntry:
    if added.kind is EntryKind.SALE:
        raise Invalid(("body", "entries_add", at, "kind"), "Record a sale with `sale`.", "entry_of_sale")
    return NewEntry(
        domain_id=before.domain.id,
        kind=added.kind,
        money=added.money,
        occurred_on=added.on,
        source=EntrySource.MANUAL,
        reference=added.reference,
        years=added.years,
        registrar=added.registrar,
        memo=added.memo,
        created_by=member_id,
    )


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
        elif entry.sale_line == 0 and change.sale is UNSET:
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
    domain, terms = finance.domain, finance.present.terms
    purchase = find_purchase(finance.present)
    prices = {name: getattr(domain, name) for name in ("estimated_value", "asking_price", "renewal_price")}
    return {
        "acquisition": None if purchase is None else _as_sent(acquisition_of(purchase)),
        "sale": None if terms is None else _as_sent(terms),
        **{name: None if money is None else money.to_wire() for name, money in prices.items()},
        "base_currency": finance.base_currency,
        "pinned": domain.pinned,
        "notes": domain.notes,
        "status": domain.status.value,
    }


def _as_sent(record: Acquisition | SaleTerms) -> object:
    """Return the JSON of a record, with the names that a body has."""
    return _renamed(to_jsonable_python(record))


def _renamed(value: Any) -> Any:  # any JSON
    if isinstance(value, list):
        return [_renamed(each) for each in value]
    if isinstance(value, dict):
        return {"amount" if name == "money" else name: _renamed(each) for name, each in value.items()}
    return value
