"""The service itself is killed in the middle of promotions (script/soak does so for as long as one likes)."""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import Process, create_subprocess_exec
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx
import pytest

from builders.kit.db.connections import Conn
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.sandbox.make import PROMOTE, Json, alias, crew, events, order, plan

PLANS, NAMES = 12, 60


@pytest.fixture
async def child(settings: Settings) -> AsyncIterator[tuple[Process, httpx.AsyncClient]]:
    """One process that answers HTTP on the tests' database, and a client of it."""
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
            async with httpx.AsyncClient(base_url=base_url, timeout=30) as client:
                assert (await client.get("/livez")).status_code == httpx.codes.OK
                yield process, client
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def promote_all(alice: Person, plans: list[Json]) -> list[Json]:
    """Promote all of the plans; one that was cut off has to be asked for before the others can start."""
    promoted: dict[str, Json] = {}
    for _ in plans:
        for each in plans:
            if each["id"] not in promoted:
                answer = await alice.post(PROMOTE, json=order(each))
                if answer.status_code == 200:
                    promoted[each["id"]] = answer.json()
                else:
                    assert answer.json()["code"] == "promotion_running", answer.text
    assert len(promoted) == len(plans)
    return list(promoted.values())


async def test_promotions_of_a_killed_process_are_whole_when_asked_for_again(
    alice: Person, conn: Conn, domain: str, child: tuple[Process, httpx.AsyncClient]
) -> None:
    process, client = child
    names = crew(PLANS * NAMES, domain)
    plans = [
        await plan(alice, *map(alias, names[at * NAMES : (at + 1) * NAMES]), name=f"plan-{at}")
        for at in range(PLANS)
    ]

    async def ask(planned: Json) -> httpx.Response:
        return await client.post(PROMOTE, json=order(planned), headers={"X-API-Key": alice.key})

    asked = [asyncio.ensure_future(ask(each)) for each in plans]
    await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
    process.kill()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert any(isinstance(answer, httpx.TransportError) for answer in answers)  # else it died too late

    promoted = await promote_all(alice, plans)
    assert {each["status"] for each in promoted} == {"succeeded"}
    assert {step["attempts"] for each in promoted for step in each["steps"]} == {1}
    told = Counter(data.get("address", name) for name, data in await events(conn, alice))
    assert told == dict.fromkeys(names, 1) | {"promotion.completed": PLANS}
