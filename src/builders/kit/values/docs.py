"""The texts of members in the OpenAPI document."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field


def doc(text: str) -> Any:  # a FieldInfo, which may stand where pydantic accepts any annotation
    """Return the annotation that describes a member."""
    return Field(description=text)


CreatedAt = Annotated[datetime, doc("When it was created.")]
UpdatedAt = Annotated[datetime, doc("When it last changed.")]
Version = Annotated[int, doc("Increases by one with each change; part of the `ETag`.")]
Livemode = Annotated[bool, doc("False for data of the sandbox, which a test key works on.")]
ManifestName = Annotated[str, doc("`metadata.name` of the manifest that manages it.")]
ManifestKey = Annotated[str, doc("`key` of the resource in that manifest.")]
LineAliasId = Annotated[UUID | None, doc("The alias that is charged; null for other lines.")]
SeparatorRule = (
    "Separators that do not distinguish two names: `ignore_dots` (`ab` is `a.b`), `ignore_all` (`-` and `_` too), "
    "or `distinct` (none)."
)
Interval = "Period that the amount pays for: a `month`, a `year`, or `once`."
EventManifest = Annotated[str | None, doc("`metadata.name` of the manifest that manages it; null when none does.")]
EventManifestKey = Annotated[str | None, doc("`key` of the resource in that manifest, or null.")]
