"""What the service uses of libraries without documentation, by name and signature: an upgrade fails here first.

No module uses a private name of a library (`_name`). Each library of this page is pinned to a release.
"""

import ast
import dis
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Annotated, Any

import aiohttp
import psycopg
import pytest
import uvicorn
from aiohttp import client_proto, connector
from fastapi import APIRouter, Body
from fastapi.dependencies import models, utils
from fastapi.routing import APIRoute
from procrastinate.manager import JobManager
from procrastinate.periodic import PeriodicRegistry
from pydantic import BaseModel
from starlette.staticfiles import StaticFiles
from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.server import ServerState

import builders
from builders.cli import protocol
from tests.cli.connections import GET, answered, hasty, serving

SOURCE = Path(builders.__file__).parent
OF_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR"}
PINNED = {"aiohttp", "fastapi", "httptools", "procrastinate", "psycopg", "starlette", "uvicorn"}
SIGNATURES: dict[Callable[..., Any], list[str]] = {
    utils.request_params_to_args: ["fields", "received_params"],  # kit/http/parameters.py
    utils.request_body_to_args: [
        "body_fields",
        "received_body",
        "embed_body_fields",
    ],  # kit/http/compiled_routes.py
    utils.get_flat_params: ["dependant"],  # kit/http/routes.py
    aiohttp.ClientRequest.send: ["self", "conn"],  # kit/outbound/connections.py
    aiohttp.StreamReader.set_exception: ["self", "exc", "exc_cause"],  # kit/outbound/connections.py
    psycopg.AsyncConnection.wait: ["self", "gen", "interval", "timeout"],  # kit/db/connections.py
    JobManager.finish_job: ["self", "job", "status", "delete_job"],  # kit/jobs/queue.py
    PeriodicRegistry: [],  # kit/jobs/queue.py
    StaticFiles.file_response: [
        "self",
        "full_path",
        "stat_result",
        "scope",
        "status_code",
    ],  # kit/http/application.py
    uvicorn.Server.startup: ["self", "sockets"],  # cli/http.py
    uvicorn.Server.main_loop: ["self"],  # cli/http.py
    uvicorn.Server.on_tick: ["self", "counter"],  # cli/http.py
}
OF_A_DEPENDANT = {
    *(
        "call",
        "dependencies",
        "name",
        "path_params",
        "query_params",
        "header_params",
        "cookie_params",
        "body_params",
    ),
    *("request_param_name", "response_param_name", "background_tasks_param_name", "security_scopes_param_name"),
    *("http_connection_param_name", "websocket_param_name"),
}
OF_A_FIELD = {"alias", "config", "field_info", "get_default", "name", "validate", "validation_alias"}
OF_THE_PROTOCOL = {
    *("connection_made", "connection_lost", "data_received", "pause_writing", "resume_writing"),  # asyncio's
    *("on_message_begin", "on_headers_complete", "on_message_complete"),  # httptools'
    *("on_response_complete", "send_400_response", "shutdown"),  # uvicorn's, replaced or extended
    *("connections", "cycle", "flow", "headers", "loop", "pipeline", "server_state", "timeout_keep_alive"),
    *("parser", "scope", "transport", "url"),
}
OF_A_CYCLE = {
    "default_headers",
    "disconnected",
    "keep_alive",
    "message_event",
    "response_complete",
    "response_started",
}
OF_THE_FLOW = {"pause_reading", "read_paused"}
OF_A_TRANSPORT = {"abort", "close", "get_write_buffer_size", "is_closing", "write"}


class Pet(BaseModel):
    name: str


async def whole(pet: Pet) -> None:
    del pet


async def embedded(pet: Annotated[Pet, Body(embed=True)]) -> None:
    del pet


async def two(pet: Pet, other: Pet) -> None:
    del pet, other


def test_the_libraries_are_pinned_to_a_release() -> None:
    pins = (SOURCE.parents[1] / "requirements.in").read_text().splitlines()
    names = {each.partition("~=")[0].partition("[")[0] for each in pins if each.count(".") == 2 and "~=" in each}
    assert names >= PINNED


