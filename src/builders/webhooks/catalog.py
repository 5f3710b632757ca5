"""The catalog of public events: subscriptions, payloads, and overrides of example data."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ValidationError

from builders.kit.errors import MAX_ERRORS, Invalid
from builders.kit.events import outbox
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.events.outbox import Event
from builders.kit.values.suggestions import find_similar
from builders.webhooks.records import CatalogEvent

Mark = Literal["test", "simulated"]  # of a payload without a published event
# Of the examples.
_ID = UUID("0193a1b2-0000-7000-8000-00000000000e")
_ACCOUNT = UUID("0193a1b2-0000-7000-8000-00000000000a")
_AT = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)


def list_catalog() -> list[CatalogEvent]:
    """Return every public event by name, with its schema and an example payload."""
    return [
        CatalogEvent(
            name=event.name,
            area=area_of(event.name),
            version=event.version,
            description=event.description,
            data_schema=dict(event.schema),
            example=json.loads(payload_of(example_of(event, _ACCOUNT, event_id=_ID, at=_AT), _ACCOUNT)),
        )
        for event in list_public_events()
    ]


def example_of(
    event: Event, account_id: UUID, *, event_id: UUID, at: datetime, data: str | None = None
) -> PublishedEvent:
    """Return the event as if it had been published, by default with the data of its example."""
    return PublishedEvent(
        id=event_id,
        name=event.name,
        version=event.version,
        account_id=account_id,
        created_at=at,
        data=event.example.model_dump_json() if data is None else data,
    )


def payload_of(event: PublishedEvent, live_account_id: UUID, *, mark: Mark | None = None) -> str:
    """Return the JSON of an event as destinations and the feed get it; `mark` tags one that was not published."""
    moment = event.created_at.isoformat().replace("+00:00", "Z")
    mode = "true" if live_account_id == event.account_id else "false"
    marked = f'"{mark}":true,' if mark else ""
    return (
        f'{{"id":"{event.id}","type":{json.dumps(event.name)},"timestamp":"{moment}",'
        f'"account_id":"{live_account_id}","livemode":{mode},{marked}"data":{event.data}}}'
    )


ALL_EVENTS = "*"
EVENT_UNKNOWN = "event_unknown"  # the type of the error


def list_public_events() -> list[Event]:
    """Return the declared events that are not internal, by name."""
    return [event for event in outbox.list_events() if not event.internal]


def area_of(name: str) -> str:
    """Return the part of an event name before the first dot."""
    return name.partition(".")[0]


def event_names() -> set[str]:
    """Return every event name that a destination can list."""
    return {event.name for event in list_public_events()}


def patterns_of(name: str) -> tuple[str, ...]:
    """Return the names and patterns that match the event."""
    return ALL_EVENTS, f"{area_of(name)}.*", name


def is_subscribed(wanted: Sequence[str], name: str) -> bool:
    """Return whether a list of names and patterns matches the event. The fan-out does the same in SQL."""
    return not set(patterns_of(name)).isdisjoint(wanted)


def event_errors(wanted: Sequence[str], *, loc: Sequence[str] = ("body", "events")) -> list[dict[str, Any]]:
    """Return an error of a 422 response for each unknown name of the list at `loc`."""
    known = event_names()
    allowed = known | {ALL_EVENTS} | {f"{area_of(name)}.*" for name in known}
    return [
        _unknown(name, allowed, loc=(*loc, at), message=_NO_EVENT, kind=EVENT_UNKNOWN)
        for at, name in enumerate(wanted)
        if name not in allowed
    ]


def expand_patterns(wanted: Sequence[str], *, loc: Sequence[str]) -> list[str] | None:
    """Return the event names that a list of names and patterns matches; None: all of them.

    An empty list matches all. Raise Invalid at `loc`.
    """
    errors = event_errors(wanted, loc=loc)
    if errors:
        raise Invalid.many(errors)
    if not wanted or ALL_EVENTS in wanted:
        return None
    return sorted(name for name in event_names() if is_subscribed(wanted, name))


def get_public_event(name: str, *, loc: Sequence[str]) -> Event:
    """Return the public event of this name. Raise Invalid at `loc`."""
    known = {event.name: event for event in list_public_events()}
    if name not in known:
        raise Invalid.many([_unknown(name, known, loc=loc, message=_NO_EVENT, kind=EVENT_UNKNOWN)])
    return known[name]


_NO_EVENT = "There is no such event.{meant} GET /v1/notifications/events lists them."


def _unknown(
    name: str, known: Iterable[str], *, loc: Sequence[str | int], message: str, kind: str
) -> dict[str, Any]:
    """Return the error of a 422 response for an unknown name, with the closest known one."""
    close = find_similar(name, known)
    meant = f" Did you mean {close!r}?" if close else ""
    error = {"loc": loc, "msg": message.format(meant=meant), "type": kind}
    return error | ({"did_you_mean": close} if close else {})


MAX_DATA_BYTES = 64 * 1024  # of an event's data; one response holds up to 50 requests with it
OVERRIDE_WRONG, OVERRIDE_UNKNOWN = "override_wrong", "override_unknown"  # types of errors
Json = Any  # a JSON value
Loc = tuple[str | int, ...]


def apply_overrides(event: Event, overrides: Mapping[str, Json], *, loc: Loc) -> str:
    """Return the event's example data as JSON, changed by the overrides as a merge patch (RFC 7396).

    A null sets a member of the event to null, and removes a key of a map. Raise Invalid below `loc` for an
    unknown member or a wrong value.
    """
    example = event.example
    wanted = _merge_patch(example, json.loads(example.model_dump_json()), dict(overrides))
    try:
        data = type(example).model_validate_json(json.dumps(wanted), strict=True).model_dump_json()
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)[:MAX_ERRORS]
        raise Invalid.many(
            [{**each, "loc": (*loc, *each["loc"]), "type": OVERRIDE_WRONG} for each in found]
        ) from None
    # Bounded: suggestions for unknown members are the most expensive part of a hostile body.
    if unknown := list(islice(_unknown_members(wanted, json.loads(data), loc), MAX_ERRORS)):
        raise Invalid.many(unknown)
    if len(data.encode()) > MAX_DATA_BYTES:
        raise Invalid(loc, f"The data of an event has up to {MAX_DATA_BYTES} bytes.", "event_too_large")
    return data


def _merge_patch(known: object, shown: Json, patch: Json) -> Json:
    """Merge `patch` into `shown`, the JSON of `known`."""
    if not isinstance(patch, dict):
        return patch
    is_model = isinstance(known, BaseModel)
    inside = known.__dict__ if isinstance(known, BaseModel) else known if isinstance(known, Mapping) else {}
    merged = dict(shown) if isinstance(shown, dict) else {}
    for name, each in patch.items():
        if each is None and not is_model:
            merged.pop(name, None)
        else:
            merged[name] = _merge_patch(inside.get(name), merged.get(name), each)
    return merged


def _unknown_members(wanted: Json, known: Json, loc: Loc) -> Iterator[dict[str, Any]]:
    """Yield an error for each member that the event's model dropped."""
    if isinstance(wanted, dict) and isinstance(known, dict):
        for name, value in wanted.items():
            if name in known:
                yield from _unknown_members(value, known[name], (*loc, name))
            else:
                message = "The event has no such member.{meant}"
                yield _unknown(name, known, loc=(*loc, name), message=message, kind=OVERRIDE_UNKNOWN)
    elif isinstance(wanted, list) and isinstance(known, list):
        for at, (value, ours) in enumerate(zip(wanted, known, strict=False)):
            yield from _unknown_members(value, ours, (*loc, at))
