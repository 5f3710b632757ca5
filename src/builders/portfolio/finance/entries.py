"""Lists of ledger entries, with the names of their domains."""

from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import PageRequest
from builders.kit.pages import Page
from builders.kit.values.days import require_order
from builders.kit.values.resources import extended
from builders.portfolio.domains import lookups
from builders.portfolio.finance.records import LedgerEntry, ListedEntries
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.records import EntryFilters, EntrySort


async def list_entries(
    conn: Conn,
    *,
    account_id: UUID,
    key: str | None,
    filters: EntryFilters,
    sort: EntrySort,
    page: PageRequest,
    include_total: bool,
) -> ListedEntries:
    """Return a page of the entries of a portfolio, or of one of its domains.

    Raise DomainNotFound, and Invalid for a period that ends before it begins.
    """
    if filters.since is not None and filters.until is not None:
        require_order(filters.since, filters.until)
    domain_id = None
    if key is not None:
        domain_id = (await lookups.get_domain(conn, account_id=account_id, key=key)).id
    of: dict[str, Any] = {"account_id": account_id, "domain_id": domain_id, "filters": filters}
    found = await ledger_entries.list_entries(conn, **of, sort=sort, page=page)
    domain_ids = list({each.domain_id for each in found.items})
    domains = await lookups.load_domains_by_id(conn, account_id=account_id, ids=domain_ids)
    names = {each.id: each.domain for each in domains.values()}
    items = [extended(LedgerEntry, each, domain=names.get(each.domain_id)) for each in found.items]
    return ListedEntries(
        page=Page(items=items, next_cursor=found.next_cursor),
        total=await ledger_entries.count_entries(conn, **of) if include_total else None,
    )
