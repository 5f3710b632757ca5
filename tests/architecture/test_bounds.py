"""A request computes a bounded amount, and nothing that it starts or keeps outlives it."""

from collections.abc import Iterable, Iterator

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from builders.app import ROUTERS
from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.http.compiled_routes import CompiledRoute
from builders.kit.http.heavy_requests import HeavyOperation, heavy
from tests.architecture import bounds
from tests.architecture.source import Rule, Source, breaches, source


@pytest.mark.parametrize("rule", [bounds.stray_thread, bounds.stray_stream, bounds.unbounded_cache])
def test_the_service_keeps_the_rule(rule: Rule, codebase: list[Source]) -> None:
    errors = breaches(rule, codebase)
    assert not errors, "\n".join(errors)


def test_every_exception_exists(codebase: list[Source]) -> None:
    threads = {str(file.path) for file in codebase if bounds.starts_thread(file)}
    caches = {name for file in codebase for name in bounds.cached_without_limit(file)}
    assert sorted(bounds.MAY_START_THREADS.keys() - threads) == []
    assert sorted(bounds.MAY_CACHE_ALL.keys() - caches) == []


@pytest.mark.parametrize(
    "text",
    [
        "await asyncio.to_thread(read, rows)",
        "loop.run_in_executor(None, read)",
        "pool = ThreadPoolExecutor(4)",
        "threading.Thread(target=read).start()",
    ],
)
def test_a_stray_thread_is_reported(text: str) -> None:
    file = source("builders/leads/service.py", f"async def send():\n    {text}\n")
    assert list(bounds.stray_thread(file)) != []


def test_a_stream_on_the_serving_loop_is_reported() -> None:
    file = source("builders/mail/api.py", "async def export():\n    return StreamingResponse(lines)\n")
    assert list(bounds.stray_stream(file)) != []


@pytest.mark.parametrize(
    ("decorator", "arguments", "is_refused"),
    [
        ("cache", "key", True),
        ("functools.cache", "*, key", True),
        ("lru_cache(maxsize=None)", "key", True),
        ("lru_cache(None)", "key", True),
        ("cache", "", False),
        ("lru_cache(maxsize=100)", "key", False),
        ("lru_cache", "key", False),  # 128 by default
    ],
)
def test_a_cache_without_a_limit_is_reported(decorator: str, arguments: str, is_refused: bool) -> None:
    file = source("builders/mail/service.py", f"@{decorator}\ndef find({arguments}):\n    pass\n")
    assert (list(bounds.unbounded_cache(file)) != []) is is_refused


def test_a_cached_method_without_a_limit_is_reported() -> None:
    file = source("builders/mail/service.py", "find = lru_cache(maxsize=None)(search)\n")
    assert list(bounds.unbounded_cache(file)) != []


# Heavy by the entries of a domain or the actions of a plan in the database; their bodies are no rows.
WITHOUT_ROWS = {"update_domain_finance", "record_domain_renewal", "decide"}


def heavy_operations(routes: Iterable[BaseRoute]) -> Iterator[CompiledRoute]:
    """Yield the operations that are marked heavy."""
    for route in routes:
        compiled = CompiledRoute(route) if isinstance(route, APIRoute) and _is_marked(route) else None
        if compiled is not None:
            yield compiled


def _is_marked(route: APIRoute) -> bool:
    return any(isinstance(each.call, HeavyOperation) for each in route.dependant.dependencies)


def early_connections(routes: Iterable[BaseRoute]) -> list[str]:
    """Return the heavy operations with a body that hold a connection while they read it into rows."""
    found = [
        each.call.__name__ for each in heavy_operations(routes) if each.has_body and each.dependencies.conn_name
    ]
    return [each for each in found if each not in WITHOUT_ROWS]


def test_a_heavy_operation_takes_no_connection_before_it_has_read_its_body() -> None:
    routes = [each for router in ROUTERS for each in router.routes]
    assert "import_portfolio" in {each.call.__name__ for each in heavy_operations(routes)}
    assert early_connections(routes) == []


async def in_transaction(body: dict[str, str], conn: Tx) -> None: ...


async def with_connection(body: dict[str, str], conn: Reads) -> None: ...


async def with_pool(body: dict[str, str], pool: Pool) -> None: ...


def test_a_heavy_operation_with_an_early_connection_is_reported() -> None:
    router = APIRouter()
    for handler in (in_transaction, with_connection, with_pool):
        router.add_api_route(f"/{handler.__name__}", handler, methods=["POST"], dependencies=[heavy()])
    assert early_connections(router.routes) == ["in_transaction", "with_connection"]
