"""Charges of a file: its columns, the templates of such files, its rows as lines of bills, and their import."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.http import slices
from builders.kit.rows import RowOutcome, RowResult
from builders.kit.sheets import workbooks
from builders.kit.sheets.cells import text
from builders.kit.sheets.columns import Amount, Column, Currency, Day, Row
from builders.kit.sheets.detection import DetectedTable
from builders.kit.sheets.formats import Format
from builders.kit.sheets.kinds import GENERIC, TableKind, list_kinds
from builders.kit.sheets.sources import SentTable, TableOptions
from builders.kit.sheets.tables import Reading, RowReader, opening
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from builders.portfolio.billing.bill_text import find_name, join_name, list_hosts, read_years
from builders.portfolio.billing.bills import BATCH, count_recorded, publish_run, record_lines
from builders.portfolio.billing.events import BILLING_IMPORTED
from builders.portfolio.billing.lines import AMOUNT_LIMIT, list_names_of, number_repeats
from builders.portfolio.billing.records import MAX_TEXT, MAX_YEARS, AppliedCharge, Booking, ChargeSource, Origin
from builders.portfolio.ledger import currencies
from builders.portfolio.registrars import connections, providers, rows
from builders.portfolio.registrars.records import MANUAL, BilledLine, ChargeKind, Profile

MAX_ROWS = 10_000  # of an import
MAX_CHARGES = 10_000  # of an import: a row has one for each domain that it names
DEFAULT_PROVIDER = f"{MANUAL}import"
_AHEAD = timedelta(days=1)  # of UTC: where it is tomorrow


def _years(cell: str) -> int | None:
    """Return the years of a cell, as a number or with a word; None for anything else."""
    number = cell.removesuffix(".0")
    if number.isascii() and number.isdecimal():
        return int(number[:9]) if 1 <= int(number[:9]) <= MAX_YEARS else None
    return read_years(cell)


class ChargeRow(Row):
    """A row with a charge."""

    date = Day(
        *("order date", "transaction date", "paid date", "payment date", "invoice date", "charged on", "created"),
        required=True,
    )
    order = Column(
        *("order id", "order number", "invoice number", "invoice", "transaction id", "receipt", "reference"),
        read=text(MAX_TEXT),
    )
    line = Column("line id", "item id", read=text(MAX_TEXT))
    parent_order = Column(
        *("parent order id", "original order", "refunded order", "refund of"), read=text(MAX_TEXT)
    )
    domain = Column("domain name", "domains", "fqdn", "name", "sld", read=str, type="domain")
    tld = Column("extension", "suffix", read=str, is_name=True)  # of a name in two columns
    description = Column(*("details", "line item", "item", "product", "product name", "service", "memo"), read=str)
    kind = Column("type", "transaction type", "order type", "action", "operation", read=str, type="kind")
    years = Column("term", "duration", "period", "qty", "quantity", read=_years, type="number")
    amount = Amount(  # with tax and fees
        *("total", "total amount", "amount paid", "amount usd", "charge", "paid", "cost"),
        is_signed=True,
        strict=True,
    )
    net = Amount(  # without
        *("subtotal", "price", "net amount", "price excl tax", "unit price"),
        is_signed=True,
        strict=True,
    )
    tax = Amount("taxes", "vat", "sales tax", "gst", is_signed=True)
    fees = Amount("fee", "icann fee", is_signed=True)
    currency = Currency("currency code")


CHARGES = TableKind(
    name="charges",
    row=ChargeRow,
    path="/v1/portfolio/registrars/billing/import",
    package="builders.portfolio.billing",
    needs=[("amount", "net"), ("domain", "description")],
    has_totals=True,
)


def list_templates(provider: str | None) -> Sequence[tuple[TableKind[Any], Format]]:
    """Return the formats with a sample, of charges and of all other kinds of tables.

    Those of a provider, if it is given, and the generic one where it has none.
    """
    found = [(kind, each) for kind in list_kinds() for each in kind.formats.values() if each.sample]
    if provider is None:
        return found
    own = [(kind, each) for kind, each in found if each.defaults.get("provider") == provider.lower()]
    return own or [(CHARGES, CHARGES.formats[GENERIC])]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCharges:
    """Charges that are read from a table: the line of a bill and the result of each row."""

    detected: DetectedTable
    lines: Sequence[BilledLine | None]  # None for a row that is refused or a sum
    results: Sequence[RowResult]
    provider: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedCharges:
    """Result of an import."""

    id: UUID
    provider: str
    results: Sequence[RowResult]
    new: Sequence[tuple[RowResult, AppliedCharge]]


async def read_charges(
    database: Database, *, account_id: UUID, table: SentTable[TableOptions], provider: str | None
) -> ReadCharges:
    """Read charges in slices, without a connection. Raise Invalid for a table without the needed columns."""
    async with database.connection() as conn:
        base_currency = await currencies.get_base_currency(conn, account_id=account_id)
    table = await workbooks.open_sent(table)
    reading = await slices.run(opening(CHARGES, table, max_rows=MAX_ROWS, currency=base_currency))
    lines, results = await slices.run(_read(reading, has_lines=table.source.has_lines))
    of_format = reading.reader.form.defaults.get("provider", DEFAULT_PROVIDER)
    return ReadCharges(detected=reading.detected, lines=lines, results=results, provider=provider or of_format)


def _read(
    reading: Reading[ChargeRow], *, has_lines: bool
) -> Generator[None, None, tuple[Sequence[BilledLine | None], Sequence[RowResult]]]:
    lines, results, charges = list[BilledLine | None](), list[RowResult](), 0
    for row in reading.rows():
        _refuse_guess(row, reading.reader)
        line = _read_line(row)
        charges += 0 if line is None else len(list_names_of(line)[0])
        if charges > MAX_CHARGES:
            message = f"The rows name more than {MAX_CHARGES:,} domains. Import them in parts."
            raise Invalid(("body",), message, "too_many_charges")
        lines.append(line)
        results.append(row.result(row.domain, has_lines=has_lines))
        yield
    return lines, results


def _refuse_guess(row: ChargeRow, reader: RowReader[ChargeRow]) -> None:
    """Refuse a row whose domain is in a description, and depends on a guessed encoding."""
    description = row.description or ""
    if row.domain or description.isascii():
        return
    for host in list_hosts(description):
        if find_name(host) and reader.refuse_guess(row, ChargeRow.description, host):
            return


def _read_line(row: ChargeRow) -> BilledLine | None:
    """Return the line of a row; None for a sum, and for a row with errors, which it gets here too."""
    if row.is_total:
        return None
    if row.date is not None and row.date > clock.now().date() + _AHEAD:
        row.refuse("date_in_future", f"{row.date} is in the future.", ChargeRow.date)
    total = None if row.errors else _total(row)
    if total is None or row.date is None:
        return None
    kind = rows.classify(row.kind or "")
    kind = rows.classify(row.description or "") if kind is ChargeKind.OTHER else kind
    if kind is ChargeKind.REFUND and total.amount > 0:
        total = -total
    name = join_name(row.domain, row.tld or "") if row.domain else ""
    return BilledLine(
        order_id=row.order or "",
        line_id=row.line or "",
        parent_order_id=row.parent_order,
        charged_on=row.date,
        description=row.description or " ".join(each for each in (row.kind, name) if each),
        domains=(name,) if name else (),
        kind=ChargeKind.REFUND if total.amount < 0 else kind,
        total=total.amount,
        tax=Decimal(0) if row.tax is None else row.tax.amount,
        fees=Decimal(0) if row.fees is None else row.fees.amount,
        currency=total.currency,
        years=row.years,
    )


def _total(row: ChargeRow) -> Money | None:
    """Return the total with tax and fees; None if the row is refused."""
    whole = row.net if row.amount is None else row.amount
    added = [each for each in (row.tax, row.fees) if each is not None]
    if whole is None:
        row.refuse("amount_missing", "The row has no amount. Write 0 for none.", ChargeRow.amount)
    elif any(each.currency != whole.currency for each in added):
        row.refuse("currency_conflict", "The amounts of the row have several currencies.", ChargeRow.tax)
    else:
        total = whole if row.amount is not None else sum(added, whole)
        if abs(total.amount) < AMOUNT_LIMIT:
            return total
        column = ChargeRow.net if row.amount is None else ChargeRow.amount
        row.refuse("amount_invalid", f"The amount of the row is not below {AMOUNT_LIMIT:,}.", column)
    return None


async def import_charges(
    conn: Conn, *, account_id: UUID, read: ReadCharges, applies: bool, member_id: UUID
) -> ImportedCharges:
    """Import charges, and match and apply them at once; needs a transaction.

    A row that was imported before, or that the registrar's API delivered, changes nothing. Publish
    portfolio.billing.imported. Raise ProviderNotFound.
    """
    provider = providers.get_profile(read.provider)
    origin = Origin(
        provider=provider.provider,
        account="",
        connection_id=await _find_connection(conn, account_id=account_id, provider=provider),
        source=ChargeSource.IMPORT,
        run_id=ids.new(),
    )
    booking = Booking(applies=applies, member_id=member_id)
    recorded = [
        each
        for batch in _batches(number_repeats([each for each in read.lines if each is not None]))
        for each in await record_lines(conn, account_id=account_id, lines=batch, origin=origin, booking=booking)
    ]
    numbers = count_recorded(recorded)
    if numbers["new"]:
        charges = numbers["new"] + numbers["duplicate"]
        await publish_run(
            conn,
            account_id=account_id,
            event=BILLING_IMPORTED,
            origin=origin,
            fetched=len(recorded),
            charges=charges,
        )
    results, new, done = list[RowResult](), list[tuple[RowResult, AppliedCharge]](), iter(recorded)
    for line, result in zip(read.lines, read.results, strict=True):
        if line is None:
            results.append(result)
            continue
        found = next(done).new
        new += [(result, each) for each in found]
        results.append(_result(result, line, found))
    return ImportedCharges(id=origin.run_id, provider=origin.provider, results=results, new=new)


async def _find_connection(conn: Conn, *, account_id: UUID, provider: Profile) -> UUID | None:
    """Return the only connection to a registrar; one without an API is connected by its first file."""
    if provider.provider == DEFAULT_PROVIDER:
        return None
    if not provider.credential_fields:
        made = await connections.ensure_manual_connection(conn, account_id=account_id, provider=provider.provider)
        return made.id
    found = await connections.list_connections(conn, account_id=account_id, providers=[provider.provider])
    return found[0].id if len(found) == 1 else None


def _batches(lines: Iterable[BilledLine]) -> Iterator[Sequence[BilledLine]]:
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


def _result(place: RowResult, line: BilledLine, new: Sequence[AppliedCharge]) -> RowResult:
    if not new:
        return replace(place, outcome=RowOutcome.UNCHANGED, domain=next(iter(line.domains), None))
    charge = new[0].charge
    return replace(place, outcome=RowOutcome.CREATED, domain=charge.domain, id=charge.id)