def test_no_private_name_of_a_library_is_used() -> None:
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert "SLF001" not in text, path
        for node in ast.walk(ast.parse(text)):
            names = list[str]()
            if isinstance(node, ast.Import):
                names = [part for each in node.names for part in each.name.split(".")]
            elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("builders"):
                names = [*(node.module or "").split("."), *(each.name for each in node.names)]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("attr"):
                names = [str(each.value) for each in node.args if isinstance(each, ast.Constant)]
            assert not [each for each in names if each.startswith("_") and not each.startswith("__")], path


def test_no_private_attribute_of_a_base_class_of_a_library_is_used() -> None:
    for module in pkgutil.walk_packages(builders.__path__, "builders."):
        if not module.name.endswith("__main__"):
            found = vars(importlib.import_module(module.name)).values()
            for own in (each for each in found if inspect.isclass(each) and each.__module__ == module.name):
                theirs = [each for each in own.__mro__[1:] if each.__module__.partition(".")[0] in PINNED]
                if theirs:
                    assert not own_names(own) & {name for each in theirs for name in own_names(each)}, own


def own_names(kind: type) -> set[str]:
    """Return the private names that a class uses of an object, or defines.

    From compiled code: parsing many classes in Python 3.11 can end with a SystemError (python/cpython#106905).
    """
    codes = [code for member in vars(kind).values() for code in codes_of(member)]
    used = {each.argval for code in codes for each in dis.get_instructions(code) if each.opname in OF_ATTRIBUTES}
    names = {*vars(kind), *used}
    return {each for each in names if each.startswith("_") and not each.startswith(("__", "_abc_"))}


def codes_of(member: object) -> Iterator[CodeType]:
    """Yield the code of a function, of what a descriptor wraps, and of the functions inside it."""
    for wrapped in ("__func__", "__wrapped__", "fget", "fset", "func"):
        if (inner := getattr(member, wrapped, None)) is not None:
            yield from codes_of(inner)
    todo = [member.__code__] if isinstance(member, FunctionType) else []
    for code in todo:
        yield code
        todo.extend(each for each in code.co_consts if isinstance(each, CodeType))


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda each: each.__qualname__)
def test_a_function_has_the_parameters_that_the_service_passes(function: Callable[..., Any]) -> None:
    assert list(inspect.signature(function).parameters) == SIGNATURES[function]


def test_aiohttp_has_what_a_connection_uses() -> None:
    assert {"protocol", "transport"} <= {*dir(connector.Connection)}
    assert "should_close" in dir(client_proto.ResponseHandler)
    assert {"exception", "is_eof", "set_exception"} <= {*dir(aiohttp.StreamReader)}


def test_fastapi_has_what_a_compiled_route_reads() -> None:
    router = APIRouter()
    for handler in (whole, embedded, two):
        router.post(f"/{handler.__name__}")(handler)
    routes = [each for each in router.routes if isinstance(each, APIRoute)]
    [field] = routes[0].dependant.body_params
    assert {*models.Dependant.__dataclass_fields__} >= OF_A_DEPENDANT
    assert {name for name in OF_A_FIELD if not hasattr(field, name)} == set()
    assert [each.body_field in each.dependant.body_params for each in routes] == [True, False, False]
    assert routes[0].response_field is None


async def test_uvicorn_has_what_the_protocol_uses() -> None:
    loaded = uvicorn.Config(hasty)
    loaded.load()
    async with serving(hasty) as server, server.connect() as (reader, writer):
        writer.write(GET)
        await answered(reader)
        [connection] = server.connections
        assert {name for name in OF_THE_PROTOCOL if not hasattr(connection, name)} == set()
        assert {name for name in OF_A_CYCLE if not hasattr(connection.cycle, name)} == set()
        assert {name for name in OF_THE_FLOW if not hasattr(connection.flow, name)} == set()
    assert hasattr(ServerState(), "default_headers")
    assert isinstance(loaded.encoded_headers, list)
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
    made = {name for name in used if name.startswith("_")} | {
        "check",
        "head_s",
        "large_bytes",
        "message_bytes",
        "watch",
    }
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
