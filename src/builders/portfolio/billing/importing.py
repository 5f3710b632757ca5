"""Import charges of a file."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.http import slices
from builders.kit.http.bulk import RowOutcome, RowResult, currency_warnings
from builders.kit.values import ids
from builders.portfolio.billing import rows, sheets, summaries
from builders.portfolio.billing.applying import Booking
from builders.portfolio.billing.events import BILLING_IMPORTED
from builders.portfolio.billing.lines import list_names_of, number_repeats
from builders.portfolio.billing.recording import BATCH, Origin, RecordedLine, record_lines
from builders.portfolio.billing.records import MIN_CONFIDENCE, AppliedCharge, ChargeSource
from builders.portfolio.billing.rows import ReadLine
from builders.portfolio.billing.sheets import Opening, Sheet, SheetOptions
from builders.portfolio.ledger import currencies
from builders.portfolio.registrars import connections, providers
from builders.portfolio.registrars.records import MANUAL, BilledLine, Profile

MAX_CHARGES = 10_000  # of an import: a row has one for each domain that it names
DEFAULT_PROVIDER = f"{MANUAL}import"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewImport:
    """Charges to import: a CSV text, or rows."""

    content: str | Sequence[Mapping[str, Any]]
    options: SheetOptions
    provider: str | None  # None: that of the template
    applies: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCharges:
    """Charges that are read from a file or rows."""

    sheet: Sheet
    rows: Sequence[ReadLine | RowResult]
    provider: str | None
    applies: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedCharges:
    """Result of an import."""

    id: UUID
    provider: str
    sheet: Sheet
    results: Sequence[RowResult]
    unmatched: Sequence[tuple[RowResult, AppliedCharge]]  # new charges that need a decision
    matched: int
    applied: int


async def read_charges(database: Database, *, account_id: UUID, new: NewImport) -> ReadCharges:
    """Read charges in slices, without a connection. Raise Invalid for a file without the needed columns."""
    async with database.connection() as conn:
        base_currency = await currencies.get_base_currency(conn, account_id=account_id)
    sheet = await slices.run(_open(new, base_currency))
    found = await slices.run(_read(sheet))
    return ReadCharges(sheet=sheet, rows=found, provider=new.provider, applies=new.applies)


async def import_charges(conn: Conn, *, account_id: UUID, new: ReadCharges, member_id: UUID) -> ImportedCharges:
    """Import charges, and match and apply them at once; needs a transaction.

    A row that was imported before, or that the registrar's API delivered, changes nothing. Publish
    portfolio.billing.imported. Raise ProviderNotFound.
    """
    sheet, read = new.sheet, new.rows
    provider = providers.get_profile(new.provider or sheet.template.provider or DEFAULT_PROVIDER)
    origin = Origin(
        provider=provider.provider,
        account="",
        connection_id=await _find_connection(conn, account_id=account_id, provider=provider),
        source=ChargeSource.IMPORT,
        run_id=ids.new(),
    )
    found = [each for each in read if isinstance(each, ReadLine)]
    lines = list(number_repeats([each.billed for each in found]))
    booking = Booking(min_confidence=MIN_CONFIDENCE, applies=new.applies, member_id=member_id)
    recorded = await _record(conn, account_id=account_id, lines=lines, origin=origin, booking=booking)
    await _publish(conn, account_id=account_id, origin=origin, recorded=recorded)
    done = iter(recorded)
    results = [_result(each, next(done)) if isinstance(each, ReadLine) else each for each in read]
    return _imported(origin, sheet, results, found, recorded)


def _open(new: NewImport, base_currency: str) -> Opening:
    if isinstance(new.content, str):
        return sheets.open_file(new.content, new.options, base_currency=base_currency)
    return sheets.open_rows(new.content, new.options, base_currency=base_currency)


def _read(sheet: Sheet) -> Generator[None, None, Sequence[ReadLine | RowResult]]:
    read, charges = list[ReadLine | RowResult](), 0
    for each in rows.read_lines(sheet):
        read.append(each)
        charges += len(list_names_of(each.billed)[0]) if isinstance(each, ReadLine) else 0
        if charges > MAX_CHARGES:
            message = f"The rows name more than {MAX_CHARGES:,} domains. Import them in parts."
            raise Invalid(("body", "csv" if sheet.is_file else "rows"), message, "too_many_charges")
        yield
    return read


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


def _result(row: ReadLine, recorded: RecordedLine) -> RowResult:
    first = next(iter(recorded.new), None)
    named = next(iter(row.billed.domains), None) if first is None else first.charge.domain
    return RowResult(
        outcome=RowOutcome.UNCHANGED if first is None else RowOutcome.CREATED,
        index=row.index,
        line=row.line,
        domain=named,
        id=None if first is None else first.charge.id,
        warnings=currency_warnings([row.billed.currency]),
    )


def _imported(
    origin: Origin,
    sheet: Sheet,
    results: Sequence[RowResult],
    rows: Sequence[ReadLine],
    recorded: Sequence[RecordedLine],
) -> ImportedCharges:
    places = [RowResult(outcome=RowOutcome.CREATED, index=each.index, line=each.line) for each in rows]
    new = [(place, each) for place, found in zip(places, recorded, strict=True) for each in found.new]
    return ImportedCharges(
        id=origin.run_id,
        provider=origin.provider,
        sheet=sheet,
        results=results,
        unmatched=[(place, each) for place, each in new if not each.is_matched],
        matched=sum(each.is_matched for _, each in new),
        applied=sum(each.outcome in {"applied", "linked"} for _, each in new),
    )
