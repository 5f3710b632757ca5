"""Which events a destination wants: names, `area.*` and `*`."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from builders.kit.errors import Invalid
from builders.kit.events import outbox
from builders.kit.events.outbox import Event

EVERY = "*"
MOST = 100  # names of one destination
LONGEST_NAME = 80  # characters
UNKNOWN = "event_unknown"  # the type of the error
# Names that the specification gives: good also where the room that tells of them is not built.
GIVEN = frozenset({"alias.created", "onboarding.completed"})


def list_public() -> list[Event]:
    """The declared events that leave the house, by name."""
    return [event for event in outbox.list_events() if not event.internal]


def area(name: str) -> str:
    """What stands before the first dot."""
    return name.partition(".")[0]


def names() -> set[str]:
    """Every name that a destination may list."""
    return {event.name for event in list_public()} | GIVEN


def patterns(name: str) -> tuple[str, ...]:
    """What a destination lists to get the event, any of it."""
    return EVERY, f"{area(name)}.*", name


def wants(wanted: Sequence[str], name: str) -> bool:
    """Whether a destination that lists these wants the event; the fan-out says the same in SQL."""
    return not set(patterns(name)).isdisjoint(wanted)


def refusals(wanted: Sequence[str], *, loc: Sequence[str] = ("body", "events")) -> list[dict[str, Any]]:
    """Return an error, as a 422 holds them, for each name of the list at `loc` that no event has."""
    known = names()
    allowed = known | {EVERY} | {f"{area(name)}.*" for name in known}
    return [_unknown(name, allowed, loc=(*loc, at)) for at, name in enumerate(wanted) if name not in allowed]


def expand(wanted: Sequence[str], *, loc: Sequence[str]) -> list[str] | None:
    """Return the names of the events that a list of names and patterns stands for; None for all of them.

    An empty list stands for all. Raises Invalid at `loc`.
    """
    errors = refusals(wanted, loc=loc)
    if errors:
        raise Invalid.many(errors)
    if not wanted or EVERY in wanted:
        return None
    return sorted(name for name in names() if wants(wanted, name))


def get(name: str, *, loc: Sequence[str]) -> Event:
    """The event of this name. Raises Invalid at `loc`."""
    found = next((event for event in list_public() if event.name == name), None)
    if found is not None:
        return found
    if name in GIVEN:
        raise Invalid(loc, "Nothing tells of this event yet.", UNKNOWN)
    raise Invalid.many([_unknown(name, {event.name for event in list_public()}, loc=loc)])


def distinct(wanted: Sequence[str]) -> list[str]:
    """The names in their order, each once."""
    return list(dict.fromkeys(wanted))


def _unknown(name: str, allowed: set[str], *, loc: Sequence[str | int]) -> dict[str, Any]:
    close = get_close_matches(name, sorted(allowed), n=1) if len(name) <= LONGEST_NAME else []
    meant = f" Did you mean {close[0]!r}?" if close else ""
    said = f"There is no such event.{meant} GET /v1/notifications/events lists them."
    return {"loc": loc, "msg": said, "type": UNKNOWN} | ({"did_you_mean": close[0]} if close else {})
