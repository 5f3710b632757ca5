"""Events of imports."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from builders.kit.events.outbox import declare
from builders.portfolio.imports.records import ImportState


class ImportData(BaseModel):
    """An import that has ended. It publishes no event for each of its domains."""

    id: Annotated[
        UUID, Field(description="Identifier of the import: GET /v1/portfolio/imports/{id} lists its rows.")
    ]
    state: Annotated[ImportState, Field(description="`completed`, `failed` (no row could be read) or `undone`.")]
    format: Annotated[
        str | None, Field(description="The recognized format; null when the file could not be read.")
    ]
    created: Annotated[int, Field(description="Rows that added a domain.")]
    updated: Annotated[int, Field(description="Rows that changed a domain or recorded an amount.")]
    unchanged: Annotated[int, Field(description="Rows without a change.")]
    skipped: Annotated[int, Field(description="Rows that were skipped on request.")]
    errors: Annotated[int, Field(description="Rows that were refused.")]


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
