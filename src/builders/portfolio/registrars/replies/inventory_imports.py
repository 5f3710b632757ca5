"""Replies about imports of the inventory."""

from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field

from builders.kit.http.bodies import by_example
from builders.kit.http.bulk import BulkReply, RowResult, summarize
from builders.kit.sheets.bodies import DETECTED
from builders.kit.sheets.reading import DetectedTable
from builders.portfolio.registrars.inventory_records import ImportMode, InventoryImport


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
                "detected": DETECTED,
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
    detected: Annotated[DetectedTable, Field(description="How the list was read.")]
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
        detected=made.detected,
        complete=made.is_complete,
        missing=made.missing,
        updated_domains=made.updated_domains,
        added_domains=made.added_domains,
        results=list(made.results),
        summary=summarize(made.results),
    )
