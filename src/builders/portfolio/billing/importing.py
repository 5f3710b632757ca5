"""Import charges of a file."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.http import slices
from builders.kit.http.bulk import RowOutcome, RowResult
from builders.kit.sheets.reading import DetectedTable, Reading, SentTable, TableOptions, opening
from builders.kit.values import ids
from builders.portfolio.billing import summaries
from builders.portfolio.billing.applying import Booking
from builders.portfolio.billing.columns import CHARGES, ChargeRow
from builders.portfolio.billing.events import BILLING_IMPORTED
from builders.portfolio.billing.lines import list_names_of, number_repeats
from builders.portfolio.billing.recording import BATCH, Origin, RecordedLine, record_lines
from builders.portfolio.billing.records import MIN_CONFIDENCE, AppliedCharge, ChargeSource
from builders.portfolio.billing.rows import read_line
from builders.portfolio.ledger import currencies
from builders.portfolio.registrars import connections, providers
from builders.portfolio.registrars.records import MANUAL, BilledLine, Profile

MAX_ROWS = 10_000  # of an import
MAX_CHARGES = 10_000  # of an import: a row has one for each domain that it names
DEFAULT_PROVIDER = f"{MANUAL}import"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewImport:
    """Charges to import."""

    table: SentTable[TableOptions]
    provider: str | None  # None: that of the format
    applies: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCharges:
    """Charges that are read from a table: the line of a bill and the result of each row."""

    detected: DetectedTable
    lines: Sequence[BilledLine | None]  # None for a row that is refused or a sum
    results: Sequence[RowResult]
    provider: str
    applies: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedCharges:
    """Result of an import."""

    id: UUID
    provider: str
    detected: DetectedTable
    results: Sequence[RowResult]
    unmatched: Sequence[tuple[RowResult, AppliedCharge]]  # new charges that need a decision
    matched: int
    applied: int


async def read_charges(database: Database, *, account_id: UUID, new: NewImport) -> ReadCharges:
    """Read charges in slices, without a connection. Raise Invalid for a table without the needed columns."""
    async with database.connection() as conn:
        base_currency = await currencies.get_base_currency(conn, account_id=account_id)
    reading = await slices.run(opening(CHARGES, new.table, max_rows=MAX_ROWS, currency=base_currency))
    lines, results = await slices.run(_read(reading, has_lines=new.table.source.has_lines))
    return ReadCharges(
        detected=reading.detected,
        lines=lines,
        results=results,
        provider=new.provider or reading.reader.form.defaults.get("provider", DEFAULT_PROVIDER),
        applies=new.applies,
    )


async def import_charges(conn: Conn, *, account_id: UUID, new: ReadCharges, member_id: UUID) -> ImportedCharges:
    """Import charges, and match and apply them at once; needs a transaction.

    A row that was imported before, or that the registrar's API delivered, changes nothing. Publish
    portfolio.billing.imported. Raise ProviderNotFound.
    """
    provider = providers.get_profile(new.provider)
    origin = Origin(
        provider=provider.provider,
        account="",
        connection_id=await _find_connection(conn, account_id=account_id, provider=provider),
        source=ChargeSource.IMPORT,
        run_id=ids.new(),
    )
    lines = list(number_repeats([each for each in new.lines if each is not None]))
    booking = Booking(min_confidence=MIN_CONFIDENCE, applies=new.applies, member_id=member_id)
    recorded = await _record(conn, account_id=account_id, lines=lines, origin=origin, booking=booking)
    await _publish(conn, account_id=account_id, origin=origin, recorded=recorded)
    return _imported(new, origin, recorded)


def _read(
    reading: Reading[ChargeRow], *, has_lines: bool
) -> Generator[None, None, tuple[Sequence[BilledLine | None], Sequence[RowResult]]]:
    lines, results, charges = list[BilledLine | None](), list[RowResult](), 0
    for row in reading.rows():
        line = read_line(row)
        charges += 0 if line is None else len(list_names_of(line)[0])
        if charges > MAX_CHARGES:
            message = f"The rows name more than {MAX_CHARGES:,} domains. Import them in parts."
            raise Invalid(("body",), message, "too_many_charges")
        lines.append(line)
        results.append(row.result(row.domain, has_lines=has_lines))
        yield
    return lines, results


async def _find_connection(conn: Conn, *, account_id: UUID, provider: Profile) -> UUID | None:
    """Return the only connection to a registrar; one without an API is connected by its first file."""
    if provider.provider == DEFAULT_PROVIDER:
        return None
    if not provider.credential_fields:
        made = await connections.ensure_manual_connection(conn, account_id=account_id, provider=provider.provider)
        return made.id
    found = await connections.list_connections(conn, account_id=account_id, providers=[provider.provider])
    return found[0].id if len(found) == 1 else None


async def _record(
    conn: Conn, *, account_id: UUID, lines: Sequence[BilledLine], origin: Origin, booking: Booking
) -> Sequence[RecordedLine]:
    recorded: list[RecordedLine] = []
    for batch in _batches(lines):
        recorded += await record_lines(conn, account_id=account_id, lines=batch, origin=origin, booking=booking)
    return recorded


def _batches(lines: Sequence[BilledLine]) -> Iterator[Sequence[BilledLine]]:
    """Yield lines in batches of about BATCH charges: a large one would delay other requests of the loop."""
    batch, charges = list[BilledLine](), 0
    for line in lines:
        batch.append(line)
        charges += len(list_names_of(line)[0])
        if charges >= BATCH:
            yield batch
            batch, charges = [], 0
    if batch:
        yield batch


async def _publish(conn: Conn, *, account_id: UUID, origin: Origin, recorded: Sequence[RecordedLine]) -> None:
    if any(each.new for each in recorded):
        await summaries.publish_run(
            conn,
            account_id=account_id,
            event=BILLING_IMPORTED,
            origin=origin,
            fetched=len(recorded),
            charges=sum(len(each.new) + each.duplicates for each in recorded),
        )


def _imported(read: ReadCharges, origin: Origin, recorded: Sequence[RecordedLine]) -> ImportedCharges:
    done, results = iter(recorded), list[RowResult]()
    new = list[tuple[RowResult, AppliedCharge]]()
    for line, result in zip(read.lines, read.results, strict=True):
        found = None if line is None else next(done)
        if line is None or found is None:
            results.append(result)
            continue
        new += [(result, each) for each in found.new]
        results.append(_result(result, line, found))
    return ImportedCharges(
        id=origin.run_id,
        provider=origin.provider,
        detected=read.detected,
        results=results,
        unmatched=[(place, each) for place, each in new if not each.is_matched],
        matched=sum(each.is_matched for _, each in new),
        applied=sum(each.outcome in {"applied", "linked"} for _, each in new),
    )


def _result(place: RowResult, line: BilledLine, recorded: RecordedLine) -> RowResult:
    first = next(iter(recorded.new), None)
    return replace(
        place,
        outcome=RowOutcome.UNCHANGED if first is None else RowOutcome.CREATED,
        domain=next(iter(line.domains), None) if first is None else first.charge.domain,
        id=None if first is None else first.charge.id,
    )
