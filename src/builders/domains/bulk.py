"""Domains in sets, as a manifest has them: all or none, in a handful of statements for any number."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from builders.catalog import service as catalog
from builders.domains.errors import DomainsChanged, KeysTaken
from builders.domains.events import DOMAIN_UPDATED, event_data
from builders.domains.records import AccountDomain, DomainChange
from builders.domains.store import domains as store, sets
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.values import clock


async def find_domains(
    conn: Conn, *, account_id: UUID, domains: Iterable[str], lock: bool = False
) -> dict[str, AccountDomain]:
    """Those of the domains (A-labels) that are the account's and live, each with the rules of names on it.

    Only on a `is_claimable` one can the account have names, free of charge. With `lock` they stay as they are
    until the transaction ends: for who claims names on them. Two statements at most.
    """
    wanted = sorted(set(domains))
    found = await store.list_live(conn, account_id=account_id, domains=wanted, lock=lock) if wanted else []
    return {each.domain: each for each in await with_catalog_rules(conn, found)}


async def with_catalog_rules(conn: Conn, domains: Sequence[AccountDomain]) -> list[AccountDomain]:
    """The domains with the rules of the catalog where it has them too: a name must be one name for all."""
    shared = await catalog.find_domains(conn, domains=[each.domain for each in domains]) if domains else {}
    return [replace(each, rules=shared[each.domain].rules) if each.domain in shared else each for each in domains]


async def list_managed(conn: Conn, *, account_id: UUID, manifest: str) -> list[AccountDomain]:
    """The account's domains that a manifest manages, of any status but released."""
    return await sets.list_managed(conn, account_id=account_id, manifest=manifest)


async def update_many(conn: Conn, *, account_id: UUID, changes: Sequence[DomainChange]) -> None:
    """Changes domains that still have their version, all or none; publishes domain.updated for each.

    Keys of a manifest can be swapped within one call. Raises DomainsChanged, and KeysTaken when a key stands for a
    domain that is not among those changed. That a catch-all has a destination is the caller's to see to.
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
