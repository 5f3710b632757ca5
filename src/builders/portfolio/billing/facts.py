"""Load the facts that matching needs for a batch of charges, each with one statement."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.portfolio.billing import linking
from builders.portfolio.billing.matching import REFUND_PERIOD, Holdings
from builders.portfolio.billing.names import read_names
from builders.portfolio.billing.records import Charge
from builders.portfolio.billing.store import charges as store
from builders.portfolio.domains import lookups
from builders.portfolio.domains.records import Domain, PortfolioDomainStatus
from builders.portfolio.finance import recorded_sales
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.records import NewEntry
from builders.portfolio.registrars import providers


def label_of(provider: str) -> str:
    """Return the name of a provider as people write it."""
    return providers.get_profile(provider).label


async def load_holdings(conn: Conn, *, account_id: UUID, charges: Sequence[Charge]) -> Holdings:
    """Return the domains that charges can be for by their words."""
    found = [read_names(each.domain_raw, each.description) for each in charges]
    names = {name for each in found for name in (each.field, *each.text) if name is not None}
    labels = {label for each in found for label in each.labels}
    by_name = await lookups.find_domains(conn, account_id=account_id, names=sorted(names)) if names else {}
    by_label: Mapping[str, Sequence[Domain]] = {}
    if labels:
        by_label = await lookups.find_domains_by_label(conn, account_id=account_id, labels=sorted(labels))
    held = {each.domain: each for each in (*by_name.values(), *(d for found in by_label.values() for d in found))}
    return Holdings(
        by_name=held,
        by_label=by_label,
        by_id={each.id: each for each in held.values()},
        sold_on=await _load_sales(conn, account_id=account_id, held=held.values()),
        registrars={each: label_of(each) for each in {charge.provider for charge in charges}},
    )


async def _load_sales(conn: Conn, *, account_id: UUID, held: Iterable[Domain]) -> Mapping[UUID, date]:
    """Return the day of the sale of each domain that is sold."""
    sold = [each.id for each in held if each.status is PortfolioDomainStatus.SOLD]
    return await recorded_sales.list_last_sales(conn, account_id=account_id, domain_ids=sold) if sold else {}


async def load_earlier(conn: Conn, *, account_id: UUID, charges: Sequence[Charge]) -> Sequence[Charge]:
    """Return the charges that the refunds among these can reverse."""
    refunds = [each for each in charges if each.is_refund]
    if not refunds:
        return ()
    orders = {order for each in refunds for order in (each.parent_order_id, each.order_id) if order}
    return await store.list_earlier(
        conn,
        account_id=account_id,
        orders=sorted(orders),
        domains=sorted({each.domain for each in refunds if each.domain is not None}),
        since=min(each.charged_on for each in refunds) - REFUND_PERIOD,
        until=max(each.charged_on for each in refunds),
    )


async def with_domains_of(
    conn: Conn, *, account_id: UUID, charges: Sequence[Charge], holdings: Holdings
) -> Holdings:
    """Return the holdings with the domains of charges that were matched before."""
    missing = {each.domain_id for each in charges if each.domain_id is not None} - holdings.by_id.keys()
    if not missing:
        return holdings
    found = await lookups.find_domains_by_id(conn, account_id=account_id, ids=sorted(missing))
    return replace(holdings, by_id={**holdings.by_id, **found})


async def load_recorded(conn: Conn, *, account_id: UUID, paid: Sequence[NewEntry]) -> linking.Recorded:
    """Return the entries that members recorded and no charge has, of those that can be linked."""
    entries = await ledger_entries.list_like(conn, account_id=account_id, entries=paid, likeness=linking.LIKENESS)
    entry_ids = [each.id for each in entries]
    taken = set(await list_booked_entries(conn, account_id=account_id, entry_ids=entry_ids))
    return linking.Recorded(each for each in entries if each.id not in taken)


async def list_booked_entries(conn: Conn, *, account_id: UUID, entry_ids: Sequence[UUID]) -> Sequence[UUID]:
    """Return those of the entries that belong to an applied charge."""
    return await store.list_taken(conn, account_id=account_id, entry_ids=entry_ids) if entry_ids else ()
