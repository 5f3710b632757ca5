"""Parts of a source by rows, so that a later time slice of a job reads its rows without those before them."""

import json
from collections.abc import Iterator, Sequence

from builders.kit.sheets.dates import DateFormat
from builders.kit.sheets.reading import Reading, RowReader
from builders.portfolio.domain_files.columns import DOMAINS, DomainRow
from builders.portfolio.domain_files.drafts import read_drafts
from builders.portfolio.domain_files.records import Draft, Options

PART_ROWS = 1_000
PART_CHARACTERS = 512 * 1024  # of the cells; entries of domains are long


def cut(reading: Reading[DomainRow]) -> Iterator[tuple[int, bytes]]:
    """Yield parts of the rows, each with the number of its first row."""
    first, part, size = 0, list[tuple[int, Sequence[str] | None]](), 0
    for number, (position, cells) in enumerate(reading.table.read()):
        if part and (len(part) == PART_ROWS or size > PART_CHARACTERS):
            yield first, _encode(reading, part)
            first, part, size = number, [], 0
        part.append((position, cells))
        size += sum(map(len, cells or ()))
    if part:
        yield first, _encode(reading, part)


def _encode(reading: Reading[DomainRow], rows: Sequence[tuple[int, Sequence[str] | None]]) -> bytes:
    part = {
        "header": reading.table.header,
        "date_format": reading.reader.date_format,
        "is_escaped": reading.reader.is_escaped,
        "rows": rows,
    }
    return json.dumps(part).encode()


def read_part(content: bytes, options: Options) -> Sequence[Draft]:
    """Return the drafts of a part."""
    part = json.loads(content)
    reader = RowReader(
        DOMAINS,
        part["header"],
        options,
        date_format=DateFormat(part["date_format"]),
        is_escaped=part["is_escaped"],
    )
    return list(read_drafts(reader, iter(part["rows"]), options))
