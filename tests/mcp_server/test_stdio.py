"""The SDK's own client with `bld mcp` as its server over stdio, in both eras of the protocol."""

import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import builders_client
from builders.app import create_app, lifespan
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.mandates import machine
from tests.mcp_server.make import call, refuse
from tests.mcp_server.system.test_conformance import served, url_of

CLIENT = str(Path(builders_client.__file__).parents[1])


@pytest.fixture
async def address(settings: Settings) -> AsyncIterator[str]:
    """Serve the service on loopback; return its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        app = create_app(settings.model_copy(update={"base_url": url_of(listening)}))
        async with lifespan(app.api), served(app, listening):
            yield url_of(listening)


def bld(address: str, key: str, home: Path) -> StdioServerParameters:
    """Return the command as a client of the protocol starts it."""
    environment = {
        **os.environ,
        "PYTHONPATH": CLIENT,
        "BUILDERS_API_URL": address,
        "BUILDERS_API_KEY": key,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
    }
    code = "from builders_client.cli import main; main()"
    return StdioServerParameters(command=sys.executable, args=["-c", code, "mcp"], env=environment)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_names_are_found_planned_and_promoted(
    mode: Literal["auto", "legacy"], alice: Person, address: str, domain: str, tmp_path: Path
) -> None:
    agent_key = (await machine(alice)).key
    async with Client(stdio_client(bld(address, agent_key, tmp_path)), mode=mode) as agent:
        listed = {each.name for each in (await agent.list_tools()).tools}
        assert {"search_names", "make_plan", "promote_plan"} <= listed
        found = await call(agent, "search_names", words=f"ada@{domain}")
        claim = {"address": found["names"][0]["address"], "forward_to": [alice.account.email]}
        plan = await call(agent, "make_plan", claims=[claim])
        price = found["names"][0]["price"]
        promoted = await call(agent, "promote_plan", plan_id=plan["id"], digest=plan["digest"], max_total=price)
        assert promoted["status"] == "succeeded"
        assert (await refuse(agent, "list_names", limits=1))["code"] == "arguments_invalid"
