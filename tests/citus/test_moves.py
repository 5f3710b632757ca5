"""Citus' own commands while the service writes: a shard is moved, and a node is added and gets shards."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr

from builders.app import Service, create_app, lifespan
from builders.identity.records import Preset
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from tests.cast import Person, make_person
from tests.citus import cluster
from tests.kit.scratch import until

SPARE = os.environ.get("BUILDERS_TEST_CITUS_SPARE")  # HOST:PORT of a server with the extension
PROJECTS = "/v1/builders/projects"
MOVE = """
    SELECT citus_move_shard_placement(
        get_shard_id_for_distribution_column('projects', %s::text), %s, %s, %s, %s, 'block_writes'
    )
"""
ADD = "SELECT citus_add_node(%s, %s)"
COPY = "SELECT replicate_reference_tables('block_writes')"
COUNT = "SELECT account_id, count(*) FROM projects GROUP BY 1"
PERSONS, AT_LEAST = 6, 20
Record = Callable[[str, object], None]


@dataclass(slots=True)
class Writer:
    """A person who creates projects one after the other, and repeats each request until it is acknowledged."""

    person: Person
    acknowledged: list[str] = field(default_factory=list)
    is_stopping: bool = False
    longest_s: float = 0.0

    async def run(self) -> None:
        """Write until told to stop."""
        while not self.is_stopping:
            key, began = ids.new().hex, clock.monotonic()
            while True:
                body, headers = {"name": f"a {key}"}, {"Idempotency-Key": key}
                answer = await self.person.post(PROJECTS, json=body, headers=headers)
                if answer.status_code == httpx.codes.CREATED:
                    break
                assert answer.status_code in {409, 503}, answer.text
                await asyncio.sleep(0.1)
            self.acknowledged.append(key)
            self.longest_s = max(self.longest_s, clock.monotonic() - began)


@pytest.fixture
async def distributed(url: str, settings: Settings) -> AsyncIterator[Service]:
    """Return a service on a database of its own, which can get further nodes."""
    with cluster.distributed_database(url) as conninfo:
        # The administrator of the tests is the role of the service.
        with psycopg.connect(conninfo, autocommit=True) as conn:
            names = map(sql.Identifier, (conn.info.user, conn.info.dbname))
            conn.execute(sql.SQL("ALTER ROLE {} IN DATABASE {} RESET ALL").format(*names))
        own = {"database_url": SecretStr(conninfo), "database_answer_timeout_s": 30.0, "statement_timeout_s": 30.0}
        app = create_app(settings.model_copy(update=own))
        async with lifespan(app.api):
            yield app


@asynccontextmanager
async def writing(service: Service, record: Record) -> AsyncIterator[Person]:
    """Write during the block; afterwards, each acknowledged row is there once."""
    made = [await make_person(service, name="one", preset=Preset.DEVELOPER_FULL) for _ in range(PERSONS)]
    writers = [Writer(each) for each in made]
    tasks = [asyncio.create_task(each.run()) for each in writers]
    await _wait_for(writers, AT_LEAST)
    yield made[0]
    await _wait_for(writers, sum(len(each.acknowledged) for each in writers) + AT_LEAST)
    for each in writers:
        each.is_stopping = True
    await asyncio.gather(*tasks)
    async with service.api.state.database.connection() as conn:
        found = dict(await (await conn.execute(COUNT)).fetchall())
    record("acknowledged", sum(len(each.acknowledged) for each in writers))
    record("longest, s", round(max(each.longest_s for each in writers), 1))
    assert found == {each.person.account.id: len(each.acknowledged) for each in writers}
    for person in made:
        await person.aclose()


async def _wait_for(writers: Sequence[Writer], count: int) -> None:
    async def is_reached() -> bool:
        return sum(len(each.acknowledged) for each in writers) >= count

    await until(is_reached)


def _connect(service: Service) -> psycopg.Connection:
    address = service.api.state.settings.database_url.get_secret_value()
    options = (
        "-c statement_timeout=0 -c lock_timeout=0"  # the administrator of the tests is the role of the service
    )
    return psycopg.connect(address, autocommit=True, options=options)


async def test_a_shard_is_moved_while_its_rows_are_written(
    distributed: Service, url: str, record_property: Record
) -> None:
    _, *workers = cluster.list_nodes(url)
    with _connect(distributed) as conn:
        async with writing(distributed, record_property) as person:
            home = cluster.node_of(conn, "projects", person.account.id)
            [other] = [node for node in workers if node != home]
            await asyncio.to_thread(conn.execute, MOVE, [str(person.account.id), *home, *other])
        assert cluster.node_of(conn, "projects", person.account.id) == other


@pytest.mark.skipif(SPARE is None, reason="BUILDERS_TEST_CITUS_SPARE names no further server")
async def test_a_node_is_added_and_gets_a_shard_while_rows_are_written(
    distributed: Service, url: str, record_property: Record
) -> None:
    assert SPARE is not None
    host, _, port = SPARE.rpartition(":")
    spare = (host, int(port))
    with _connect(distributed) as conn, psycopg.connect(cluster.on_node(url, spare), autocommit=True) as outside:
        name = sql.Identifier(conn.info.dbname)
        outside.execute(sql.SQL("CREATE DATABASE {}").format(name))
        try:
            with psycopg.connect(cluster.on_node(url, spare, dbname=conn.info.dbname), autocommit=True) as inside:
                inside.execute("CREATE EXTENSION citus")
            async with writing(distributed, record_property) as person:
                home = cluster.node_of(conn, "projects", person.account.id)
                await asyncio.to_thread(conn.execute, ADD, spare)
                await asyncio.to_thread(conn.execute, COPY)  # which `citus_rebalance_start` does itself
                await asyncio.to_thread(conn.execute, MOVE, [str(person.account.id), *home, *spare])
            assert cluster.node_of(conn, "projects", person.account.id) == spare
        finally:
            outside.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
