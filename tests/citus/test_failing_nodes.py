"""A database node that dies or is frozen: what goes on meanwhile, and what is there afterwards."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import httpx
import psycopg
import pytest

from builders.app import Service, create_app, lifespan
from builders.identity.records import Preset
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from tests.cast import Person, make_person
from tests.citus import cluster
from tests.plans.make import PLAN, PROMOTE, Domains, alias, manifest, promotion_request

pytestmark = [
    pytest.mark.skipif(cluster.NODE_COMMAND is None, reason="BUILDERS_TEST_CITUS_NODE names no command"),
    pytest.mark.usefixtures("_whole"),
]
PEOPLE = 6  # of each node
READS = 10
PROJECTS = "/v1/builders/projects"
PREPARED = "SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()"
# Sessions of the coordinator keep connections to the nodes, and fail once with those that have ended.
END_SESSIONS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'builders'
"""
COUNT = "SELECT count(*) FROM projects"
RECOVER = "SELECT recover_prepared_transactions()"
HELD = "SELECT account_id, local_part || '@' || domain FROM aliases WHERE domain = ANY(%s)"
OWNERS = "SELECT account_id, alias_id FROM aliases_names WHERE domain = ANY(%s) AND state = 'claimed'"
ROWS = "SELECT account_id, id FROM aliases WHERE domain = ANY(%s)"
DELIVERIES = "SELECT count(*) FROM webhooks_deliveries WHERE status = 'cancelled'"
WITHIN_S = 60
Node = tuple[str, int]


@pytest.fixture
async def impatient(settings: Settings) -> AsyncIterator[Service]:
    """Return a service whose requests end after a few seconds, as those of a deployment do."""
    app = create_app(settings.model_copy(update={"database_answer_timeout_s": 5.0, "key_cache_s": 0}))
    async with lifespan(app.api):
        yield app


async def spread(service: Service, admin: psycopg.Connection) -> Mapping[Node, Sequence[Person]]:
    """Return people by the node of their accounts."""
    found: dict[Node, list[Person]] = defaultdict(list)
    while len(found) < 2 or min(map(len, found.values())) < PEOPLE:
        person = await make_person(service, name="one", preset=Preset.DEVELOPER_FULL)
        found[cluster.node_of(admin, "projects", person.account.id)].append(person)
    return found


async def find_domain(domains: Domains, admin: psycopg.Connection, node: Node) -> str:
    """Return a domain of the catalog whose names are on a node."""
    while cluster.node_of(admin, "aliases_names", domain := await domains()) != node:
        pass
    return domain


async def until_back(admin: psycopg.Connection) -> None:
    """Wait until the coordinator reaches all nodes, and settle what they have prepared."""
    deadline = clock.monotonic() + WITHIN_S
    while True:
        try:
            admin.execute("SELECT citus_check_cluster_node_health()")
            admin.execute(COUNT)
            admin.execute(RECOVER)
        except psycopg.Error:
            assert clock.monotonic() < deadline
            await asyncio.sleep(0.2)
        else:
            return


@pytest.fixture
def _whole(admin: psycopg.Connection, sweeper: psycopg.Connection) -> Iterator[None]:
    """Let other tests begin with sessions that reach all nodes."""
    yield
    admin.execute(END_SESSIONS)
    with suppress(psycopg.Error):
        sweeper.execute(COUNT)


async def claim(person: Person, domain: str) -> Sequence[httpx.Response]:
    """Plan and promote a name once; return the responses."""
    # The destination too: whether it is a name of the service is asked of the shard of its domain.
    wanted = alias(f"n-{ids.new().hex[16:]}@{domain}", f"ada@{domain}")
    planned = await person.post(PLAN, json=manifest([wanted]))
    if planned.status_code != httpx.codes.OK:
        return [planned]
    return [planned, await person.post(PROMOTE, json=promotion_request(planned.json()))]


async def test_accounts_of_other_nodes_go_on_while_a_node_is_dead(
    impatient: Service, domains: Domains, admin: psycopg.Connection, url: str
) -> None:
    _, alive, dead = cluster.list_nodes(url)
    people = await spread(impatient, admin)
    domain = await find_domain(domains, admin, alive)
    cluster.change("kill", dead)
    try:
        living = people[alive][:PEOPLE]
        reads = await asyncio.gather(*(each.get(PROJECTS) for each in living for _ in range(READS)))
        claims = [answer for each in living for answer in await claim(each, domain)]
        badly = await asyncio.gather(*(each.get(PROJECTS) for each in people[dead][:PEOPLE]))
    finally:
        cluster.change("start", dead)
        await until_back(admin)
    for answers in (reads, claims):
        failed = [each.text for each in answers if each.is_error or '"status":"failed"' in each.text]
        assert len(failed) <= 0.05 * len(answers), failed
    assert {each.status_code for each in badly} == {503}
    assert all(each.headers["Retry-After"] for each in badly)


