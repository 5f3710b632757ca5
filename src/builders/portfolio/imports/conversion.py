"""Records of imports as rows of the database have them."""

from collections.abc import Mapping
from typing import Any

from psycopg.rows import DictRow
from pydantic import TypeAdapter

from builders.kit.http.bulk import RowProblem
from builders.kit.sheets.reading import DetectedTable
from builders.kit.sheets.sources import Source
from builders.portfolio.domain_files.records import Options
from builders.portfolio.imports.records import Counts, Import, ImportState, UndoCounts

_OPTIONS = TypeAdapter(Options)
_DETECTED = TypeAdapter(DetectedTable)


def options_to_json(options: Options) -> Mapping[str, Any]:
    """Return options as JSON."""
    return dict(_OPTIONS.dump_python(options, mode="json"))


def detected_to_json(detected: DetectedTable) -> Mapping[str, Any]:
    """Return the detected properties of a source as JSON."""
    return dict(_DETECTED.dump_python(detected, mode="json"))


def import_of(row: DictRow) -> Import:
    """Return the import of a row."""
    failure, detected = row["failure"], row["detected"]
    return Import(
        id=row["id"],
        state=ImportState(row["state"]),
        source=Source(row["source"]),
        options=_OPTIONS.validate_python(row["options"]),
        detected=None if detected is None else _DETECTED.validate_python(detected),
        failure=None if failure is None else RowProblem(**failure),
        rows_total=row["rows_total"],
        rows_done=row["rows_done"],
        counts=Counts(
            created=row["created"],
            updated=row["updated"],
            unchanged=row["unchanged"],
            skipped=row["skipped"],
            errors=row["errors"],
            duplicates=row["duplicates"],
        ),
        undo=UndoCounts(
            rows=row["rows_undone"], removed=row["removed"], restored=row["restored"], kept=row["kept"]
        ),
        created_by=row["created_by"],
        created_at=row["created_at"],
        finished_at=row["finished_at"],
        undo_until=row["undo_until"],
    )
