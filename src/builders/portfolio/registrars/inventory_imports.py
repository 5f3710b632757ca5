"""Imports of the inventory: the list of domains of a registrar, from a file, rows or names."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, time
from itertools import islice
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http import slices
from builders.kit.rows import RowOutcome, RowProblem, RowResult
from builders.kit.sheets import workbooks
from builders.kit.sheets.detection import DetectedTable
from builders.kit.sheets.tables import opening
from builders.kit.values import clock, texts
from builders.portfolio.domain_files.columns import DOMAINS, DomainRow
from builders.portfolio.domain_files.drafts import MAX_WRITTEN
from builders.portfolio.domains import changes, lookups
from builders.portfolio.domains.changes import FULL_PROBLEM
from builders.portfolio.domains.records import DomainName, ExpirySource, NewDomain
from builders.portfolio.registrars import listings
from builders.portfolio.registrars.connections import ensure_manual_connection, find_named
from builders.portfolio.registrars.errors import NotConnected
from builders.portfolio.registrars.listings import ListedBatch, Listing, close_listing, take_batch
from builders.portfolio.registrars.providers import get_profile
from builders.portfolio.registrars.records import (
    MAX_IMPORT_ROWS,
    Connection,
    HeldStatus,
    Holding,
    ImportMode,
    InventoryImport,
    InventorySource,
    NewInventoryImport,
    RegistrarDomain,
)
from builders.portfolio.registrars.requests import record_outcome
from builders.portfolio.runs import runs
from builders.portfolio.runs.records import NewPart, Part, PartState, WorkKind

BATCH = 500
_LOCKED = "clientTransferProhibited"


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the file that can be read."""

    name: DomainName
    held: RegistrarDomain


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadInventory:
    """A list of domains that is read."""

    new: NewInventoryImport
    detected: DetectedTable
    rows: Sequence[DomainRow]


async def import_inventory(
    conn: Conn, *, account_id: UUID, member_id: UUID, read: ReadInventory
) -> InventoryImport:
    """Import the list of domains of a connection as a run, in the transaction of the caller.

    Two imports of one connection at once take turns. A list without a domain marks no domain missing. Raise
    ProviderNotFound, NotConnected, ConnectionAmbiguous, ConnectionLimit, InventoryLimit.
    """
    new, rows = read.new, _combine(read.rows)
    is_whole = bool(rows) and not any(each.errors for each in read.rows)
    is_complete = new.mode is ImportMode.REPLACE_SNAPSHOT and is_whole
    async with conn.transaction(force_rollback=new.dry_run):
        connection = await _connection(conn, account_id=account_id, new=new)
        new_part = NewPart(subject_id=connection.id, provider=connection.provider, state=PartState.RUNNING)
        run = await runs.start_run(
            conn,
            account_id=account_id,
            kind=WorkKind.INVENTORY,
            parts=[new_part],
            options={},
            created_by=member_id,
        )
        listing = Listing(connection=connection, id=run.id, source=InventorySource.IMPORT, dry_run=False)
        part, taken, refused = await _take(conn, run.parts[0], listing, rows, adds=new.adds_to_portfolio)
        part = await _close(conn, part, listing, rows, is_complete=is_complete)
        await runs.finish_part(conn, part=part, state=PartState.COMPLETED)
        found = await lookups.load_domains(conn, account_id=account_id, names=list(rows))
    shown = {} if new.dry_run else {name: each.id for name, each in found.items()}
    known = {name: each.id for batch in taken for name, each in batch.matched.items()}
    return InventoryImport(
        import_id=run.id,
        provider=connection.provider,
        connection_id=connection.id,
        mode=new.mode,
        dry_run=new.dry_run,
        detected=read.detected,
        results=_results(read, taken, ids=known | shown, refused=refused),
        updated_domains=part.counts.get("updated", 0),
        added_domains=part.counts.get("added", 0),
        missing=part.counts.get("missing", 0),
        complete=is_complete,
    )


async def read_inventory(new: NewInventoryImport) -> ReadInventory:
    """Read a list of domains in slices, without a connection. Raise Invalid for one that cannot be read."""
    new = replace(new, table=await workbooks.open_sent(new.table))
    reading = await slices.run(opening(DOMAINS, new.table, max_rows=MAX_IMPORT_ROWS))
    return ReadInventory(new=new, detected=reading.detected, rows=await slices.collect(reading.rows()))


async def _connection(conn: Conn, *, account_id: UUID, new: NewInventoryImport) -> Connection:
    profile = get_profile(new.provider)
    found = await find_named(conn, account_id=account_id, provider=profile.provider, name=new.connection)
    if found is not None and found.disconnected_at is None:
        return found
    if profile.credential_fields:
        raise NotConnected(
            f"The portfolio is not connected to {profile.label}.",
            next_action=f"Connect it, or import the file as `manual:{profile.provider}`.",
        )
    return await ensure_manual_connection(conn, account_id=account_id, provider=profile.provider)


