"""The catalog of events: what the rooms declare, as a receiver sees it."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from builders.kit.events.outbox import Event
from builders.webhooks import matching
from builders.webhooks.records import CatalogEvent, CatalogVersion

# Of an example, not of anybody.
_ID = UUID("0193a1b2-0000-7000-8000-00000000000e")
_ACCOUNT = UUID("0193a1b2-0000-7000-8000-00000000000a")
_AT = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)


def list_catalog() -> list[CatalogEvent]:
    """Every event that a destination may want, by name."""
    return [_described(event) for event in matching.list_public()]


def get_event(name: str) -> CatalogEvent:
    """An event by its name. Raises Invalid at the member `event` of the body."""
    return _described(matching.get(name, loc=("body", "event")))


def _described(event: Event) -> CatalogEvent:
    return CatalogEvent(
        name=event.name,
        area=matching.area(event.name),
        version=event.version,
        description=event.description,
        data_schema=event.schema(),
        example=_payload(event),
        earlier=[
            CatalogVersion(version=each.version, data_schema=each.schema(), example=_payload(each))
            for each in event.earlier
        ],
    )


def _payload(event: Event) -> dict[str, Any]:
    return {
        "id": str(_ID),
        "type": event.name,
        "timestamp": _AT.isoformat().replace("+00:00", "Z"),
        "account_id": str(_ACCOUNT),
        "livemode": True,
        "data": json.loads(event.example.model_dump_json()),
    }
