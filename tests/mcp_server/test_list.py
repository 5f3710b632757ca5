import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from builders.app import Service
from builders.kit.effects import Effect
from builders.mcp_server.server import TOOLS, describe
from tests.cast import Person
from tests.mcp_server.make import connect, message, post

MAX_TOOLS, MAX_LIST = 20, 24_000  # bytes

LOADED = """
import logging, sys
import builders.app
print(sorted({each.partition(".")[0] for each in sys.modules} & {"mcp", "mcp_types", "httpx2", "sse_starlette"}))
"""


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield each schema of an object with members, in a schema."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for each in schema.values():
            yield from objects(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from objects(each)


def test_the_application_does_not_load_the_sdk() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "[]"


async def test_the_first_request_changes_no_logging(service: Service, alice: Person) -> None:
    before = logging.getLogger().handlers[:], logging.getLogger().level
    await post(service, message("tools/list"), X_API_Key=alice.key)
    assert (logging.getLogger().handlers, logging.getLogger().level) == before


def test_there_are_at_most_20_tools() -> None:
    assert len({each.name for each in TOOLS}) == len(TOOLS) <= MAX_TOOLS


def test_the_list_has_at_most_24000_bytes(service: Service) -> None:
    document = service.openapi()
    described = [
        describe(each, document).model_dump(mode="json", by_alias=True, exclude_none=True) for each in TOOLS
    ]
    size = len(json.dumps({"tools": described}, separators=(",", ":")).encode())
    print(f"tools/list: {len(TOOLS)} tools, {size} bytes")  # noqa: T201 - seen with -rP, when a tool is added
    assert size <= MAX_LIST


async def test_the_list_is_private_and_in_a_fixed_order(service: Service, alice: Person, dana: Person) -> None:
    order = [each.name for each in TOOLS]
    for person in (alice, dana):
        result = (await post(service, message("tools/list"), X_API_Key=person.key)).json()["result"]
        names = [each["name"] for each in result["tools"]]
        assert result["cacheScope"] == "private"
        assert names == sorted(names, key=order.index)


async def test_a_key_sees_the_tools_of_its_scopes(service: Service, alice: Person, dana: Person) -> None:
    seen = {}
    for person in (alice, dana):
        async with connect(service, person.key) as agent:
            seen[person] = {each.name for each in (await agent.list_tools()).tools}
    assert ("list_names" in seen[alice], "list_names" in seen[dana]) == (True, False)
    assert ("rank_domains" in seen[alice], "rank_domains" in seen[dana]) == (False, True)


async def test_the_legacy_era_gets_the_same_list(service: Service, alice: Person) -> None:
    async with connect(service, alice.key, mode="legacy") as legacy:
        old = (await legacy.list_tools()).tools
    async with connect(service, alice.key) as agent:
        assert [each.name for each in old] == [each.name for each in (await agent.list_tools()).tools]


def test_each_argument_is_typed_and_unknown_ones_are_refused() -> None:
    for tool in TOOLS:
        for each in objects(tool.input_schema):
            assert each["additionalProperties"] is False, tool.name


def test_a_tool_reads_or_changes() -> None:
    reading = {each.name for each in TOOLS if each.effect is Effect.READ}
    methods = {each.name: {method for method, _ in each.uses} for each in TOOLS}
    assert all(methods[name] <= {"GET"} for name in reading)


async def test_resources_and_prompts_are_empty(service: Service, alice: Person) -> None:
    async with connect(service, alice.key) as agent:
        assert (await agent.list_resources()).resources == []
        assert (await agent.list_prompts()).prompts == []
