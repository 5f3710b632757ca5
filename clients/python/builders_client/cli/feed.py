"""The event feed as the service writes it, with a position on disk."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from builders_client.cli import texts
from builders_client.cli.faults import USAGE, Fault
from builders_client.cli.state import State, given
from builders_client.cursor import CursorFile

WAIT_S, MARGIN_S, PAGE = 20, 10, 100
NOW = "now"


def read_since(text: str | None) -> str | None:
    """Return the time that `--since` names; `now` is this machine's."""
    return datetime.now(UTC).isoformat() if text == NOW else text


def line(event: Mapping[str, Any]) -> str:
    """Return an event for a person."""
    return texts.one_line(f"{event['timestamp']}  {event['type']}  {event['id']}")


def follow(
    state: State, *, types: Sequence[str], since: str | None, once: bool = False
) -> Iterator[dict[str, Any]]:
    """Return the events, then new ones; `once`: only those that there are."""
    for events in pages(state, place=None, types=types, since=since, once=once):
        yield from events


def pages(
    state: State, *, place: CursorFile | None, types: Sequence[str], since: str | None, once: bool
) -> Iterator[list[dict[str, Any]]]:
    """Return the events after a position that were not handled, page by page.

    When the next page is requested, all events of this one count as handled. Requests are repeated without an end.
    """
    cursor, handled = (None, set[str]()) if place is None else (place.cursor, place.handled)
    while True:
        page = _page(state, cursor, types, since, wait=0 if once else WAIT_S)
        yield [event for event in page["items"] if event["id"] not in handled]
        if place is not None:
            place.move(page["resume_cursor"])
        if once and not page["items"]:
            return
        cursor = page["resume_cursor"]


def _page(state: State, cursor: str | None, types: Sequence[str], since: str | None, *, wait: int) -> Any:
    client = state.client()
    # Without a deadline: a follower outlasts a restart of the service, a sleep of the laptop, a lost network.
    idle = max(client.retries.idle, wait + MARGIN_S)
    retries = replace(client.retries, deadline=None, idle=idle, on_wait=state.tell)
    place = {"since": since} if cursor is None else {"cursor": cursor}
    query = given(types=list(types) or None, wait=wait, limit=PAGE, **place)
    return state.call("webhooks_read_events", client=client.with_options(retries=retries), query=query)


@contextmanager
def only_reader(cursor_file: Path) -> Iterator[None]:
    """Keep other listeners from the same position. Raise Fault."""
    try:
        import fcntl
    except ImportError:  # a system without such locks
        yield
        return
    with cursor_file.with_name(f"{cursor_file.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Fault(
                f"Another listener uses {cursor_file}.",
                next_action="Stop it, or give this one a file of its own: --cursor-file FILE.",
                code=USAGE,
            ) from error
        yield
