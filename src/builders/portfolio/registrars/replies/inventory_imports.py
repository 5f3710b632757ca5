"""Replies about imports of the inventory."""

from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from builders.kit.http.bodies import Reply, by_example
from builders.kit.http.bulk import BulkReply, RowResult, summarize
from builders.kit.sheets.dates import DateFormat
from builders.portfolio.domain_files import records
from builders.portfolio.registrars.inventory_records import ImportMode, InventoryImport

_DETECTED: JsonDict = {
    "format": "generic",
    "encoding": "utf-8",
    "delimiter": ",",
    "header_line": 1,
    "mapping": {"domain": "domain", "expires_at": "expires", "auto_renew": "auto renew"},
    "unmapped_columns": [],
    "dropped_columns": [],
    "date_order": None,
    "dates_ambiguous": False,
}


class InventoryUnmappedColumn(Reply):
    """A column that was not recognized; name it with `mapping`."""

    column: Annotated[str, Field(description="Header of the column.")]
    did_you_mean: Annotated[
        records.Field | None, Field(description="The field with the closest name; null when none is close.")
    ]


class InventoryImportDetected(Reply):
    """Detected format of the source."""

    model_config = ConfigDict(json_schema_extra=by_example(_DETECTED))

    format: Annotated[str, Field(description="The recognized format; `generic` or `list` for others.")]
    encoding: Annotated[str | None, Field(description="Encoding of the file; null for JSON.")]
    delimiter: Annotated[str | None, Field(description="Delimiter of the file; null for a single column.")]
    header_line: Annotated[int | None, Field(description="Line of the header; null without one.")]
    mapping: Annotated[dict[records.Field, str], Field(description="The column of each field.")]
    unmapped_columns: Annotated[list[InventoryUnmappedColumn], Field(description="Columns that were omitted.")]
    dropped_columns: Annotated[list[str], Field(description="Columns with secrets or personal data.")]
    date_order: Annotated[
        DateFormat | None, Field(description="Order in which numeric dates were read; null when no date needs it.")
    ]
    dates_ambiguous: Annotated[bool, Field(description="Some dates are ambiguous: send `date_order`.")]


class InventoryImportReply(BulkReply):
    """Result of an import in the inventory and in the portfolio, by row."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {
                "import_id": "0193a1b2-0000-7000-8000-000000000046",
                "provider": "manual:corner-registrar",
                "connection_id": "0193a1b2-0000-7000-8000-000000000041",
                "mode": "merge",
                "dry_run": False,
                "detected": _DETECTED,
                "complete": False,
                "missing": 0,
                "updated_domains": 1,
                "added_domains": 0,
                "results": [
                    {
                        "outcome": "created",
                        "index": None,
                        "line": 2,
                        "domain": "harbour.com",
                        "id": "0193a1b2-0000-7000-8000-000000000030",
                        "errors": [],
                        "warnings": [],
                    }
                ],
                "summary": {"total": 1, "created": 1, "updated": 0, "unchanged": 0, "skipped": 0, "errors": 0},
                "warnings": [],
            }
        )
    )

    import_id: Annotated[UUID, Field(description="Identifier of the import.")]
    provider: Annotated[str, Field(description="The registrar.")]
    connection_id: Annotated[UUID, Field(description="The connection of the list.")]
    mode: Annotated[ImportMode, Field(description="Effect on domains that the list did not contain.")]
    dry_run: Annotated[bool, Field(description="Whether it only reports its effect.")]
    detected: Annotated[InventoryImportDetected, Field(description="How the list was read.")]
    complete: Annotated[bool, Field(description="Whether the list counts as complete.")]
    missing: Annotated[int, Field(description="Domains of the inventory that are missing from a complete list.")]
    updated_domains: Annotated[int, Field(description="Domains of the portfolio that changed.")]
    added_domains: Annotated[int, Field(description="Domains that were added to the portfolio.")]
    results: Annotated[
        list[RowResult],
        Field(description="Results in the order of the source; `id` is that of the portfolio domain."),
    ]


def import_reply(made: InventoryImport) -> InventoryImportReply:
    """Return an import with the results of its rows."""
    return InventoryImportReply(
        import_id=made.id,
        provider=made.provider,
        connection_id=made.connection_id,
        mode=made.mode,
        dry_run=made.dry_run,
        detected=InventoryImportDetected.model_validate(made.detected),
        complete=made.is_complete,
        missing=made.missing,
        updated_domains=made.updated_domains,
        added_domains=made.added_domains,
        results=list(made.results),
        summary=summarize(made.results),
    )