def _combine(read: Sequence[DomainRow]) -> Mapping[str, _Row]:
    """Return the rows that can be read, by domain; a later row of a domain adds to the earlier one."""
    rows: dict[str, _Row] = {}
    for row in read:
        if row.domain is None or row.errors:
            continue
        held, before = _held(row, row.domain.domain), rows.get(row.domain.domain)
        if before is not None:
            said = {each.name: getattr(held, each.name) for each in fields(RegistrarDomain)}
            held = replace(before.held, **{name: value for name, value in said.items() if value is not None})
        rows[row.domain.domain] = _Row(row.domain, held)
    return rows


def _held(row: DomainRow, domain: str) -> RegistrarDomain:
    locked = row.locked
    return RegistrarDomain(
        domain=domain,
        expires_at=_time(row.expires_at),
        created_at=_time(row.registered_on),
        auto_renew=row.auto_renew,
        locked=_LOCKED in row.epp_statuses if locked is None and row.epp_statuses else locked,
        privacy=row.privacy,
        nameservers=row.nameservers,
        renewal_price=row.renewal_price,
    )


def _time(value: date | datetime | None) -> datetime | None:
    return value if value is None or isinstance(value, datetime) else datetime.combine(value, time(tzinfo=UTC))


async def _take(
    conn: Conn, part: Part, listing: Listing, rows: Mapping[str, _Row], *, adds: bool
) -> tuple[Part, Sequence[ListedBatch], Collection[str]]:
    """Write the rows; return the part with its counts, each batch, and the refused names.

    The portfolio cannot hold the refused ones, which are in the inventory alone.
    """
    account_id = listing.connection.account_id
    if adds:
        await changes.lock_capacity(conn, account_id=account_id)
    taken, refused, names = list[ListedBatch](), set[str](), iter(rows)
    while batch := list(islice(names, BATCH)):
        held = listings.clean([rows[name].held for name in batch])
        found = await take_batch(conn, listing=listing, part=part, held=held)
        part = found.part
        taken.append(found)
        if adds:
            new = [_new_domain(rows[name], listing) for name in held if name not in found.matched]
            written = await changes.add_domains(conn, account_id=account_id, new=new)
            added = sum(each.outcome is RowOutcome.CREATED for each in written)
            part = await runs.advance_part(conn, part=part, counts={"added": added})
            outcomes = zip(new, written, strict=True)
            refused |= {one.name.domain for one, each in outcomes if each.outcome is RowOutcome.ERROR}
    return part, taken, refused


async def _close(conn: Conn, part: Part, listing: Listing, rows: Mapping[str, _Row], *, is_complete: bool) -> Part:
    is_manual = listing.connection.is_manual and bool(rows)
    if is_complete or is_manual:
        # A person says that the list is whole: a large drop is not held back.
        part = await close_listing(conn, listing=listing, part=part, is_complete=is_complete, accepts_drop=True)
    if is_manual:
        await record_outcome(
            conn, account_id=part.account_id, connection_id=part.subject_id, failure=None, synced_at=clock.now()
        )
    return part


def _new_domain(row: _Row, listing: Listing) -> NewDomain:
    held = row.held
    return NewDomain(
        name=row.name,
        registrar=get_profile(listing.connection.provider).label,
        connection_id=listing.connection.id,
        registered_on=None if held.created_at is None else held.created_at.date(),
        expires_at=held.expires_at,
        expiry_source=None if held.expires_at is None else ExpirySource.REGISTRAR,
        nameservers=list(held.nameservers or ()),
        **{name: getattr(held, name) for name in ("auto_renew", "locked", "privacy", "renewal_price")},
    )


def _results(
    read: ReadInventory,
    taken: Sequence[ListedBatch],
    *,
    ids: Mapping[str, UUID],
    refused: Collection[str],
) -> Sequence[RowResult]:
    before = {name: each for batch in taken for name, each in batch.before.items()}
    held = {name: each for batch in taken for name, each in batch.held.items()}
    has_lines = read.new.table.source.has_lines
    first: dict[str, int] = {}
    results = list[RowResult]()
    for row in read.rows:
        name = row.written.get("domain", "") if row.domain is None else row.domain.domain
        result = row.result(texts.printable(name[:MAX_WRITTEN]), has_lines=has_lines)
        if not row.errors:
            is_first, full = name not in first, [FULL_PROBLEM] if name in refused else []
            outcome = _outcome(held[name], before.get(name)) if is_first else result.outcome
            warnings = [*row.warnings, *([] if is_first else [_repeated(first[name], has_lines=has_lines)]), *full]
            result = replace(result, id=ids.get(name), outcome=outcome, warnings=warnings)
            first.setdefault(name, row.position)
        results.append(result)
    return results


def _repeated(position: int, *, has_lines: bool) -> RowProblem:
    message = f"{'Line' if has_lines else 'Row'} {position} has the same domain. The later row takes precedence."
    return RowProblem(code="duplicate_row", message=message)


def _outcome(held: RegistrarDomain, before: Holding | None) -> RowOutcome:
    if before is None:
        return RowOutcome.CREATED
    said = listings.row_of(held)
    known = listings.row_of(before)
    is_same = before.missing_since is None and all(
        value in (None, HeldStatus.UNKNOWN.value) or value == known[name] for name, value in said.items()
    )
    return RowOutcome.UNCHANGED if is_same else RowOutcome.UPDATED
