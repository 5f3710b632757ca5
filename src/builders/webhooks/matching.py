"""Which events a destination wants: names, `area.*` and `*`."""

from collections.abc import Sequence
from difflib import get_close_matches

from builders.kit import outbox
from builders.kit.outbox import Event

EVERY = "*"
MOST = 100  # names of one destination
LONGEST_NAME = 80  # characters
# Names that the specification gives: good also where the room that tells of them is not built.
GIVEN = frozenset({"alias.created", "onboarding.completed", "invoice.paid"})


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


def refusals(wanted: Sequence[str]) -> list[tuple[int, str]]:
    """The place of each name that no event has, and what to say of it."""
    known = names()
    allowed = known | {EVERY} | {f"{area(name)}.*" for name in known}
    return [(at, _unknown(name, allowed)) for at, name in enumerate(wanted) if name not in allowed]


def distinct(wanted: Sequence[str]) -> list[str]:
    """The names in their order, each once."""
    return list(dict.fromkeys(wanted))


def _unknown(name: str, allowed: set[str]) -> str:
    close = get_close_matches(name, sorted(allowed), n=1) if len(name) <= LONGEST_NAME else []
    meant = f" Did you mean {close[0]!r}?" if close else ""
    return f"There is no such event.{meant} GET /v1/notifications/events lists them."
