"""Agents: the SDK's own client at /mcp, and plain requests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal, NamedTuple

import httpx
import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from builders.app import Service

Json = dict[str, Any]
URL = "http://builders.test/mcp"
VERSION = "2026-07-28"


@asynccontextmanager
async def connect(
    service: Service, key: str, *, mode: Literal["auto", "legacy"] = "auto"
) -> AsyncIterator[Client]:
    """Return a connected client with a key."""
    transport = httpx2.ASGITransport(app=service)
    async with (
        httpx2.AsyncClient(transport=transport, headers={"X-API-Key": key}) as http,
        Client(streamable_http_client(URL, http_client=http), mode=mode) as agent,
    ):
        yield agent


class Agent(NamedTuple):
    """An agent with a key, which connects for each call: a fixture cannot keep the SDK's client open."""

    service: Service
    key: str

    async def call_tool(self, tool: str, arguments: Json) -> CallToolResult:
        """Call a tool."""
        async with connect(self.service, self.key) as client:
            return await client.call_tool(tool, arguments)


async def call(agent: Client | Agent, tool: str, **arguments: object) -> Json:
    """Return the result of a tool, which succeeds."""
    result = await agent.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    found: Json = result.structured_content
    return found


async def refuse(agent: Client | Agent, tool: str, **arguments: object) -> Json:
    """Return the refusal of a tool."""
    result = await agent.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    found: Json = result.structured_content
    return found


def message(method: str, **params: object) -> Json:
    """Return a message of the newest protocol."""
    of_client = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": of_client}}


async def post(service: Service, body: object, *, url: str = URL, **headers: str) -> httpx.Response:
    """Send a message without a client of the protocol; `_` in the name of a header is `-`."""
    own = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": VERSION}
    if isinstance(body, dict):
        own["Mcp-Method"] = body["method"]
        own |= {"Mcp-Name": body["params"]["name"]} if "name" in body["params"] else {}
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=service)) as client:
        if isinstance(body, bytes):
            own["Content-Type"] = "application/json"
            return await client.post(url, content=body, headers=own | given)
        return await client.post(url, json=body, headers=own | given)
