# Written by script/clients.
"""The event feed: every event once, across restarts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from os import PathLike

from builders_client.cursor import CursorFile
from builders_client.generated.models.webhooks import FeedEvent
from builders_client.generated.sync.resources import Resources

WAIT_S = 20  # what the service allows
MARGIN_S = 10  # for an answer after the wait
PAGE = 100


class Events:
    """The events of the account."""

    def __init__(self, client: Resources) -> None:
        self._client = client

    def follow(
        self,
        cursor_file: str | PathLike[str],
        *,
        types: Sequence[str] = (),
        since: datetime | str | None = None,
        wait: int = WAIT_S,
    ) -> Iterator[FeedEvent]:
        """Return the events after the position in the file, then new ones as they occur, without an end.

        An event counts as handled when the next one is requested; then the file is replaced. So a program that
        stops while it handles an event gets it again, with the same `id`, and misses none. Without the file it
        begins with the oldest stored event, or at `since`. `types` are names of events or areas (`alias.*`).

        Raise CursorExpired if events after the position are no longer kept, and CursorFileInvalid.
        """
        place = CursorFile(cursor_file)
        # Without a deadline: a follower outlasts a restart of the service, a sleep of the laptop, a lost network.
        retries = replace(
            self._client.retries, deadline=None, idle=max(self._client.retries.idle, wait + MARGIN_S)
        )
        client = self._client.with_options(retries=retries)
        while True:
            page = client.webhooks.read_events(
                types=types, since=since, wait=wait, limit=PAGE, cursor=place.cursor
            )
            for event in page.items:
                if event.id not in place.handled:
                    yield event
                    place.add(event.id)
            place.move(page.resume_cursor)
