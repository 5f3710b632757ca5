"""Replies about imports of the inventory."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from builders.kit.http.bulk import BulkReply, RowResult, summarize
from builders.kit.sheets.reading import DetectedTable
from builders.portfolio.registrars.inventory_records import ImportMode, InventoryImport


class InventoryImportReply(BulkReply):
    """Result of an import in the inventory and in the portfolio, by row."""

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
