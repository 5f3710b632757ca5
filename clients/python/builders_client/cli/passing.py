"""Pass events on: several at once, and those of one resource in their order."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Any

Event = Mapping[str, Any]


def pass_on(events: Iterable[Event], deliver: Callable[[Event], None], *, concurrency: int) -> Iterator[Event]:
    """Deliver the events, a number of them at once; return each one when its delivery has ended.

    An event waits for the earlier ones of its resources. The first error of a delivery is raised.
    """
    waiting, running = list(events), dict[str, Event]()
    ended = SimpleQueue[tuple[Event, BaseException | None]]()

    def run(event: Event) -> None:
        try:
            deliver(event)
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            ended.put((event, error))
        else:
            ended.put((event, None))

    while waiting or running:
        for event in _startable(waiting, list(running.values()), concurrency - len(running)):
            waiting.remove(event)
            running[event["id"]] = event
            # A daemon: the program ends at once when it is interrupted, and the event comes again.
            Thread(target=run, args=(event,), daemon=True).start()
        event, error = ended.get()
        if error is not None:
            raise error
        del running[event["id"]]
        yield event


def _startable(waiting: Sequence[Event], running: Sequence[Event], count: int) -> Sequence[Event]:
    """Return up to `count` waiting events that share no resource with an earlier event."""
    found: list[Event] = []
    earlier = list(map(resources, running))
    for event in waiting:
        if len(found) == count:
            break
        mine = resources(event)
        if all(mine and other and not mine & other for other in earlier):
            found.append(event)
        earlier.append(mine)
    return found


def resources(event: Event) -> frozenset[str]:
    """Return the resources that an event is about, none for one that stays in order with all others.

    The members of its data name them: `id`, else all other ids, and the domain of a portfolio.
    """
    data: Mapping[str, Any] = event["data"]
    names = ["id"] if "id" in data else [name for name in data if name.endswith("_id")]
    if str(event["type"]).startswith("portfolio."):
        names.append("domain")
    return frozenset(str(data[name]) for name in names if data.get(name) is not None)
