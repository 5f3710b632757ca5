"""Compare a distributed database with plain PostgreSQL: `python -m bench.citus [--rounds N]`.

Two services in this process with equal rows: one on the cluster of BUILDERS_TEST_CITUS_URL, one on
a database of its coordinator that is not distributed. Requests are sent one after the other, in turn to both; the
table has the medians.
"""

import argparse
import asyncio
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx
import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from builders.app import Service, create_app, lifespan
from builders.identity.records import Preset
from builders.kit.db import migrations
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.cast import make_person
from tests.citus import cluster
from tests.plans.make import PLAN, PROMOTE, Domains, alias, manifest, promotion_request

WARM_UP, LISTED = 10, 50
PROJECTS = "/v1/builders/projects"
Send = Callable[[], Awaitable[httpx.Response]]


@contextmanager
def plain_database(url: str) -> Iterator[str]:
    """Create a database of the coordinator without the extension."""
    name = f"bench_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        migrations.migrate(make_conninfo(url, dbname=name))
        yield make_conninfo(url, dbname=name)
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@dataclass(slots=True)
class Side:
    """A service, a client of an account with a live key and one with its test key."""

    live: httpx.AsyncClient
    test: httpx.AsyncClient
    domain: str
    project: str
    number: int = 0

    def requests(self) -> Iterator[tuple[str, Send]]:
        """Yield a request of each kind; the promotion is that of the plan before it."""
        self.number += 1
        local_part, plan = f"n{self.number}-{ids.new().hex[16:]}", dict[str, object]()

        async def make_plan() -> httpx.Response:
            body = manifest([alias(f"{local_part}@{self.domain}")], name=local_part)
            answer = await self.test.post(PLAN, json=body)
            plan.update(answer.json())
            return answer

        asked = {"domain": self.domain, "local_part": local_part}
        yield "a list of 50", lambda: self.live.get(PROJECTS, params={"limit": LISTED})
        yield "read of one", lambda: self.live.get(f"{PROJECTS}/{self.project}")
        yield "check of a free name", lambda: self.live.get("/v1/catalog/check", params=asked)
        yield "plan of a name", make_plan
        yield "promotion of a name", lambda: self.live.post(PROMOTE, json=promotion_request(plan))


@asynccontextmanager
async def opened(conninfo: str, folder: Path) -> AsyncIterator[Side]:
    """Run a service on a database, with what the requests read."""
    service: Service = create_app(Settings(database_url=conninfo, data_dir=folder, limits="off"))
    async with lifespan(service.api), AsyncExitStack() as stack:
        state = service.api.state
        domain = await Domains(state.database, folder=folder, assets=folder / "assets")()
        person = await make_person(service, name="bench", preset=Preset.DEVELOPER_FULL)
        await person.test.create_key()

        async def client(key: str) -> httpx.AsyncClient:
            transport = httpx.ASGITransport(app=service)
            headers = {"X-API-Key": key}
            made = httpx.AsyncClient(transport=transport, base_url="http://bench.example", headers=headers)
            return await stack.enter_async_context(made)

        live = await client(person.key)
        made = [await live.post(PROJECTS, json={"name": f"project {n}"}) for n in range(LISTED)]
        yield Side(live, await client(person.test.key), domain, made[0].json()["id"])
        await person.aclose()


async def measure(conninfos: Mapping[str, str], rounds: int) -> Mapping[str, Mapping[str, float]]:
    """Return the median of each request in ms, by the database."""
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    async with AsyncExitStack() as stack:
        sides = {}
        for name, conninfo in conninfos.items():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            sides[name] = await stack.enter_async_context(opened(conninfo, folder))
        for at in range(WARM_UP + rounds):
            for pair in zip(*(side.requests() for side in sides.values()), strict=True):
                for name, (kind, send) in zip(sides, pair, strict=True):
                    began = time.perf_counter()
                    answer = await send()
                    took = time.perf_counter() - began
                    assert answer.is_success, answer.text
                    if at >= WARM_UP:
                        times[kind][name].append(took * 1000)
    return {kind: {name: median(found) for name, found in each.items()} for kind, each in times.items()}


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description="A distributed database beside plain PostgreSQL.")
    parser.add_argument("--rounds", type=int, default=100)
    given = parser.parse_args()
    log.configure(level="error")
    if cluster.URL is None:
        parser.error("BUILDERS_TEST_CITUS_URL names no coordinator")
    with plain_database(cluster.URL) as plain, cluster.distributed_database(cluster.URL) as distributed:
        found = asyncio.run(measure({"plain": plain, "distributed": distributed}, given.rounds))
    print("| p50, ms | plain | distributed | ratio |\n|---|---|---|---|")
    for kind, each in found.items():
        ratio = each["distributed"] / each["plain"]
        print(f"| {kind} | {each['plain']:.1f} | {each['distributed']:.1f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
