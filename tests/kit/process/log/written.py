import json
from io import StringIO
from typing import Any


class Written:
    """What was logged since the start of the test."""

    def __init__(self) -> None:
        self.stream = StringIO()

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    def events(self) -> list[dict[str, Any]]:  # as JSON comes
        assert not self.text or self.text.endswith("\n")
        return [json.loads(line) for line in self.text.split("\n")[:-1]]

    def one(self) -> dict[str, Any]:
        (event,) = self.events()
        return event
