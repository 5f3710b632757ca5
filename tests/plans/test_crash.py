"""A promotion survives a crash at every statement, and a killed process: the next call completes it once."""

import asyncio
import os
import random
import socket
import sys
from asyncio.subprocess import Process, create_subprocess_exec
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import httpx
import pytest

from builders.aliases import claims
from builders.aliases.records import AliasSpec, PriceInterval
from builders.kit.db.connections import Conn, Database
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from builders.kit.values.money import Money
from tests.cast import Person
from tests.plans.failures import FaultyProxy, is_interrupted, stride
from tests.plans.make import (
    PROMOTE,
    Json,
    alias,
    list_events,
    make_addresses,
    plan,
    promote,
    promotion_request,
)

STATEMENTS, COMMITS = 200, 12  # more than a promotion has
STRIDE = stride(12)


class Manifests:
    """Manifests that each change, claim, replace and release a name."""

    def __init__(self, person: Person, conn: Conn, domain: str) -> None:
        self.person, self.conn, self.domain = person, conn, domain

    def address(self, local_part: str, at: str) -> str:
        return f"{local_part}{at}@{self.domain}"

    async def prepare(self, *tags: str) -> None:
        """Create the existing names of all manifests at once."""
        specs = [
            AliasSpec(
                id=ids.new(),
                domain=self.domain,
                local_part=f"{key}{tag}",
                key=f"{key}{tag}",
                skeleton=f"{key}{tag}",
                destinations=["ada@example.net"],
                enabled=True,
                note=None,
                labels={},
                manifest=f"of-{tag}",
                manifest_key=key,
                price=Money.of("12.00", "USD"),
                interval=PriceInterval.YEAR,
            )
            for tag in tags
            for key in ("changed", "replaced", "dropped")
        ]
        async with self.conn.transaction():
            await claims.create_aliases(self.conn, account_id=self.person.account.id, specs=specs)

    async def plan(self, tag: str) -> Json:
        """Plan one of the manifests."""
        return await plan(
            self.person,
            alias(f"changed{tag}@{self.domain}", "new@example.net", key="changed"),
            alias(f"created{tag}@{self.domain}", key="created"),
            alias(f"other{tag}@{self.domain}", key="replaced"),
            name=f"of-{tag}",
            prune=True,
        )

    async def check(self, *tags: str) -> None:
        """Assert that each change happened and was published once."""
        for tag in tags:
            assert (await self.plan(tag))["status"] == "empty"
        published = Counter(
            (data["manifest"], name, data.get("address", "").partition("@")[0])
            for name, data in await list_events(self.conn, self.person)
            if data["manifest"].removeprefix("of-") in tags
        )
        assert published == {each: 1 for tag in tags for each in self._expected_events(tag)}

    @staticmethod
    def _expected_events(tag: str) -> Iterator[tuple[str, str, str]]:
        for key in ("changed", "replaced", "dropped", "created", "other"):
            yield f"of-{tag}", "alias.created", f"{key}{tag}"
        yield f"of-{tag}", "alias.updated", f"changed{tag}"
        yield f"of-{tag}", "alias.deleted", f"replaced{tag}"
        yield f"of-{tag}", "alias.deleted", f"dropped{tag}"
        yield f"of-{tag}", "promotion.completed", ""


@pytest.fixture
def manifests(alice: Person, conn: Conn, domain: str) -> Manifests:
    """Return the manifests of Alice."""
    return Manifests(alice, conn, domain)


async def test_it_survives_a_crash_before_any_statement(
    manifests: Manifests, proxied_database: Database, proxy: FaultyProxy
) -> None:
    places = range(random.randint(1, STRIDE), STATEMENTS, STRIDE)  # noqa: S311 - a place to start
    tags = [f"s{at}" for at in places]
    await manifests.prepare(*tags)
    for at, tag in zip(places, tags, strict=True):
        planned = await manifests.plan(tag)
        proxy.set(before=at)
        await is_interrupted(proxied_database, manifests.person, planned)  # not by a lost BEGIN, which is repeated
        if not proxy.is_broken:
            break
        again = await promote(manifests.person, planned)
        assert (again["status"], again["summary"]) == ("succeeded", {"succeeded": 4})
    assert not proxy.is_broken
    assert at > 50
    await manifests.check(*tags[: places.index(at) + 1])


