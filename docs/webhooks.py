# ruff: noqa: INP001 - a module of a program; not a package
"""The webhooks of the OpenAPI document: every public event as a receiver gets it."""

from typing import Any

from pydantic.json_schema import models_json_schema

from builders.kit.events.outbox import Event
from builders.webhooks import catalog

Json = dict[str, Any]  # a part of the document

_SIGNATURE_HEADER = (
    "`v1,` and the base64 of an HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}` (Standard Webhooks); "
    "several, separated by spaces, while a secret is being rotated. Verify it before you read the body."
)
_HEADERS: tuple[tuple[str, Json], ...] = tuple(
    (name, {"description": description, "schema": {"type": kind}})
    for name, kind, description in (
        (
            "webhook-id",
            "string",
            "Identifier of the event, the same for each attempt; ignore an event that you have processed.",
        ),
        ("webhook-timestamp", "string", "Unix time of this attempt, in seconds. Refuse one that is minutes old."),
        ("webhook-signature", "string", _SIGNATURE_HEADER),
        ("webhook-attempt", "integer", "Number of the attempt, from 1."),
        ("webhook-test", "string", "`true` for a test send; absent otherwise."),
    )
)
_ENVELOPE: Json = {
    "id": {"type": "string", "format": "uuid", "description": "Identifier of the event; equals `webhook-id`."},
    "type": {"type": "string", "description": "Name of the event."},
    "timestamp": {"type": "string", "format": "date-time", "description": "Time of the event (UTC)."},
    "account_id": {
        "type": "string",
        "format": "uuid",
        "description": "The account of the event; the real account also for events of its sandbox.",
    },
    "livemode": {"type": "boolean", "description": "False for an event of the sandbox."},
    "test": {"type": "boolean", "description": "True for a test send, without a real event. Absent otherwise."},
    "simulated": {
        "type": "boolean",
        "description": "True for a simulated event, which is not stored. Absent otherwise.",
    },
}
_REQUIRED = ["id", "type", "timestamp", "account_id", "livemode", "data"]
_RESPONSES: Json = {
    "2XX": {"description": "Received. Answer within seconds, and process the event afterwards."},
    "410": {"description": "The receiver is gone: the destination is disabled."},
    "4XX": {"description": "Not received; the delivery is retried for days."},
    "5XX": {"description": "Not received; the delivery is retried for days."},
}


def describe_webhooks() -> Json:
    """Return the paths of every public event, and the schemas of the events and their data."""
    events = catalog.list_public_events()
    models = sorted({each.data for each in events}, key=lambda model: model.__name__)
    _, definitions = models_json_schema(
        [(model, "serialization") for model in models], ref_template="#/components/schemas/{model}"
    )
    found: Json = dict(definitions["$defs"])
    for event, example in zip(events, catalog.list_catalog(), strict=True):
        data = {
            "$ref": f"#/components/schemas/{event.data.__name__}",
            "description": f"Data of the event (version {event.version}).",
        }
        found[_event_title(event)] = {
            "title": _event_title(event),
            "description": event.description,
            "type": "object",
            "required": _REQUIRED,
            "properties": {**_ENVELOPE, "type": {**_ENVELOPE["type"], "const": event.name}, "data": data},
            "examples": [example.example],
        }
    return {"paths": {event.name: {"post": _operation(event)} for event in events}, "schemas": found}


def _event_title(event: Event) -> str:
    return "".join(word.capitalize() for word in event.name.replace(".", "_").split("_")) + "Event"


def _operation(event: Event) -> Json:
    reference = {"$ref": f"#/components/schemas/{_event_title(event)}"}
    return {
        "tags": ["webhooks"],
        "operationId": f"event_{event.name.replace('.', '_')}",
        "summary": event.description.partition(". ")[0].removesuffix("."),
        "description": f"{event.description}\n\nSent to destinations whose `events` list `{event.name}`, "
        f"`{catalog.area_of(event.name)}.*` or `*`.",
        "security": [],
        "parameters": [
            {"name": name, "in": "header", "required": name != "webhook-test", **about} for name, about in _HEADERS
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": reference}}},
        "responses": _RESPONSES,
    }
