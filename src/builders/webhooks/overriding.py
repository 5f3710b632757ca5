"""The data of a simulated event: its declared example, with what the caller wants otherwise. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any

from pydantic import BaseModel, ValidationError

from builders.kit.errors import MOST_ERRORS, Invalid
from builders.kit.events.outbox import Event

MOST_BYTES = 64 * 1024  # of an event's data; up to 50 requests with it stand in one answer
WRONG, UNKNOWN = "override_wrong", "override_unknown"  # the types of the errors
LONGEST_NAME = 80  # characters of a name that is looked for among ours
Json = Any  # what a JSON text can hold
Loc = tuple[str | int, ...]


def override(event: Event, overrides: Mapping[str, Json], *, loc: Loc) -> str:
    """The data as JSON text: the event's example with the overrides as a merge patch (RFC 7396).

    A null is null where the event has such a member; in a map of free names it takes the name away.
    Raises Invalid below `loc`: for what the event has not, and for what it may not hold.
    """
    example = event.example
    wanted = _merged(example, json.loads(example.model_dump_json()), dict(overrides))
    try:
        data = type(example).model_validate_json(json.dumps(wanted), strict=True).model_dump_json()
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)[:MOST_ERRORS]
        raise Invalid.many([{**each, "loc": (*loc, *each["loc"]), "type": WRONG} for each in found]) from None
    # Bounded: to look for what was meant costs more than all the rest of a hostile body.
    if unknown := list(islice(_unknown(wanted, json.loads(data), loc), MOST_ERRORS)):
        raise Invalid.many(unknown)
    if len(data.encode()) > MOST_BYTES:
        raise Invalid(loc, f"The data of an event has up to {MOST_BYTES} bytes.", "event_too_large")
    return data


def _merged(known: object, shown: Json, patch: Json) -> Json:
    """`known` is what `shown` is the JSON of, as far as the example has it."""
    if not isinstance(patch, dict):
        return patch
    is_model = isinstance(known, BaseModel)
    inside = known.__dict__ if isinstance(known, BaseModel) else known if isinstance(known, Mapping) else {}
    merged = dict(shown) if isinstance(shown, dict) else {}
    for name, each in patch.items():
        if each is None and not is_model:
            merged.pop(name, None)
        else:
            merged[name] = _merged(inside.get(name), merged.get(name), each)
    return merged


def _unknown(wanted: Json, known: Json, loc: Loc) -> Iterator[dict[str, Any]]:
    """An error for each member that got lost on the way through the event's model."""
    if isinstance(wanted, dict) and isinstance(known, dict):
        for name, each in wanted.items():
            if name in known:
                yield from _unknown(each, known[name], (*loc, name))
            else:
                yield _named(name, sorted(known), (*loc, name))
    elif isinstance(wanted, list) and isinstance(known, list):
        for at, (each, ours) in enumerate(zip(wanted, known, strict=False)):
            yield from _unknown(each, ours, (*loc, at))


def _named(name: str, ours: Sequence[str], loc: Loc) -> dict[str, Any]:
    close = get_close_matches(name, ours, n=1) if len(name) <= LONGEST_NAME else []
    meant = f" Did you mean {close[0]!r}?" if close else ""
    error = {"loc": loc, "msg": f"The event has no such member.{meant}", "type": UNKNOWN}
    return error | ({"did_you_mean": close[0]} if close else {})
