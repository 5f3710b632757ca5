"""Write batches of a listing to the inventory and to the domains of the portfolio, and close it.

A registrar can leave out domains and say that its list is complete. A drop of many domains is held back until the
next complete listing does not have them either.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from uuid import UUID

from pydantic_core import to_json

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.portfolio.domains import changes as domain_changes, lookups
from builders.portfolio.domains.records import ChangeSource, Domain, DomainChange, DomainPatch
from builders.portfolio.domains.today import Today, get_today
from builders.portfolio.registrars import listing_changes
from builders.portfolio.registrars.inventory import require_below_maximum
from builders.portfolio.registrars.providers import get_profile
from builders.portfolio.registrars.records import Connection, HeldDomain, Holding, InventorySource
from builders.portfolio.registrars.store import connections as connection_store, holdings as store
from builders.portfolio.runs import runs
from builders.portfolio.runs.records import Part

LEAST_DROP = 10  # domains; a smaller drop is never held back
DROP_SHARE = 10  # nor is one of at most this part of the domains that the connection had


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

    part: Part  # with its counts
    held: Mapping[str, HeldDomain]  # the rows, by domain
    before: Mapping[str, Holding]  # the inventory, by domain
    matched: Mapping[str, Domain]  # of the portfolio, before the changes


async def take_batch(conn: Conn, *, listing: Listing, part: Part, held: Mapping[str, HeldDomain]) -> ListedBatch:
    """Write a batch of a listing to the inventory and the portfolio, and count it.

    Raise InventoryLimit, PartLost.
    """
    connection, account_id = listing.connection, listing.connection.account_id
    target = {"account_id": account_id, "connection_id": connection.id}
    today = await get_today(conn, account_id=account_id)
    before = await store.find(conn, **target, domains=list(held))
    held = {name: listing_changes.keep_times(each, before.get(name), today) for name, each in held.items()}
    new = 0 if listing.dry_run else len(held) - len(before)
    listed = part.counts.get("seen", 0) + len(held)
    await require_below_maximum(conn, account_id=account_id, new=new, listed=listed)
    if not listing.dry_run:
        await store.upsert(
            conn,
            **target,
            provider=connection.provider,
            source=listing.source,
            listing_id=listing.id,
            rows=to_json([listing_changes.row_of(each) for each in held.values()]).decode(),
            now=today.now,
        )
    matched = await lookups.load_domains(conn, account_id=account_id, names=list(held))
    patches = await _list_patches(conn, listing=listing, held=held, before=before, matched=matched, today=today)
    if not listing.dry_run:
        await _change_domains(conn, account_id=account_id, matched=matched, patches=patches)
    found = [listing_changes.reported_changes(matched[name], patch) for name, patch in patches.items()]
    first = {name for name in held if name not in before or before[name].listing_id != listing.id}
    earlier = [before[name] for name in first & before.keys()]
    began = part.started_at or part.created_at  # also before it was restarted
    counts = {
        "seen": len(first),
        "matched": len(first & matched.keys()),
        "new": len(held.keys() - before.keys()),
        "updated": sum(bool(each) for each in found),
        "known": sum(each.missing_since is None and each.first_seen_at < began for each in earlier),
        "suspected": sum(each.suspected_since is not None for each in earlier),
    }
    details = list(chain.from_iterable(found))
    part = await runs.advance_part(conn, part=part, counts=counts, details=details)
    return ListedBatch(part=part, held=held, before=before, matched=matched)


async def _list_patches(
    conn: Conn,
    *,
    listing: Listing,
    held: Mapping[str, HeldDomain],
    before: Mapping[str, Holding],
    matched: Mapping[str, Domain],
    today: Today,
) -> Mapping[str, DomainPatch]:
    connection = listing.connection
    elsewhere = [name for name, domain in matched.items() if domain.connection_id not in {None, connection.id}]
    holders = set[tuple[str, UUID]]()
    if elsewhere:
        holders = await store.list_holders(
            conn, account_id=connection.account_id, connection_id=connection.id, domains=elsewhere
        )
    patches = {
        name: listing_changes.patch_of(
            domain,
            held[name],
            before=before.get(name),
            connection_id=connection.id,
            registrar=get_profile(connection.provider).label,
            today=today,
        )
        for name, domain in matched.items()
        if listing_changes.is_source(domain, connection_id=connection.id, held=held[name], holders=holders)
    }
    return {name: patch for name, patch in patches.items() if patch.members}


async def _change_domains(
    conn: Conn, *, account_id: UUID, matched: Mapping[str, Domain], patches: Mapping[str, DomainPatch]
) -> None:
    """Change domains; a domain with only filled-in unknown fields has no event."""
    for is_quiet in (True, False):
        changes = [
            DomainChange(id=matched[name].id, patch=patch)
            for name, patch in patches.items()
            if listing_changes.replaces_known(matched[name], patch) is not is_quiet
        ]
        if changes:
            await domain_changes.change_domains(
                conn,
                account_id=account_id,
                changes=changes,
                source=ChangeSource.REGISTRAR,
                is_quiet=is_quiet,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """The domains that a complete listing does not have any more."""

    missing: int  # that are marked as missing
    held_back: int  # that are kept as held until the next complete listing


async def close_listing(
    conn: Conn, *, listing: Listing, part: Part, is_complete: bool, accepts_drop: bool
) -> Part:
    """Record how far a listing came, and count the domains that a complete one did not have any more."""
    connection, drop, now = listing.connection, Drop(missing=0, held_back=0), clock.now()
    target = {"account_id": connection.account_id, "connection_id": connection.id}
    if is_complete:
        unlisted, repeated = await store.count_unlisted(conn, **target, listing_id=listing.id)
        known = part.counts.get("known", 0)
        if listing.dry_run:  # the rows of the listing are not written
            unlisted = max(0, unlisted - known)
            repeated = max(0, repeated - part.counts.get("suspected", 0))
        drop = decide_drop(
            unlisted=unlisted,
            repeated=repeated,
            suspected=connection.suspected_drop,
            had=known + unlisted,
            is_accepted=accepts_drop,
        )
    if is_complete and not listing.dry_run:
        if drop.missing or drop.held_back:
            marks = {"holds_back": drop.held_back > 0, "confirms": drop.missing > 0}
            await store.mark_unlisted(conn, **target, listing_id=listing.id, **marks, now=now)
        await connection_store.record_drop(conn, **target, domains=drop.held_back, now=now)
    if not listing.dry_run:
        await store.upsert_snapshot(
            conn,
            **target,
            provider=connection.provider,
            source=listing.source,
            is_complete=is_complete and not drop.held_back,
            domains=part.counts.get("seen", 0),
            now=now,
        )
    counts = {"missing": drop.missing, "held_back": drop.held_back}
    return await runs.advance_part(conn, part=part, counts=counts)


def decide_drop(*, unlisted: int, repeated: int, suspected: int, had: int, is_accepted: bool) -> Drop:
    """Return which of the domains that are not listed are missing.

    `suspected` domains were held back before, `repeated` of them are not listed again, and the connection `had` so
    many domains before the listing. If only some of them are listed again, the earlier listing was wrong, and all
    are decided anew.
    """
    confirmed = suspected if repeated == suspected else 0
    rest = unlisted - confirmed
    if is_accepted or rest < LEAST_DROP or rest * DROP_SHARE <= had:
        return Drop(missing=unlisted, held_back=0)
    return Drop(missing=confirmed, held_back=rest)
