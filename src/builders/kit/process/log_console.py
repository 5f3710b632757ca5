"""Log lines for a terminal: short and coloured, masked and limited like the JSON lines."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from structlog.dev import ConsoleRenderer, plain_traceback

LONGEST_VALUE = 160  # characters of a member; JSON lines contain more
_TIME = slice(11, 23)  # of a timestamp: the time without the day


def make_renderer() -> Callable[[Mapping[str, Any]], str]:
    """Return a function that writes a masked event as text; without colours with NO_COLOR or TERM=dumb."""
    colors = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    render = ConsoleRenderer(colors=colors, pad_event_to=0, sort_keys=False, exception_formatter=plain_traceback)

    def write(event: Mapping[str, Any]) -> str:
        shown = _request(event) if event.get("event") == "request" else dict(event)
        trace = shown.pop("exception", None)
        shown = {name: _short(value) for name, value in shown.items()}
        shown["timestamp"] = shown["timestamp"][_TIME]
        if trace is not None:
            shown["exception"] = "\n".join(map(_printable, str(trace).split("\n")))
        return str(render(None, str(event["level"]), shown))

    return write


def _request(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event of a request with method, path and status in one text."""
    rest = {name: value for name, value in event.items() if name not in {"method", "path", "status"}}
    return rest | {"event": f"{event.get('method')} {event.get('path')} {event.get('status')}"}


def _short(value: object) -> str:
    text = _printable(str(value))
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def _printable(text: str) -> str:
    """Return the text with each character that could control a terminal as its escape."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
