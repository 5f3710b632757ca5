"""Sales of many domains: what other packages read of them, and the sales of an import."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.values import clock, ids
from builders.portfolio.finance import store
from builders.portfolio.finance.records import NewSale, RecordedSale, Sale
from builders.portfolio.finance.sales import check_terms, sale_entries, terms_of
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.errors import EntryLimitReached
from builders.portfolio.ledger.records import Entry, NewEntry, SaleTerms

_INCOMPLETE = "The domain cannot hold all entries of the sale."


async def list_last_sales(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> Mapping[UUID, date]:
    """Return the day of the last sale of each domain that has one, in one statement."""
    found = await store.list_sales(conn, account_id=account_id, domain_ids=domain_ids)
    return {each.domain_id: each.sold_on for each in found}


async def list_terms(
    conn: Conn, *, account_id: UUID, entries: Mapping[UUID, Sequence[Entry]]
) -> Mapping[UUID, Sequence[tuple[Sale, SaleTerms]]]:
    """Return the sales of domains with their terms, by day, from the entries of the domains that are not void."""
    found: dict[UUID, list[tuple[Sale, SaleTerms]]] = defaultdict(list)
    for sale in await store.list_sales(conn, account_id=account_id, domain_ids=list(entries)):
        terms = terms_of(sale, entries[sale.domain_id])
        if terms is not None:
            found[sale.domain_id].append((sale, terms))
    return found


async def record_sales(
    conn: Conn, *, account_id: UUID, import_id: UUID, sales: Sequence[NewSale], member_id: UUID
) -> Sequence[RecordedSale]:
    """Record sales of locked domains; return a result for each in order. The caller sets the status of domains.

    A domain has one sale on a day: the present one does not change. A sale whose entries the domain cannot hold is
    refused whole.
    """
    domain_ids = sorted({each.domain_id for each in sales})
    present = await store.list_sales(conn, account_id=account_id, domain_ids=domain_ids)
    taken = {(each.domain_id, each.sold_on) for each in present}
    results = dict.fromkeys(range(len(sales)), RecordedSale())
    new: dict[int, tuple[Sale, Sequence[NewEntry]]] = {}
    for at, each in enumerate(sales):
        key = (each.domain_id, each.terms.sold_on)
        if key in taken:
            continue
        try:
            check_terms(each.terms, is_consigned=each.own_share < 1)
        except Invalid as refusal:
            results[at] = RecordedSale(refusal=refusal)
            continue
        taken.add(key)
        sale = _new_sale(each, import_id)
        new[at] = sale, sale_entries(sale, each.terms, created_by=member_id)
    listed = [entry for _, entries in new.values() for entry in entries]
    posted = iter(await ledger_entries.post_entries(conn, account_id=account_id, entries=listed) if listed else ())
    incomplete: list[UUID] = []
    for at, (_, entries) in list(new.items()):
        recorded = [next(posted).entry for _ in entries]
        entry_ids = [each.id for each in recorded if each is not None]
        if len(entry_ids) < len(entries):
            incomplete += entry_ids
            results[at] = RecordedSale(refusal=EntryLimitReached())
            del new[at]
        else:
            results[at] = RecordedSale(entry_ids=entry_ids)
    if incomplete:
        await ledger_entries.void_entries(conn, account_id=account_id, ids=incomplete, reason=_INCOMPLETE)
    if new:
        rows = [sale for sale, _ in new.values()]
        await store.save_sales(conn, account_id=account_id, sales=rows, created_by=member_id)
    return list(results.values())


def _new_sale(new: NewSale, import_id: UUID) -> Sale:
    terms = new.terms
    return Sale(
        id=ids.new(),
        domain_id=new.domain_id,
        sold_on=terms.sold_on,
        commission_rate=terms.commission_rate,
        venue=terms.venue,
        buyer_ref=terms.buyer_ref,
        own_share=new.own_share,
        status_before=new.status_before,
        created_at=clock.now(),
        import_id=import_id,
    )


async def void_imported(conn: Conn, *, account_id: UUID, import_id: UUID, domain_ids: Sequence[UUID]) -> None:
    """Void the sales of domains that an import recorded and no member changed. The caller voids their entries."""
    await store.void_imported(
        conn, account_id=account_id, import_id=import_id, domain_ids=domain_ids, now=clock.now()
    )
