"""What the protocol uses of uvicorn's internals, by name: an upgrade that changes one fails here first."""

import ast
from pathlib import Path

import uvicorn
from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.server import ServerState

from builders.cli import protocol
from tests.cli.connections import GET, answered, hasty, serving

OF_THE_PROTOCOL = {
    *("connection_made", "connection_lost", "data_received", "pause_writing", "resume_writing"),  # asyncio's
    *("on_message_begin", "on_headers_complete", "on_message_complete"),  # httptools'
    *("on_response_complete", "send_400_response"),  # uvicorn's, replaced or extended
    *("connections", "cycle", "flow", "headers", "loop", "pipeline", "server_state", "timeout_keep_alive"),
    *("scope", "transport"),
}
OF_A_CYCLE = {"disconnected", "keep_alive", "message_event", "response_complete", "response_started"}
OF_THE_FLOW = {"pause_reading", "read_paused"}
OF_A_TRANSPORT = {"abort", "close", "get_write_buffer_size", "is_closing", "write"}


def test_uvicorn_is_pinned_to_a_release() -> None:
    pins = (Path(protocol.__file__).parents[3] / "requirements.in").read_text().splitlines()
    assert {each.partition("~=")[0] for each in pins if each.count(".") == 2 and "~=" in each} >= {
        "uvicorn",
        "httptools",
    }


async def test_uvicorn_has_what_the_protocol_uses() -> None:
    async with serving(hasty) as server, server.connect() as (reader, writer):
        writer.write(GET)
        await answered(reader)
        [connection] = server.connections
        assert {name for name in OF_THE_PROTOCOL if not hasattr(connection, name)} == set()
        assert {name for name in OF_A_CYCLE if not hasattr(connection.cycle, name)} == set()
        assert {name for name in OF_THE_FLOW if not hasattr(connection.flow, name)} == set()
    assert hasattr(ServerState(), "default_headers")
    assert httptools_impl.STATUS_LINE[408] == b"HTTP/1.1 408 Request Timeout\r\n"
    assert issubclass(uvicorn.Config(hasty, http=protocol.bounded(1)).http, httptools_impl.HttpToolsProtocol)  # type: ignore[arg-type] # it is a class


def test_the_protocol_uses_no_more_of_uvicorn() -> None:
    tree = ast.parse(Path(protocol.__file__).read_text())
    [own] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Protocol"]
    theirs = {name for kind in httptools_impl.HttpToolsProtocol.__mro__[:1] for name in vars(kind)}
    defined = {node.name for node in own.body if isinstance(node, ast.FunctionDef)}
    used = {
        node.attr
        for node in ast.walk(own)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    made = {name for name in used if name.startswith("_")} | {"check", "large_bytes", "message_bytes", "watch"}
    assert (used - made) | (defined & theirs) - {"__init__"} <= OF_THE_PROTOCOL
    assert not {name for name in made if hasattr(httptools_impl.HttpToolsProtocol, name)}
    of_others = {
        node.attr: node.value.attr
        for node in ast.walk(own)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute)
    }
    assert {name for name, of in of_others.items() if of == "cycle"} <= OF_A_CYCLE
    assert (
        {name for name, of in of_others.items() if of == "flow"}
        <= OF_THE_FLOW
        <= {*vars(FlowControl), "read_paused"}
    )
    assert {name for name, of in of_others.items() if of == "transport"} <= OF_A_TRANSPORT
