"""Field types that many bodies and replies share, each with its description in the OpenAPI document."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

# An identifier that is read as text: a malformed one is refused in the same way as an unknown one.
IdText = Annotated[str, Field(json_schema_extra={"format": "uuid"})]

CreatedAt = Annotated[datetime, Field(description="When it was created.")]
UpdatedAt = Annotated[datetime, Field(description="When it last changed.")]
Livemode = Annotated[bool, Field(description="False for data of the sandbox, which a test key works on.")]
ManifestName = Annotated[str, Field(description="`metadata.name` of the manifest that manages it.")]
ManifestKey = Annotated[str, Field(description="`key` of the resource in that manifest.")]
EventManifest = Annotated[
    str | None, Field(description="`metadata.name` of the manifest that manages it; null when none does.")
]
EventManifestKey = Annotated[str | None, Field(description="`key` of the resource in that manifest, or null.")]
AliasProjectId = Annotated[UUID | None, Field(description="Project that the alias belongs to; null without one.")]
LineAliasId = Annotated[UUID | None, Field(description="The alias that is charged; null for other lines.")]
InvoicePromotionId = Annotated[
    UUID | None, Field(description="Promotion that claimed the names; null for a renewal.")
]
Version = Annotated[int, Field(description="Increases by one with each change; part of the `ETag`.")]
Labels = Annotated[dict[str, str], Field(description="Your own labels, as the manifest gives them.")]
SeparatorRule = (
    "Separators that do not distinguish two names: `ignore_dots` (`ab` is `a.b`), `ignore_all` (`-` and `_` too), "
    "or `distinct` (none)."
)
Interval = "Period that the amount pays for: a `month`, a `year`, or `once`."
