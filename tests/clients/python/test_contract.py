"""Each behavior of clients/contract.toml, for the Python client with and without `await`.

tests/clients/typescript/contract.test.ts runs the same table.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from builders_client import AsyncBuilders, Builders, Retries
from builders_client.problems import ApiError, BuildersError
from builders_client.webhooks import verify
from tests.clients.contract import CONTRACT, FAST, Seen, Stub, delivery
from tests.clients.python.far_end import answering

AT_ONCE = 8
BEHAVIORS: Sequence[Mapping[str, Any]] = CONTRACT["behaviors"]
CALLS: Mapping[str, Callable[[Builders], object]] = {
    "list": lambda client: client.projects.list_projects().first(),
    "pages": lambda client: list(client.projects.list_projects()),
    "read": lambda client: client.projects.get("id"),
    "twice": lambda client: (client.projects.get("id"), client.projects.get("id")),
    "create": lambda client: client.projects.create(name="Acme"),
    "change": lambda client: client.projects.update("id", name="Acme", if_match='"1"'),
    "delete": lambda client: client.portfolio.remove_domain("id"),
    "sign_in": lambda client: client.auth.request_login(email="ada@example.net"),
    "export": lambda client: client.portfolio.export_portfolio_csv(),
    "redirect": lambda client: client.auth.begin_at_issuer(issuer="i"),
}


async def _pages(client: AsyncBuilders) -> object:
    return [each async for each in client.projects.list_projects()]


async def _twice(client: AsyncBuilders) -> object:
    return await client.projects.get("id"), await client.projects.get("id")


ASYNC_CALLS: Mapping[str, Callable[[AsyncBuilders], Coroutine[Any, Any, object]]] = {
    "list": lambda client: client.projects.list_projects().first(),
    "pages": _pages,
    "read": lambda client: client.projects.get("id"),
    "twice": _twice,
    "create": lambda client: client.projects.create(name="Acme"),
    "change": lambda client: client.projects.update("id", name="Acme", if_match='"1"'),
    "delete": lambda client: client.portfolio.remove_domain("id"),
    "sign_in": lambda client: client.auth.request_login(email="ada@example.net"),
    "export": lambda client: client.portfolio.export_portfolio_csv(),
    "redirect": lambda client: client.auth.begin_at_issuer(issuer="i"),
}


@pytest.fixture
def stub() -> Iterator[tuple[Stub, str]]:
    """Return the far end and its address."""
    made = Stub()
    with answering(made.answer) as far_end:
        yield made, far_end.address


def options(number: int, address: str, run: str) -> dict[str, Any]:
    """Return the options of the client of a behavior."""
    retries = Retries(**FAST | BEHAVIORS[number].get("retries", {}))
    return {"api_key": "svc_live_key", "base_url": f"{address}/{number}/{run}", "retries": retries}


def seen_of(error: BuildersError) -> Seen:
    """Return what a failed call shows."""
    if isinstance(error, ApiError):
        return Seen(type(error).__name__, error.code, error.retry_after)
    return Seen(type(error).__name__)


def test_the_client_keeps_the_contract(stub: tuple[Stub, str]) -> None:
    far_end, address = stub

    def run(number: int) -> list[str]:
        with Builders(**options(number, address, "sync")) as client:
            try:
                CALLS[BEHAVIORS[number]["call"]](client)
            except BuildersError as error:
                return far_end.problems(number, seen_of(error), "sync")
            return far_end.problems(number, Seen("done"), "sync")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = list(pool.map(run, range(len(BEHAVIORS))))
    assert "\n".join(each for found in done for each in found) == ""


async def test_the_client_with_await_keeps_the_contract(stub: tuple[Stub, str]) -> None:
    far_end, address = stub
    places = asyncio.Semaphore(AT_ONCE)

    async def run(number: int) -> list[str]:
        async with places, AsyncBuilders(**options(number, address, "async")) as client:
            try:
                await ASYNC_CALLS[BEHAVIORS[number]["call"]](client)
            except BuildersError as error:
                return far_end.problems(number, seen_of(error), "async")
            return far_end.problems(number, Seen("done"), "async")

    done = await asyncio.gather(*map(run, range(len(BEHAVIORS))))
    assert "\n".join(each for found in done for each in found) == ""


def test_each_delivery_is_judged_as_the_contract_says() -> None:
    found = {}
    for each in map(delivery, CONTRACT["deliveries"]):
        try:
            verify(each["body"], each["headers"], each["secrets"], now=each["now"])
            outcome = "done"
        except BuildersError as error:
            outcome = type(error).__name__
        found[each["when"]] = outcome
    assert found == {each["when"]: each["outcome"] for each in CONTRACT["deliveries"]}
