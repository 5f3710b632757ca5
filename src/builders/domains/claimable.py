"""The domains on which an account can claim names: its own, then those of the catalog by rank."""

from uuid import UUID

from builders.catalog import snapshot
from builders.catalog.records import CatalogDomain, MailMode
from builders.catalog.snapshot import Snapshot
from builders.domains.bulk import with_catalog_rules
from builders.domains.records import AccountDomain, Claimable, ClaimableSource
from builders.domains.store import domains as store
from builders.kit.db.connections import Conn
from builders.kit.http.pagination import Page, PageRequest, SortKey

CLAIMABLE_LIMIT = 1_000  # of a page; a catalog of usual size is one page
_OWN, _CATALOG = "own", "catalog"


async def list_claimable(conn: Conn, *, current: Snapshot, account_id: UUID, page: PageRequest) -> Page[Claimable]:
    """Return own live domains by name, then live ones of the catalog by rank; no catch-all, and none twice.

    Two statements; the catalog is in memory.
    """
    # Sorted here, in the order by which the cursor is compared: the collation of a database can differ.
    listed = sorted(await store.list_claimable(conn, account_id=account_id), key=lambda each: each.domain)
    own = await with_catalog_rules(conn, domains=listed)
    source, *after = page.after or (_OWN, "")
    found = [_from_account(each) for each in own if source == _OWN and each.domain > str(after[0])]
    if (missing := page.limit + 1 - len(found)) > 0:
        found += (
            _from_catalog(each)
            for each in snapshot.list_claimable(
                current,
                after=after if source == _CATALOG else None,
                without={each.domain for each in own},
                limit=missing,
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
