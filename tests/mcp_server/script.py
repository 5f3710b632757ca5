"""A script that has only the list of tools: it calls them as the list says, and counts calls and characters."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import jsonschema_rs

from builders.app import Service
from tests.mcp_server.make import Json, connect

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "agents.md"
_ROW = re.compile(r"^\| ([A-Z].+?) \| (\d+) \| ([\d,]+) \|$", re.MULTILINE)
LEAST = 0.7  # of the characters of the table, so that a table that is far too high is found


class Cost(NamedTuple):
    """What a task takes."""

    calls: int
    characters: int  # of the arguments and the results; of the table, at most


def table() -> dict[str, Cost]:
    """Return the costs of the how-to by task."""
    found = _ROW.findall(HOW_TO.read_text(encoding="utf-8"))
    return {task: Cost(int(calls), int(characters.replace(",", ""))) for task, calls, characters in found}


class Script:
    """The agent of one task."""

    def __init__(self, service: Service, key: str) -> None:
        self._service, self._key = service, key
        self.calls = self.characters = 0

    async def __call__(self, tool: str, **arguments: object) -> Json:
        """Return the result or the refusal of a tool, whose arguments are those of the list."""
        async with connect(self._service, self._key) as agent:
            listed = {each.name: each for each in (await agent.list_tools()).tools}
            jsonschema_rs.validator_for(listed[tool].input_schema).validate(arguments)
            result = await agent.call_tool(tool, arguments)
        (text,) = [each for each in result.content if each.type == "text"]
        self.calls += 1
        self.characters += len(json.dumps(arguments)) + len(text.text)
        assert json.loads(text.text) == result.structured_content
        assert ("code" in json.loads(text.text) and "reason" in json.loads(text.text)) == result.is_error
        return json.loads(text.text)  # type: ignore[no-any-return] # the object of a result

    def has_done(self, task: str) -> bool:
        """Print what the task took, and return whether the how-to says the same."""
        print(f"{task}: {self.calls} calls, {self.characters} characters")  # noqa: T201 - seen with -rP
        said = table()[task]
        return self.calls == said.calls and said.characters * LEAST <= self.characters <= said.characters
