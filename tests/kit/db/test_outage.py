"""The database is unavailable for a time: the service reports it and continues without a restart."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from pydantic import SecretStr

from builders.app import Service, create_app, lifespan
from builders.identity.records import Preset
from builders.kit.process.settings import Settings
from tests.cast import Client, Person, make_person
from tests.kit.db.proxy import DatabaseProxy
from tests.kit.scratch import until

POOL_TIMEOUT_S, LONG_S = 0.3, 30.0  # during an outage, and else: a busy machine connects late
NEW_KEY = {"label": "ci", "key_kind": "test", "preset": "developer_full"}


@pytest.fixture
async def proxy(conninfo: str) -> AsyncIterator[DatabaseProxy]:
    async with DatabaseProxy(conninfo) as proxy:
        yield proxy


@pytest.fixture
async def proxied(proxy: DatabaseProxy, settings: Settings) -> AsyncIterator[Service]:
    """The whole service with its database behind the proxy."""
    behind = {
        "database_url": SecretStr(proxy.conninfo),
        "pool_timeout_s": LONG_S,
        "pool_size": 4,
        "key_cache_s": 0,
    }
    app = create_app(settings.model_copy(update=behind))
    async with lifespan(app.api):
        yield app


@pytest.fixture
async def ada(proxied: Service) -> AsyncIterator[Person]:
    async with await make_person(proxied, name="ada", preset=Preset.DEVELOPER_FULL) as ada:
        yield ada


async def shut(service: Service, proxy: DatabaseProxy) -> None:
    service.api.state.database.pool.timeout = POOL_TIMEOUT_S
    await proxy.shut()


async def reopen(service: Service, proxy: DatabaseProxy) -> None:
    await proxy.open()
    service.api.state.database.pool.timeout = LONG_S


async def is_ready(client: Client) -> bool:
    return (await client.get("/readyz")).status_code == 200


async def all_succeed(client: Client) -> bool:
    """Whether more requests than the pool has connections succeed concurrently."""
    answers = await asyncio.gather(*(client.get("/v1/api-keys") for _ in range(12)))
    return {answer.status_code for answer in answers} == {200}


def assert_unavailable(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
    assert answer.headers["content-type"] == "application/problem+json"
    assert int(answer.headers["Retry-After"]) == answer.json()["retry_after"] > 0


async def test_without_the_database_requests_that_need_it_are_503_and_others_work(
    ada: Person, proxy: DatabaseProxy
) -> None:
    assert (await ada.get("/v1/api-keys")).status_code == 200
    await shut(ada.service, proxy)

    answers = [await ada.get("/v1/api-keys"), await ada.post("/v1/api-keys", json=NEW_KEY)]
    at_once = await asyncio.gather(*(ada.get("/v1/api-keys/scopes") for _ in range(20)))

    for answer in (*answers, *at_once):
        assert_unavailable(answer)
    assert (await ada.get("/livez")).status_code == (await ada.get("/health")).status_code == 200
    ready = await ada.get("/readyz")
    assert (ready.status_code, ready.json()["detail"]) == (503, "database: away")


async def test_the_service_recovers_when_the_database_is_back(ada: Person, proxy: DatabaseProxy) -> None:
    for _ in range(3):
        await shut(ada.service, proxy)
        assert_unavailable(await ada.get("/v1/api-keys"))
        assert not await is_ready(ada)
        await reopen(ada.service, proxy)
        await until(lambda: is_ready(ada))
        await until(lambda: all_succeed(ada))


async def test_no_request_meets_a_connection_that_a_restart_broke(ada: Person, proxy: DatabaseProxy) -> None:
    await asyncio.gather(*(ada.get("/v1/api-keys") for _ in range(12)))  # the pool of four is full now
    await proxy.shut()
    await proxy.open()

    found = [(await ada.get("/v1/api-keys")).status_code for _ in range(8)]

    assert found == [200] * 8


async def test_an_interrupted_write_can_be_repeated_with_its_key(ada: Person, proxy: DatabaseProxy) -> None:
    key = {"Idempotency-Key": "cut-off"}
    await shut(ada.service, proxy)
    assert_unavailable(await ada.post("/v1/api-keys", json=NEW_KEY, headers=key))
    await reopen(ada.service, proxy)
    await until(lambda: is_ready(ada))

    first = await ada.post("/v1/api-keys", json=NEW_KEY, headers=key)
    again = await ada.post("/v1/api-keys", json=NEW_KEY, headers=key)

    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json()["id"] == again.json()["id"]


async def test_the_service_starts_without_its_database_and_connects_later(
    proxy: DatabaseProxy, settings: Settings
) -> None:
    await proxy.shut()
    behind = {"database_url": SecretStr(proxy.conninfo), "pool_timeout_s": POOL_TIMEOUT_S}
    app = create_app(settings.model_copy(update=behind))
    async with lifespan(app.api), Client(app) as anyone:
        assert not await is_ready(anyone)
        await proxy.open()
        await until(lambda: is_ready(anyone))
