"""The parking report as CSV, written while it is read."""

import csv
from collections.abc import AsyncGenerator, Mapping, Sequence
from decimal import Context, Decimal
from io import StringIO
from uuid import UUID

from builders.kit.db.connections import Database
from builders.kit.http import slices
from builders.kit.sheets.cells import safe_cell
from builders.kit.values import ids
from builders.kit.values.money import Money
from builders.portfolio.domains import lookups
from builders.portfolio.domains.records import Domain
from builders.portfolio.parking import store
from builders.portfolio.parking.records import ExportLine, GroupBy, Selection, Sums

HEADER = ("domain", "provider", "from", "to", "visits", "clicks", "revenue", "currency", "rpm", "ctr", "epc")
BATCH = 500  # domains
_RATIO = Decimal("0.0001")
_wide = Context(prec=60)  # digits of a ratio with all decimals, which the default context refuses


async def stream_csv(
    database: Database, *, selection: Selection, shows_finance: bool, batch_size: int = BATCH
) -> AsyncGenerator[str]:
    """Yield the lines of a report, in the currencies that were recorded; without finance no money.

    No connection is held while the client receives.
    """
    yield _csv_line(HEADER)
    if selection.group_by is not GroupBy.DOMAIN:
        async with database.connection() as conn:
            lines = await store.export_groups(conn, selection=selection)
        yield await _write(lines, {}, selection, shows_finance=shows_finance)
        return
    after, has_more = ids.NIL, True
    while has_more:
        async with database.connection() as conn:
            batch = await store.list_domains(conn, selection=selection, after=after, limit=batch_size)
            lines = await store.export_domains(conn, selection=selection, domain_ids=batch)
            found = await lookups.find_domains_by_id(conn, account_id=selection.account_id, ids=batch)
        yield await _write(lines, found, selection, shows_finance=shows_finance)
        has_more = len(batch) == batch_size
        after = batch[-1] if batch else after


async def _write(
    lines: Sequence[ExportLine], found: Mapping[UUID, Domain], selection: Selection, *, shows_finance: bool
) -> str:
    cells = (_cells(each, found, selection, shows_finance=shows_finance) for each in lines)
    return "".join(await slices.collect(map(_csv_line, cells)))


def _csv_line(cells: Sequence[str]) -> str:
    text = StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()


def _cells(
    line: ExportLine, found: Mapping[UUID, Domain], selection: Selection, *, shows_finance: bool
) -> Sequence[str]:
    domain = None if line.domain_id is None else found.get(line.domain_id)
    sums = Sums(
        visits=line.visits,
        clicks=line.clicks,
        revenue=line.amount if shows_finance else None,
        unconverted=0,
    )
    cells = (
        domain.domain if domain else None,
        line.provider,
        line.day or selection.period.since,
        line.day or selection.period.until,
        sums.visits,
        sums.clicks,
        f"{Money(line.amount, line.currency).quantized().amount:f}" if shows_finance else None,
        line.currency,
        *(
            None if each is None else f"{each.quantize(_RATIO, context=_wide):f}"
            for each in (sums.rpm, sums.ctr, sums.epc)
        ),
    )
    return ["" if each is None else safe_cell(str(each)) for each in cells]
