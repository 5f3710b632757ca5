"""A primary and its standby: only a server that accepts writes is used, and the standby can replace it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from builders.app import create_app, lifespan
from builders.cli import doctor
from builders.kit.db import migrations
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from soak.replicas import ROLE, Pair, free_port, replicated
from tests.cast import Client
from tests.kit.db.test_synchronous_commit import make_key, say
from tests.kit.scratch import until

PATH = "/v1/builders/projects"
READ_ONLY = "ALTER DATABASE postgres SET default_transaction_read_only = on"
WRITABLE = "ALTER DATABASE postgres RESET default_transaction_read_only"
END_OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'builders'"
STORED = "SELECT FROM projects WHERE name = 'during a failover'"
ONLY_PRIMARY = "?target_session_attrs=read-write"

CONCURRENT = 10

MakeClient = Callable[..., Awaitable[Client]]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Run a migrated primary and its standby."""
    with replicated() as servers:
        migrations.migrate(servers.conninfo("postgres"))
        yield servers


@pytest.fixture
async def client_of(pair: Pair, tmp_path: Path) -> AsyncIterator[MakeClient]:
    """Return a function that makes clients, with a key, of services with a URL."""
    values = {"data_dir": tmp_path, "limits": "off", "pool_timeout_s": 0.5}
    database = Database(pair.primary.conninfo, Settings.model_validate(values))
    await database.open()
    secret = await make_key(database)
    await database.close()
    async with AsyncExitStack() as stack:

        async def make(url: str, *, is_there: bool = True) -> Client:
            service = create_app(Settings.model_validate(values | {"database_url": url}))
            await stack.enter_async_context(lifespan(service.api))
            if is_there:
                await service.api.state.database.pool.wait()  # a busy machine connects late
            return await stack.enter_async_context(Client(service, secret))

        yield make


def url_of(*ports: int, attributes: str = "") -> str:
    """Return a URL as the guide writes it."""
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    return f"postgresql://{ROLE}@{hosts}/postgres{attributes}"


async def create(client: Client, name: str = "Shop", *, key: str = "") -> httpx.Response:
    return await client.post(PATH, json={"name": name}, headers={"Idempotency-Key": key or ids.new().hex})


async def test_a_server_that_does_not_respond_is_passed_over(pair: Pair, client_of: MakeClient) -> None:
    client = await client_of(url_of(free_port(), pair.primary.port, attributes=ONLY_PRIMARY))

    assert (await create(client)).status_code == 201


async def test_a_standby_is_passed_over(pair: Pair, client_of: MakeClient) -> None:
    client = await client_of(url_of(pair.standby.port, pair.primary.port, attributes=ONLY_PRIMARY))

    assert (await create(client)).status_code == 201


async def test_no_request_reads_from_a_standby(pair: Pair, client_of: MakeClient) -> None:
    client = await client_of(url_of(pair.standby.port), is_there=False)

    answer = await client.get(PATH)

    assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")


def test_the_doctor_accepts_several_servers(pair: Pair) -> None:
    found = doctor.check_database(url_of(pair.standby.port, pair.primary.port, attributes=ONLY_PRIMARY))

    assert [each for each in found if not each.ok] == []


def test_the_doctor_reports_a_standby(pair: Pair) -> None:
    wrong = [each for each in doctor.check_database(url_of(pair.standby.port)) if not each.ok]

    assert ("rights", "The server is a read-only replica.") in {(each.check, each.detail) for each in wrong}


async def test_a_connection_that_cannot_write_is_replaced(pair: Pair, client_of: MakeClient) -> None:
    client = await client_of(pair.primary.conninfo)
    say(pair.primary.conninfo, READ_ONLY, END_OTHERS)
    try:
        refused = await create(client)
    finally:
        say(pair.primary.conninfo, "SET default_transaction_read_only = off", WRITABLE)

    async def every_connection_writes() -> bool:
        answers = await asyncio.gather(*(create(client) for _ in range(CONCURRENT)))
        return {each.status_code for each in answers} == {201}

    assert (refused.status_code, refused.json()["code"]) == (503, "database_unavailable")
    await until(every_connection_writes)


async def test_a_write_during_a_failover_is_there_once(pair: Pair, client_of: MakeClient) -> None:
    client, key = await client_of(pair.conninfo("postgres")), ids.new().hex
    assert (await create(client)).status_code == 201
    pair.kill_primary()
    refused = await create(client, "during a failover", key=key)
    await asyncio.to_thread(pair.recover)

    async def is_created() -> bool:
        return (await create(client, "during a failover", key=key)).status_code == 201

    assert refused.status_code == 503
    await until(is_created)
    await create(client, "during a failover", key=key)
    assert say(pair.primary.conninfo, STORED) == 1
