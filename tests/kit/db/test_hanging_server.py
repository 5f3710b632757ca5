"""The database accepts connections and answers nothing: each request ends in time, and the service recovers."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from psycopg_pool import AsyncConnectionPool
from pydantic import SecretStr

from builders.app import Service, create_app, lifespan
from builders.identity.records import Preset
from builders.kit.db.connections import Conn, Database, DeadlineConnection, LivePool
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import make_person
from tests.kit.db.proxy import DatabaseProxy
from tests.kit.scratch import until

HANGING_S, LONG_S = 0.3, 30.0  # limits while the server hangs, and else: a busy machine answers late
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
        "database_answer_timeout_s": LONG_S,
        "pool_timeout_s": LONG_S,
        "pool_size": 4,
        "key_cache_s": 0,
    }
    app = create_app(settings.model_copy(update=behind))
    async with lifespan(app.api):
        yield app


@pytest.mark.parametrize("waited_s", [0.0, 1.9, 2.0, 2.5, 3.0])
async def test_waits_for_a_connection_and_a_result_are_at_most_twelve_seconds(
    conninfo: str, settings: Settings, waited_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = {name: Settings.model_fields[name].default for name in ("pool_timeout_s", "database_answer_timeout_s")}
    assert waited_s <= usual["pool_timeout_s"]
    own = settings.model_copy(update=usual)
    database = Database(conninfo, own, response_timeout_s=own.database_answer_timeout_s)
    await database.open()
    take = AsyncConnectionPool.getconn

    async def take_late(pool: AsyncConnectionPool[Conn], timeout: float) -> Conn:  # noqa: ASYNC109 - psycopg's own
        if pool is database.pool:  # background tasks of other tests' services take connections too
            clock.move(timedelta(seconds=waited_s))
        return await take(pool, timeout)

    try:
        monkeypatch.setattr(AsyncConnectionPool, "getconn", take_late)
        async with database.connection() as conn:
            assert isinstance(conn, DeadlineConnection)
            assert conn.deadline_s is not None
            assert 9 < waited_s + conn.deadline_s <= 12
    finally:
        await database.close()


async def test_requests_end_within_the_limit_and_the_pool_recovers(proxied: Service, proxy: DatabaseProxy) -> None:
    pool: LivePool = proxied.api.state.database.pool
    async with await make_person(proxied, name="ada", preset=Preset.DEVELOPER_FULL) as ada:
        proxy.hang()
        pool.timeout = pool.response_timeout_s = HANGING_S
        async with asyncio.timeout(LONG_S / 2):
            answers = await asyncio.gather(
                *(ada.get("/v1/me") for _ in range(6)),
                *(ada.post("/v1/api-keys", json=NEW_KEY) for _ in range(2)),
            )
        assert {each.status_code for each in answers} == {503}
        assert all(int(each.headers["Retry-After"]) > 0 for each in answers)
        proxy.resume()
        pool.timeout = pool.response_timeout_s = LONG_S

        async def is_back() -> bool:
            return (await ada.get("/v1/me")).status_code == 200

        await until(is_back)
        assert (await ada.post("/v1/api-keys", json=NEW_KEY)).status_code in {200, 201}
