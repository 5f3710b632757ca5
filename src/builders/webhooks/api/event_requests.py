"""The `webhooks` section of the OpenAPI document: the request that a receiver gets for each event."""

from typing import Any

from pydantic.json_schema import models_json_schema

from builders.kit.events.outbox import Event
from builders.kit.http.openapi import Webhooks
from builders.webhooks import matching, service as webhooks
from builders.webhooks.records import CatalogEvent

Json = dict[str, Any]  # a part of the document

_SIGNATURE = (
    "`v1,` and the base64 of an HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}` (Standard Webhooks); "
    "several, separated by spaces, while a secret is being rotated. Verify it before you read the body."
)
_HEADERS = (
    ("webhook-id", "string", "Identifier of the event, the same for each attempt; ignore one seen before."),
    ("webhook-timestamp", "string", "Unix time of this attempt, in seconds. Refuse one that is minutes old."),
    ("webhook-signature", "string", _SIGNATURE),
    ("webhook-attempt", "integer", "Number of the attempt, from 1."),
    ("webhook-test", "string", "`true` for a test send; absent otherwise."),
)
_ENVELOPE: Json = {
    "id": {"type": "string", "format": "uuid", "description": "Identifier of the event; equals `webhook-id`."},
    "type": {"type": "string", "description": "Name of the event."},
    "timestamp": {"type": "string", "format": "date-time", "description": "When it happened (UTC)."},
    "account_id": {
        "type": "string",
        "format": "uuid",
        "description": "The account that it happened to; the real one also for events of its sandbox.",
    },
    "livemode": {"type": "boolean", "description": "False for an event of the sandbox."},
    "test": {"type": "boolean", "description": "True for a test send: nothing happened. Absent otherwise."},
    "simulated": {
        "type": "boolean",
        "description": "True for an event of `POST /v1/sandbox/simulate` that is not stored. Absent otherwise.",
    },
}
_REQUIRED = ["id", "type", "timestamp", "account_id", "livemode", "data"]
_RESPONSES: Json = {
    "2XX": {"description": "Received. Answer within seconds, and process the event afterwards."},
    "410": {"description": "The receiver is gone: the destination is disabled."},
    "4XX": {"description": "Not received; the delivery is retried for days."},
    "5XX": {"description": "Not received; the delivery is retried for days."},
}


def describe() -> Webhooks:
    """Return the section with every public event, and the schemas of the events and their data."""
    events, examples = matching.list_public(), webhooks.list_catalog()
    models = sorted({type(each.example) for each in events}, key=lambda model: model.__name__)
    _, definitions = models_json_schema(
        [(model, "serialization") for model in models], ref_template="#/components/schemas/{model}"
    )
    schemas: Json = dict(definitions["$defs"])
    for event, example in zip(events, examples, strict=True):
        schemas[_title(event)] = _schema(event, example)
    return Webhooks(paths={event.name: {"post": _operation(event)} for event in events}, schemas=schemas)


def _title(event: Event) -> str:
    return "".join(word.capitalize() for word in event.name.replace(".", "_").split("_")) + "Event"


def _schema(event: Event, example: CatalogEvent) -> Json:
    data = {
        "$ref": f"#/components/schemas/{type(event.example).__name__}",
        "description": f"What the event is about (version {event.version} of its data).",
    }
    kind = {**_ENVELOPE["type"], "const": event.name}
    return {
        "title": _title(event),
        "description": event.description,
        "type": "object",
        "required": _REQUIRED,
        "properties": {**_ENVELOPE, "type": kind, "data": data},
        "examples": [example.example],
    }


def _operation(event: Event) -> Json:
    reference = {"$ref": f"#/components/schemas/{_title(event)}"}
    return {
        "tags": ["webhooks"],
        "operationId": f"event_{event.name.replace('.', '_')}",
        "summary": event.description.partition(". ")[0].removesuffix("."),
        "description": f"{event.description}\n\nSent to destinations whose `events` list `{event.name}`, "
        f"`{matching.area(event.name)}.*` or `*`.",
        "security": [],
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": name != "webhook-test",
                "description": said,
                "schema": {"type": kind},
            }
            for name, kind, said in _HEADERS
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": reference}}},
        "responses": _RESPONSES,
    }