async def test_it_survives_a_crash_after_any_commit(
    manifests: Manifests, proxied_database: Database, proxy: FaultyProxy
) -> None:
    """The commit succeeded without a response; the next call must not repeat it."""
    tags = [f"c{at}" for at in range(1, COMMITS)]
    await manifests.prepare(*tags)
    for at, tag in enumerate(tags, start=1):
        planned = await manifests.plan(tag)
        proxy.set(after_commit=at)
        if not await is_interrupted(proxied_database, manifests.person, planned):
            break
        again = await promote(manifests.person, planned)
        assert [step["attempts"] for step in again["steps"]] == [1, 1, 1, 1]
    assert not proxy.is_broken
    assert proxy.commits == 5  # start, four kinds of action; the last batch completes it
    await manifests.check(*tags[:at])


PLANS, NAMES = 12, 60


@pytest.fixture
async def child(settings: Settings) -> AsyncIterator[tuple[Process, httpx.AsyncClient]]:
    """Start a process that serves HTTP on the database of the tests, and a client."""
    assert settings.database_url is not None
    with socket.create_server(("127.0.0.1", 0)) as listener:
        environment = {
            **os.environ,
            "BUILDERS_DATABASE_URL": settings.database_url.get_secret_value(),
            "BUILDERS_DATA_DIR": str(settings.data_dir),
            "BUILDERS_LOG_LEVEL": "error",
        }
        command = [sys.executable, "-m", "builders", "http", "--fd", str(listener.fileno())]
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        process = await create_subprocess_exec(*command, env=environment, pass_fds=[listener.fileno()])
        try:
            async with httpx.AsyncClient(base_url=base_url, timeout=120) as client:
                assert (await client.get("/livez")).status_code == httpx.codes.OK
                yield process, client
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def promote_all(alice: Person, plans: list[Json]) -> list[Json]:
    """Promote all of the plans; an interrupted promotion must complete before others can start."""
    promoted: dict[str, Json] = {}
    for _ in plans:
        for each in plans:
            if each["id"] not in promoted:
                answer = await alice.post(PROMOTE, json=promotion_request(each))
                if answer.status_code == 200:
                    promoted[each["id"]] = answer.json()
                else:
                    assert answer.json()["code"] == "promotion_running", answer.text
    assert len(promoted) == len(plans)
    return list(promoted.values())


async def test_promotions_of_a_killed_process_complete_on_retry(
    alice: Person, conn: Conn, domain: str, child: tuple[Process, httpx.AsyncClient]
) -> None:
    process, client = child
    names = make_addresses(PLANS * NAMES, domain)
    plans = [
        await plan(alice, *map(alias, names[at * NAMES : (at + 1) * NAMES]), name=f"plan-{at}")
        for at in range(PLANS)
    ]

    async def ask(planned: Json) -> httpx.Response:
        return await client.post(PROMOTE, json=promotion_request(planned), headers={"X-API-Key": alice.key})

    asked = [asyncio.ensure_future(ask(each)) for each in plans]
    await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
    process.kill()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert any(
        isinstance(answer, httpx.TransportError) for answer in answers
    )  # otherwise the process stopped too late

    promoted = await promote_all(alice, plans)
    assert {each["status"] for each in promoted} == {"succeeded"}
    assert {step["attempts"] for each in promoted for step in each["steps"]} == {1}
    published = Counter(data.get("address", name) for name, data in await list_events(conn, alice))
    assert published == dict.fromkeys(names, 1) | {"promotion.completed": PLANS}
