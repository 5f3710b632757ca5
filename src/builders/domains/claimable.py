"""Where an account can claim names: its own domains, then those of the catalog by rank."""

from uuid import UUID

from builders.catalog import service as catalog
from builders.catalog.records import CatalogDomain, MailMode
from builders.domains.bulk import with_catalog_rules
from builders.domains.records import AccountDomain, Claimable, ClaimableSource
from builders.domains.store import domains as store
from builders.kit.db.connections import Conn
from builders.kit.http.pagination import Page, PageRequest, SortKey

CLAIMABLE_AT_ONCE = 1_000  # on a page when nobody says how many; a catalog of usual size is one page
_OWN, _CATALOG = "own", "catalog"


async def list_claimable(
    conn: Conn, *, shown: catalog.Snapshot, account_id: UUID, page: PageRequest
) -> Page[Claimable]:
    """Own live domains by name, then live ones of the catalog by rank; no catch-all, and none twice.

    Two statements; the catalog is in memory.
    """
    # In the order in which the cursor is compared: databases have orders of text of their own.
    listed = sorted(await store.list_claimable(conn, account_id=account_id), key=lambda each: each.domain)
    own = await with_catalog_rules(conn, listed)
    begun, *after = page.after or (_OWN, "")
    found = [_from_account(each) for each in own if begun == _OWN and each.domain > str(after[0])]
    if (room := page.limit + 1 - len(found)) > 0:
        found += (
            _from_catalog(each)
            for each in catalog.list_claimable(
                shown,
                after=after if begun == _CATALOG else None,
                without={each.domain for each in own},
                limit=room,
            )
        )
    return page.cut(found[: page.limit + 1], _key)


def _key(item: Claimable) -> SortKey:
    return [_OWN, item.domain] if item.source == "account" else [_CATALOG, 0, -item.rank, item.domain]


def _from_account(domain: AccountDomain) -> Claimable:
    return Claimable(
        domain=domain.domain,
        source=ClaimableSource.ACCOUNT,
        mail_mode=MailMode.BOTH,
        categories=(),
        price=None,
        rules=domain.rules,
    )


def _from_catalog(domain: CatalogDomain) -> Claimable:
    return Claimable(
        domain=domain.domain,
        source=ClaimableSource.CATALOG,
        mail_mode=domain.mail_mode,
        categories=domain.categories,
        price=domain.price,
        rules=domain.rules,
        rank=domain.rank,
    )
