"""The position of a reader of the event feed, in a file that is replaced as a whole."""

import json
import os
import tempfile
from os import PathLike
from pathlib import Path

from builders_client.problems import CursorFileInvalid


class CursorFile:
    """The cursor of the last page whose items were all handled, and the handled items after it."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)
        self.cursor: str | None = None
        self.handled: set[str] = set()
        if self._path.exists():
            self._load()

    def _load(self) -> None:
        try:
            stored = json.loads(self._path.read_bytes())
            self.cursor, self.handled = stored["cursor"], set(stored["handled"])
        except (ValueError, KeyError, TypeError) as error:
            raise CursorFileInvalid(f"{self._path} holds no position of the event feed") from error

    def add(self, event_id: str) -> None:
        """Store that an event was handled."""
        self.handled.add(event_id)
        self._store()

    def move(self, cursor: str) -> None:
        """Store that all events of a page were handled."""
        if cursor == self.cursor and not self.handled:
            return  # a page without events
        self.cursor = cursor
        self.handled.clear()
        self._store()

    def _store(self) -> None:
        """Replace the file: after a crash it has the old content or the new one."""
        text = json.dumps({"cursor": self.cursor, "handled": sorted(self.handled)})
        with tempfile.NamedTemporaryFile(
            "w", dir=self._path.parent, prefix=f".{self._path.name}.", delete=False, encoding="utf-8"
        ) as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(self._path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
