"""The catalog of events on the wire."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from builders.kit.http.bodies import Reply, by_example

_EXAMPLE: JsonDict = {
    "id": "0193a1b2-0000-7000-8000-00000000000e",
    "type": "webhook.deleted",
    "timestamp": "2026-01-05T09:30:00Z",
    "account_id": "0193a1b2-0000-7000-8000-00000000000a",
    "livemode": True,
    "data": {"id": "0193a1b2-0000-7000-8000-000000000005", "label": "main"},
}
_SCHEMA: JsonDict = {"type": "object", "properties": {"id": {"type": "string", "format": "uuid"}}}


class EventVersionReply(Reply):
    """A version of an event that is told no more."""

    model_config = ConfigDict(
        json_schema_extra=by_example({"version": 1, "data_schema": _SCHEMA, "example": _EXAMPLE})
    )

    version: Annotated[int, Field(description="Version of the event's data; grows with an incompatible change.")]
    data_schema: Annotated[dict[str, Any], Field(description="JSON Schema of the payload's `data`.")]
    example: Annotated[dict[str, Any], Field(description="A whole payload of this version.")]


class EventReply(EventVersionReply):
    """An event that a destination may want."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {
                "name": "webhook.deleted",
                "area": "webhook",
                "version": 1,
                "description": "A webhook destination was deleted.",
                "data_schema": _SCHEMA,
                "example": _EXAMPLE,
                "earlier": [],
            }
        )
    )

    name: Annotated[str, Field(description="What a destination lists to get it.")]
    area: Annotated[str, Field(description="A destination that lists `area.*` gets it too.")]
    description: Annotated[str, Field(description="When the event happens.")]
    data_schema: Annotated[dict[str, Any], Field(description="The JSON schema of the payload's `data`.")]
    example: Annotated[dict[str, Any], Field(description="A whole payload.")]
    earlier: Annotated[list[EventVersionReply], Field(description="Versions that are no longer sent.")]
