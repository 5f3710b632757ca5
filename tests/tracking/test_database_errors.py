"""Tracking without the database or a partition: recipients are served, and later events are recorded."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr

from builders.app import Service, create_app, lifespan
from builders.kit.db import partitions
from builders.kit.db.connections import Conn, Database
from builders.kit.process import metrics
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.tracking import jobs
from tests.cast import Client
from tests.kit.db.proxy import DatabaseProxy
from tests.kit.scratch import until
from tests.tracking.conftest import BROWSER, TARGET, FindEvents, SentMessage

pytestmark = pytest.mark.usefixtures("no_mail_jobs")


@pytest.fixture
async def proxy(conninfo: str) -> AsyncIterator[DatabaseProxy]:
    async with DatabaseProxy(conninfo) as proxy:
        yield proxy


@pytest.fixture
async def proxied_service(proxy: DatabaseProxy, settings: Settings) -> AsyncIterator[Service]:
    """Return a service whose database is behind the proxy."""
    behind = {"database_url": SecretStr(proxy.conninfo), "pool_timeout_s": 0.3, "pool_size": 4}
    app = create_app(settings.model_copy(update=behind))
    async with lifespan(app.api):
        await app.api.state.database.pool.wait()  # a busy machine connects late
        yield app


async def test_recipients_are_served_without_the_database(
    proxied_service: Service, proxy: DatabaseProxy, sent: SentMessage, find_events: FindEvents
) -> None:
    path, query = sent.click()
    async with Client(proxied_service) as recipient:
        await recipient.get(sent.pixel, headers=BROWSER)
        await proxy.shut()
        answers = await asyncio.gather(
            *(recipient.get(sent.pixel, headers=BROWSER) for _ in range(5)),
            *(recipient.get(path, params=query, headers=BROWSER) for _ in range(5)),
        )
        assert [each.status_code for each in answers] == [200] * 5 + [302] * 5
        assert {each.headers["Location"] for each in answers[5:]} == {TARGET}
        assert len(await find_events(sent)) == 1

        await proxy.open()

        async def is_counted() -> bool:
            await recipient.get(sent.pixel, headers=BROWSER)
            return len(await find_events(sent)) > 1

        await until(is_counted)


async def test_lost_events_are_counted_when_the_database_is_back(
    proxied_service: Service, proxy: DatabaseProxy, sent: SentMessage, database: Database
) -> None:
    await jobs.measure_losses(database)
    before = metrics.REGISTRY.get_sample_value("builders_tracking_lost") or 0
    async with Client(proxied_service) as recipient:
        await proxy.shut()
        for _ in range(3):
            await recipient.get(sent.pixel, headers=BROWSER)
        await proxy.open()

        async def is_stored() -> bool:
            await recipient.get(sent.pixel, headers=BROWSER)
            await jobs.measure_losses(database)
            return metrics.REGISTRY.get_sample_value("builders_tracking_lost") != before

        await until(is_stored)
    found = metrics.REGISTRY.get_sample_value("builders_tracking_lost")
    assert found is not None
    assert found - before >= 3


async def test_queued_events_are_written_at_shutdown(
    settings: Settings, sent: SentMessage, find_events: FindEvents
) -> None:
    app = create_app(settings)
    async with lifespan(app.api), Client(app) as recipient:
        requests = [asyncio.ensure_future(recipient.get(sent.pixel, headers=BROWSER)) for _ in range(20)]
        await asyncio.sleep(0)
        await asyncio.gather(*requests)
    assert len(await find_events(sent)) == 20


async def test_an_event_without_a_partition_is_written(
    anyone: Client, sent: SentMessage, find_events: FindEvents
) -> None:
    clock.move(timedelta(days=400))
    assert (await anyone.get(sent.pixel, headers=BROWSER)).status_code == 200
    assert [each["kind"] for each in await find_events(sent)] == ["open"]


async def test_the_retention_of_events_is_a_setting(conn: Conn, settings: Settings) -> None:
    declared = partitions._tables["tracking_hits"]
    assert declared.setting == "tracking_days"
    async with conn.transaction():
        await partitions.rotate_partitions(conn, settings)
    months: dict[str, list[str]] = dict(await (await conn.execute(partitions.LIST)).fetchall())
    names = months["tracking_hits"]
    present = datetime(clock.now().year, clock.now().month, 1, tzinfo=UTC)
    assert f"tracking_hits_{present:%Y_%m}" in names

    clock.move(timedelta(days=75))
    async with conn.transaction():
        await partitions.rotate_partitions(conn, settings.model_copy(update={"tracking_days": 90}))
        await partitions.rotate_partitions(conn, settings.model_copy(update={"tracking_days": 30}))
    months = dict(await (await conn.execute(partitions.LIST)).fetchall())
    names = months["tracking_hits"]
    assert f"tracking_hits_{present:%Y_%m}" not in names
    assert "tracking_hits_default" in names