@dataclass(slots=True)
class Writer:
    """A person who claims names one after the other, and repeats each request until it is acknowledged."""

    person: Person
    domain: str
    acknowledged: list[str] = field(default_factory=list)
    is_stopping: bool = False
    longest_s: float = 0.0

    async def run(self) -> None:
        """Write until told to stop."""
        while not self.is_stopping:
            address, key = f"n-{ids.new().hex[16:]}@{self.domain}", ids.new().hex
            began = clock.monotonic()
            planned = await self._send(PLAN, manifest([alias(address)], name=key))
            if planned is None:
                continue
            promoted = await self._send(PROMOTE, promotion_request(planned.json()), key=key)
            if promoted is not None and promoted.json()["status"] == "succeeded":
                self.acknowledged.append(address)
                self.longest_s = max(self.longest_s, clock.monotonic() - began)

    async def _send(self, path: str, body: object, *, key: str | None = None) -> httpx.Response | None:
        """Send a request until it is acknowledged; None if it is refused for good."""
        headers = {"Idempotency-Key": key} if key else {}
        deadline = clock.monotonic() + WITHIN_S
        while clock.monotonic() < deadline:
            answer = await self.person.post(path, json=body, headers=headers)
            if answer.is_success:
                return answer
            if answer.status_code not in {503, 429} and answer.json()["code"] != "idempotency_key_in_flight":
                return None
            await asyncio.sleep(0.2)
        raise AssertionError(answer.text)


@pytest.mark.parametrize(("hurt", "heal"), [("kill", "start"), ("freeze", "thaw")])
async def test_what_is_acknowledged_is_there_once_after_a_node_failed_between_the_phases(
    impatient: Service,
    domains: Domains,
    admin: psycopg.Connection,
    url: str,
    hurt: str,
    heal: str,
    record_property: Callable[[str, object], None],
) -> None:
    _, one, other = cluster.list_nodes(url)
    people = [each for listed in (await spread(impatient, admin)).values() for each in listed[:4]]
    places = [await find_domain(domains, admin, node) for node in (one, other)]
    writers = [Writer(each, places[at % 2]) for at, each in enumerate(people)]
    tasks = [asyncio.create_task(each.run()) for each in writers]
    node, interrupted = cluster.on_node(url, other, dbname=admin.info.dbname), 0
    for _ in range(6):
        await _until_prepared(node)
        await asyncio.to_thread(cluster.change, hurt, other)
        await asyncio.sleep(2)
        await asyncio.to_thread(cluster.change, heal, other)
        interrupted += await asyncio.to_thread(
            _count_prepared, cluster.on_node(url, other, dbname=admin.info.dbname)
        )
        await until_back(admin)
        await asyncio.sleep(1)
    for each in writers:
        each.is_stopping = True
    await asyncio.gather(*tasks)
    await until_back(admin)

    acknowledged = sorted((writer.person.account.id, name) for writer in writers for name in writer.acknowledged)
    held = admin.execute(HELD, [places]).fetchall()
    owners, rows = (admin.execute(statement, [places]).fetchall() for statement in (OWNERS, ROWS))
    record_property("acknowledged", len(acknowledged))
    record_property("prepared when the node came back", interrupted)
    record_property("longest claim, s", max(each.longest_s for each in writers))
    assert len(acknowledged) > 20
    assert [each for each in acknowledged if held.count(each) != 1] == []
    assert sorted(owners) == sorted(rows)  # no half is left, and a name has one owner
    assert admin.execute(DELIVERIES).fetchone() == (0,)


async def _until_prepared(node: str) -> None:
    async with await psycopg.AsyncConnection.connect(node, autocommit=True) as conn:
        deadline = clock.monotonic() + 20
        while clock.monotonic() < deadline:
            if await (await conn.execute(PREPARED)).fetchone() != (0,):
                return


def _count_prepared(node: str) -> int:
    deadline = clock.monotonic() + WITHIN_S
    while True:
        try:
            with psycopg.connect(node, autocommit=True) as conn:
                [found] = conn.execute(PREPARED).fetchall()
                return int(found[0])
        except psycopg.Error:
            assert clock.monotonic() < deadline
