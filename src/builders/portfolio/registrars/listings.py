"""Listings of a connection: the changes that a listing makes, written by batches to inventory and portfolio.

The expiry and auto-renew are the registrar's. Unknown values of other fields are filled in, and values that are
still those of the last listing follow it; a value that a member entered stays. A missing value changes nothing,
nor does another time of the same day. The functions of these rules are pure.

A registrar can leave out domains and say that its list is complete. A drop of many domains is held back until the
next complete listing does not have them either.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any
from uuid import UUID

from pydantic_core import to_json, to_jsonable_python

from builders.kit.db.connections import Conn
from builders.kit.values import clock, domain_names
from builders.kit.values.money import Money
from builders.portfolio.domains import changes as domain_changes, lookups
from builders.portfolio.domains.fields import MAX_NAMESERVERS
from builders.portfolio.domains.records import ChangeSource, Domain, DomainChange, DomainPatch, ExpirySource
from builders.portfolio.domains.today import Today, get_today
from builders.portfolio.registrars.inventory import require_below_maximum
from builders.portfolio.registrars.providers import get_profile
from builders.portfolio.registrars.records import (
    Connection,
    HeldStatus,
    HeldTransfer,
    Holding,
    InventorySource,
    RegistrarDomain,
)
from builders.portfolio.registrars.store import connections as connection_store, holdings as store
from builders.portfolio.runs import runs
from builders.portfolio.runs.records import Part

MAX_STATUS = 200
AMOUNT_LIMIT = Decimal(10) ** 15  # beyond all prices and charges
# The fields whose changes are reported.
REPORTED = (
    *("expires_at", "auto_renew", "locked", "privacy"),
    *("nameservers", "renewal_price", "registered_on", "registrar"),
)
_STORED = ("domain", "expires_at", "auto_renew", "locked", "privacy", "status", "status_raw")  # as they are
LEAST_DROP = 10  # domains; a smaller drop is never held back
DROP_SHARE = 10  # nor is one of at most this part of the domains that the connection had


def clean(page: Sequence[RegistrarDomain]) -> Mapping[str, RegistrarDomain]:
    """Return the rows of a page by domain, as they can be stored.

    Of a repeated domain it is the last one that the account holds: GoDaddy lists a name that was lost and then
    registered again twice.
    """
    held = sorted(page, key=lambda each: each.status is not HeldStatus.GONE)
    return {each.domain: cleaned(each) for each in held}


def cleaned_transfer(transfer: HeldTransfer) -> HeldTransfer:
    """Return a transfer as it can be stored."""
    message = transfer.message
    return replace(
        transfer,
        status_raw=transfer.status_raw.replace("\0", "")[:MAX_STATUS],
        message=None if message is None else message.replace("\0", "")[:MAX_STATUS],
    )


def cleaned(held: RegistrarDomain) -> RegistrarDomain:
    """Return a row as it can be stored."""
    status, price = held.status_raw, held.renewal_price
    nameservers = held.nameservers
    if nameservers is not None:
        hosts = dict.fromkeys(filter(None, map(domain_names.find_a_label, nameservers)))
        nameservers = list(hosts)[:MAX_NAMESERVERS] or None
    return replace(
        held,
        status_raw=None if status is None else status.replace("\0", "")[:MAX_STATUS],
        nameservers=nameservers,
        renewal_price=None if price is None or abs(price.amount) >= AMOUNT_LIMIT else price.quantized(),
    )


def row_of(held: RegistrarDomain | Holding) -> Mapping[str, Any]:
    """Return a row in its stored form."""
    price = held.renewal_price
    return {
        **{name: getattr(held, name) for name in _STORED},
        "registered_at": _registered_at(held),
        "nameservers": None if held.nameservers is None else list(held.nameservers),
        "renewal_price": None if price is None else f"{price.amount:f}",
        "renewal_currency": None if price is None else price.currency,
    }


def is_source(
    domain: Domain, *, connection_id: UUID, held: RegistrarDomain, holders: Collection[tuple[str, UUID]]
) -> bool:
    """Return whether a connection keeps a domain up to date.

    A domain that several connections hold follows the one that it is connected to, while that one has it.
    """
    if held.status is HeldStatus.GONE:
        return False
    return domain.connection_id in {None, connection_id} or (domain.domain, domain.connection_id) not in holders


def patch_of(
    domain: Domain,
    held: RegistrarDomain,
    *,
    before: Holding | None,
    connection_id: UUID,
    registrar: str,
    today: Today,
) -> DomainPatch:
    """Return the changes that a row makes in a domain; `before` is the row of the last listing."""
    members: dict[str, Any] = {} if domain.connection_id == connection_id else {"connection_id": connection_id}
    if domain.registrar is None:
        members["registrar"] = registrar
    if held.expires_at is not None:
        members["expires_at"] = _kept(domain.expires_at, held.expires_at, today)
        members["expiry_source"] = ExpirySource.REGISTRAR
    if held.auto_renew is not None:
        members["auto_renew"] = held.auto_renew
    said = None if before is None else _facts(before)
    for name, value in _facts(held).items():
        present = getattr(domain, name)
        present = list(present) if isinstance(present, Sequence) else present
        follows = present in (None, []) or (said is not None and present == said[name])
        if value is not None and follows:
            members[name] = value
    changed = {name: value for name, value in members.items() if getattr(domain, name) != value}
    if "expires_at" in changed:
        changed["expiry_source"] = ExpirySource.REGISTRAR  # else it would count as entered by hand
    return DomainPatch(changed)


def keep_times(held: RegistrarDomain, before: Holding | None, today: Today) -> RegistrarDomain:
    """Return a row with the times of the last listing where only the time of day differs."""
    if before is None:
        return held
    return replace(
        held,
        expires_at=_kept(before.expires_at, held.expires_at, today),
        created_at=_kept(before.registered_at, held.created_at, today),
    )


def _kept(known: datetime | None, said: datetime | None, today: Today) -> datetime | None:
    return known if known is not None and said is not None and today.is_same_day(known, said) else said


def _registered_at(held: RegistrarDomain | Holding) -> datetime | None:
    return held.created_at if isinstance(held, RegistrarDomain) else held.registered_at


def _facts(held: RegistrarDomain | Holding) -> Mapping[str, Any]:
    created_at = _registered_at(held)
    return {
        "locked": held.locked,
        "privacy": held.privacy,
        "nameservers": None if held.nameservers is None else list(held.nameservers),
        "renewal_price": held.renewal_price,
        "registered_on": None if created_at is None else created_at.date(),
    }


def reported_changes(domain: Domain, patch: DomainPatch) -> Sequence[Mapping[str, Any]]:
    """Return the changed fields of a domain, in JSON."""
    after = replace(domain, **patch.members)
    return [
        {
            "domain": domain.domain,
            "domain_id": str(domain.id),
            "field": name,
            "from": _json(getattr(domain, name)),
            "to": _json(getattr(after, name)),
        }
        for name in REPORTED
        if getattr(domain, name) != getattr(after, name)
    ]


def replaces_known(domain: Domain, patch: DomainPatch) -> bool:
    """Return whether a change replaces a known value, and is not only one that was unknown."""
    return any(getattr(domain, name) not in (None, [], ()) for name in patch.members if name in REPORTED)


def _json(value: Any) -> Any:  # a field of a domain, in JSON
    return value.to_wire() if isinstance(value, Money) else to_jsonable_python(value)


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
    held: Mapping[str, RegistrarDomain]  # the rows, by domain
    before: Mapping[str, Holding]  # the inventory, by domain
    matched: Mapping[str, Domain]  # of the portfolio, before the changes


async def take_batch(
    conn: Conn, *, listing: Listing, part: Part, held: Mapping[str, RegistrarDomain]
) -> ListedBatch:
    """Write a batch of a listing to the inventory and the portfolio, and count it.

    Raise InventoryLimit, PartLost.
    """
    connection, account_id = listing.connection, listing.connection.account_id
    target = {"account_id": account_id, "connection_id": connection.id}
    today = await get_today(conn, account_id=account_id)
    before = await store.find(conn, **target, domains=list(held))
    held = {name: keep_times(each, before.get(name), today) for name, each in held.items()}
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
            rows=to_json([row_of(each) for each in held.values()]).decode(),
            now=today.now,
        )
    matched = await lookups.load_domains(conn, account_id=account_id, names=list(held))
    patches = await _list_patches(conn, listing=listing, held=held, before=before, matched=matched, today=today)
    if not listing.dry_run:
        await _change_domains(conn, account_id=account_id, matched=matched, patches=patches)
    found = [reported_changes(matched[name], patch) for name, patch in patches.items()]
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
    held: Mapping[str, RegistrarDomain],
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
        name: patch_of(
            domain,
            held[name],
            before=before.get(name),
            connection_id=connection.id,
            registrar=get_profile(connection.provider).label,
            today=today,
        )
        for name, domain in matched.items()
        if is_source(domain, connection_id=connection.id, held=held[name], holders=holders)
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
            if replaces_known(matched[name], patch) is not is_quiet
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
