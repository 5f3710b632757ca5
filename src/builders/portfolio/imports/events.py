"""Events of imports."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel

from builders.kit.events.outbox import declare
from builders.kit.values.docs import doc
from builders.portfolio.imports.records import ImportState


class ImportData(BaseModel):
    """An import that has ended. It publishes no event for each of its domains."""

    id: Annotated[UUID, doc("Identifier of the import: GET /v1/portfolio/imports/{id} lists its rows.")]
    state: Annotated[ImportState, doc("`completed`, `failed` (no row could be read) or `undone`.")]
    format: Annotated[str | None, doc("The recognized format; null when the file could not be read.")]
    created: Annotated[int, doc("Rows that added a domain.")]
    updated: Annotated[int, doc("Rows that changed a domain or recorded an amount.")]
    unchanged: Annotated[int, doc("Rows without a change.")]
    skipped: Annotated[int, doc("Rows that were skipped on request.")]
    errors: Annotated[int, doc("Rows that were refused.")]


IMPORT_COMPLETED = declare(
    name="portfolio.import.completed",
    description="An import has ended. It publishes no events for single domains.",
    data=ImportData,
)
IMPORT_UNDONE = declare(
    name="portfolio.import.undone",
    description="An import was undone: added domains are removed, changed fields restored.",
    data=ImportData,
)
