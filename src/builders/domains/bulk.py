"""Operations on any number of domains, in a few statements: for names that are claimed, and for manifests."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from builders.catalog import availability
from builders.domains.errors import DomainsChanged, KeysTaken
from builders.domains.events import DOMAIN_UPDATED, event_data
from builders.domains.records import AccountDomain, DomainChange
from builders.domains.store import domains as store, sets
from builders.identity import accounts
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.values import clock


async def find_domains(
    conn: Conn, *, account_id: UUID, domains: Iterable[str], lock: bool = False
) -> dict[str, AccountDomain]:
    """Return the account's live domains among these A-labels, by name, with the rules of their names.

    The account can have names on an `is_claimable` domain only; they are free of charge. `lock` prevents changes
    of the domains until the transaction ends, for a claim of names on them. At most two statements.
    """
    wanted = sorted(set(domains))
    found = await store.list_live(conn, account_id=account_id, domains=wanted, lock=lock) if wanted else []
    return {each.domain: each for each in await with_catalog_rules(conn, domains=found)}


async def with_catalog_rules(conn: Conn, *, domains: Sequence[AccountDomain]) -> list[AccountDomain]:
    """Return the domains, each with the rules of the catalog if it is there too: one name must have one key."""
    shared = await availability.find_domains(conn, domains=[each.domain for each in domains]) if domains else {}
    return [replace(each, rules=shared[each.domain].rules) if each.domain in shared else each for each in domains]


async def list_managed(conn: Conn, *, account_id: UUID, manifest: str) -> list[AccountDomain]:
    """Return the account's domains that a manifest manages, of any status but released."""
    return await sets.list_managed(conn, account_id=account_id, manifest=manifest)


async def update_many(conn: Conn, *, account_id: UUID, changes: Sequence[DomainChange]) -> None:
    """Change domains that still have their version, all or none; publish domain.updated for each.

    One call can swap keys of a manifest. Raise DomainsChanged, and KeysTaken when a key belongs to a domain
    without a change. The caller ensures that a catch-all has a destination.
    """
    if not changes:
        return
    await _lock(conn, account_id, {change.id: change.version for change in changes})
    if taken := await sets.list_taken_keys(conn, account_id=account_id, changes=changes):
        raise KeysTaken(taken)
    await sets.update(conn, account_id=account_id, changes=changes, now=clock.now())
    changed = await sets.list_by_id(conn, account_id=account_id, domain_ids=[change.id for change in changes])
    await outbox.publish_many(conn, DOMAIN_UPDATED, [(account_id, event_data(each)) for each in changed])


async def _lock(conn: Conn, account_id: UUID, versions: Mapping[UUID, int]) -> None:
    unchanged = await sets.lock_unchanged(conn, account_id=account_id, versions=versions)
    if changed := versions.keys() - unchanged:
        raise DomainsChanged(changed)


async def clear(conn: Conn, *, account_id: UUID) -> int:
    """Delete all domains of a sandbox account without events; return their number.

    Raise ValueError for a live account.
    """
    await accounts.require_sandbox_account(conn, account_id=account_id)
    return await sets.clear(conn, account_id=account_id)
