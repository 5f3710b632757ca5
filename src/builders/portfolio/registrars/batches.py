"""Write batches of a listing to the inventory and to the domains of the portfolio."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.kit.values.patches import set_members
from builders.portfolio.domains import service as domains
from builders.portfolio.domains.records import Domain, DomainChange, DomainPatch
from builders.portfolio.registrars import matching
from builders.portfolio.registrars.inventory_records import Holding, InventorySource
from builders.portfolio.registrars.providers import get_profile
from builders.portfolio.registrars.records import Connection, HeldDomain
from builders.portfolio.registrars.store import holdings as store


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A listing of the domains of a connection."""

    connection: Connection
    id: UUID
    source: InventorySource
    dry_run: bool  # without writes


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedBatch:
    """Result of a batch of a listing."""

    before: Mapping[str, Holding]  # the inventory, by domain
    matched: Mapping[str, Domain]  # of the portfolio, before the changes
    repeated: Collection[str] = field(default_factory=frozenset)  # the listing had them already
    changes: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)  # of the portfolio, by domain

    def list_changes(self) -> Sequence[Mapping[str, Any]]:
        """Return the changes of all domains."""
        return [change for each in self.changes.values() for change in each]


async def take_batch(conn: Conn, *, listing: Listing, held: Mapping[str, HeldDomain]) -> ListedBatch:
    """Write a batch of a listing to the inventory, and its changes to the portfolio."""
    connection, account_id = listing.connection, listing.connection.account_id
    target = {"account_id": account_id, "connection_id": connection.id}
    before = await store.find(conn, **target, domains=list(held))
    if not listing.dry_run:
        await store.upsert(
            conn,
            **target,
            provider=connection.provider,
            source=listing.source.value,
            listing_id=listing.id,
            rows=[matching.row_of(each) for each in held.values()],
            now=clock.now(),
        )
    matched = await domains.find_domains(conn, account_id=account_id, names=list(held))
    patches = await _list_patches(conn, listing=listing, held=held, before=before, matched=matched)
    if not listing.dry_run:
        await _change_domains(conn, account_id=account_id, matched=matched, patches=patches)
    found = {name: matching.reported_changes(matched[name], patch) for name, patch in patches.items()}
    return ListedBatch(
        before=before,
        matched=matched,
        repeated={name for name, each in before.items() if each.listing_id == listing.id},
        changes={name: changes for name, changes in found.items() if changes},
    )


async def _list_patches(
    conn: Conn,
    *,
    listing: Listing,
    held: Mapping[str, HeldDomain],
    before: Mapping[str, Holding],
    matched: Mapping[str, Domain],
) -> Mapping[str, DomainPatch]:
    connection = listing.connection
    elsewhere = [name for name, domain in matched.items() if domain.connection_id not in {None, connection.id}]
    holders = frozenset[tuple[str, UUID]]()
    if elsewhere:
        holders = await store.list_holders(
            conn, account_id=connection.account_id, connection_id=connection.id, domains=elsewhere
        )
    patches = {
        name: matching.patch_of(
            domain,
            held[name],
            before=before.get(name),
            connection_id=connection.id,
            registrar=get_profile(connection.provider).label,
        )
        for name, domain in matched.items()
        if matching.is_source(domain, connection_id=connection.id, held=held[name], holders=holders)
    }
    return {name: patch for name, patch in patches.items() if set_members(patch)}


async def _change_domains(
    conn: Conn, *, account_id: UUID, matched: Mapping[str, Domain], patches: Mapping[str, DomainPatch]
) -> None:
    """Change domains; a domain with only filled-in unknown fields has no event."""
    changed = {name for name, patch in patches.items() if matching.replaces_known(matched[name], patch)}
    for is_quiet in (True, False):
        changes = [
            DomainChange(id=matched[name].id, patch=patch)
            for name, patch in patches.items()
            if (name not in changed) is is_quiet
        ]
        if changes:
            await domains.change_domains(conn, account_id=account_id, changes=changes, is_quiet=is_quiet)


async def close_listing(conn: Conn, *, listing: Listing, is_complete: bool, domains_seen: int, known: int) -> int:
    """Record how far a listing came; return how many domains a complete one did not have any more.

    `known` of the domains that it had were in the inventory before, which a dry run subtracts.
    """
    connection = listing.connection
    target = {"account_id": connection.account_id, "connection_id": connection.id}
    if listing.dry_run:
        return max(0, await store.count_present(conn, **target) - known) if is_complete else 0
    now, missing = clock.now(), 0
    if is_complete:
        missing = await store.mark_missing(conn, **target, listing_id=listing.id, now=now)
    await store.upsert_snapshot(
        conn,
        **target,
        provider=connection.provider,
        source=listing.source.value,
        is_complete=is_complete,
        domains=domains_seen,
        now=now,
    )
    return missing
