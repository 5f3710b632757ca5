"""The acquisition of a domain: the first entry of a holding period that is an acquisition or a registration."""

from collections.abc import Collection
from datetime import date
from uuid import UUID

from builders.kit.errors import Invalid
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.kit.values.patches import UNSET, patched
from builders.portfolio.domains.records import PortfolioDomainStatus
from builders.portfolio.finance.calculation import START_KINDS
from builders.portfolio.finance.records import Acquisition, AcquisitionPatch, DomainFinance, HoldingPeriod, Plan
from builders.portfolio.ledger.records import Entry, EntryKind, EntrySource, NewEntry


def find_purchase(period: HoldingPeriod, *, voided: Collection[UUID] = ()) -> Entry | None:
    """Return the entry of the acquisition; None without one."""
    purchases = (each for each in period.entries if each.kind in START_KINDS and each.sale_id is None)
    return next((each for each in purchases if each.id not in voided), None)


def acquisition_of(purchase: Entry) -> Acquisition:
    """Return the acquisition that an entry records."""
    return Acquisition(money=purchase.money, on=purchase.occurred_on, kind=purchase.kind, venue=purchase.memo)


def begins_period(before: DomainFinance, patch: AcquisitionPatch | None) -> bool:
    """Return whether an acquisition is that of a domain that was sold and is bought back."""
    sale = before.present.sale
    return patch is not None and sale is not None and patch.on is not UNSET and patch.on > sale.sold_on


def plan_acquisition(
    before: DomainFinance, patch: AcquisitionPatch | None, *, voided: Collection[UUID], member_id: UUID | None
) -> Plan:
    """Return what records, changes or, for None, voids the acquisition. Raise Invalid without an amount.

    `voided` are entries that the same change voids.
    """
    purchase = find_purchase(before.present, voided=voided)
    if patch is None:
        return Plan() if purchase is None else Plan(void=[purchase.id])
    present = None if purchase is None else acquisition_of(purchase)
    new = _merged(before, present, patch)
    domain = before.domain
    changed: dict[str, object] = {"acquired_on": new.on}
    if len(before.periods) > 1 and before.present.sale is None and domain.status is PortfolioDomainStatus.SOLD:
        changed["status"] = PortfolioDomainStatus(domain.ownership.value)
    if new == present:
        return Plan(domain=changed)
    entry = NewEntry(
        domain_id=domain.id,
        kind=new.kind,
        money=new.money,
        occurred_on=new.on,
        source=EntrySource.MANUAL,
        memo=new.venue,
        created_by=member_id,
    )
    return Plan(post=[entry], replace=[] if purchase is None else [purchase.id], domain=changed)


def _merged(before: DomainFinance, present: Acquisition | None, patch: AcquisitionPatch) -> Acquisition:
    kind = patched(patch.kind, EntryKind.ACQUISITION if present is None else present.kind)
    return Acquisition(
        money=_price(present, patch),
        on=patched(patch.on, _known_day(before, kind) if present is None else present.on),
        kind=kind,
        venue=patched(patch.venue, None if present is None else present.venue),
    )


def _price(present: Acquisition | None, patch: AcquisitionPatch) -> Money:
    if patch.money is not UNSET:
        return patch.money
    if present is None:
        raise Invalid(("body", "acquisition", "amount"), "An acquisition requires an amount.", "missing")
    return present.money


def _known_day(before: DomainFinance, kind: EntryKind) -> date:
    """Return the day of an acquisition that is recorded without one."""
    domain = before.domain
    registered_on = domain.registered_on if kind is EntryKind.REGISTRATION else None
    return domain.acquired_on or registered_on or clock.now().date()
