"""Feed requests that wait for the next event."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from builders.app import Service
from builders.kit.db.connections import Database
from builders.kit.errors import DatabaseUnavailable
from builders.kit.values import ids
from builders.webhooks.events import WEBHOOK_DELETED
from builders.webhooks.feed import FeedWaiters
from builders.webhooks.store import events as store
from tests.cast import Person
from tests.webhooks.feeding import PATH, happen, read, seek_end, types

SOON_S = 15  # on a busy machine, and less than the waits


@pytest.fixture
def waiters(service: Service) -> FeedWaiters:
    found: FeedWaiters = service.api.state.feed_waiters
    return found


async def until(holds: Callable[[], bool]) -> None:
    """Wait until the condition holds; other tasks run meanwhile."""
    while not holds():  # noqa: ASYNC110 - nothing announces it
        await asyncio.sleep(0)


async def waiting(
    client: Person, cursor: str, waiters: FeedWaiters, **params: Any
) -> asyncio.Task[httpx.Response]:
    """Return a request that is waiting for an event."""
    count = waiters.count
    task = asyncio.create_task(client.get(PATH, params={"cursor": cursor, "wait": 20, **params}))
    await until(lambda: waiters.count > count or task.done())
    return task


async def test_a_reader_gets_an_event_when_it_comes(
    alice: Person, database: Database, waiters: FeedWaiters
) -> None:
    cursor = await seek_end(alice, database)
    task = await waiting(alice, cursor, waiters)
    await happen(database, alice.account.id)
    reply = await asyncio.wait_for(task, SOON_S)
    assert types(reply.json()) == ["alias.created"]
    assert waiters.count == 0


async def test_events_that_are_there_are_not_waited_for(alice: Person, database: Database) -> None:
    cursor = await seek_end(alice, database)
    await happen(database, alice.account.id)
    page = await asyncio.wait_for(read(alice, cursor, wait=20), SOON_S)
    assert types(page) == ["alias.created"]


async def test_an_event_of_another_type_or_account_does_not_end_the_wait(
    alice: Person, bob: Person, database: Database, waiters: FeedWaiters
) -> None:
    cursor = await seek_end(alice, database)
    task = await waiting(alice, cursor, waiters, types="alias.*")
    await happen(database, bob.account.id)
    await happen(database, alice.account.id, WEBHOOK_DELETED)
    await happen(database, alice.account.id)
    reply = await asyncio.wait_for(task, SOON_S)
    assert types(reply.json()) == ["alias.created"]
    assert types(await read(alice, reply.json()["resume_cursor"])) == []


async def test_a_wait_without_events_ends_with_an_empty_page(alice: Person, database: Database) -> None:
    cursor = await seek_end(alice, database)
    page = await read(alice, cursor, wait=1)
    assert (page["items"], page["next_cursor"], page["resume_cursor"]) == ([], None, cursor)


async def test_a_waiting_reader_holds_no_connection(
    alice: Person, database: Database, waiters: FeedWaiters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiters, "poll_interval_s", 3600)
    cursor = await seek_end(alice, database)
    held = database.held
    tasks = [await waiting(alice, cursor, waiters) for _ in range(3)]
    await until(lambda: database.held == held)  # after the first look
    assert waiters.count == 3
    waiters_task = waiters._looking
    assert waiters_task is not None
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert waiters.count == 0
    waiters_task.cancel()
    await asyncio.wait([waiters_task])


@pytest.mark.maximum("event_waiters")
async def test_more_waiting_readers_of_an_account_than_allowed_are_429(
    alice: Person, bob: Person, database: Database, waiters: FeedWaiters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiters, "max_account_waiters", 2)
    cursor, other = await seek_end(alice, database), await seek_end(bob, database)
    tasks = [await waiting(alice, cursor, waiters) for _ in range(2)]
    tasks.append(await waiting(bob, other, waiters))

    refused = await alice.get(PATH, params={"cursor": cursor, "wait": 20})

    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_waiters")
    assert refused.headers["retry-after"] == "1"
    assert (await read(alice, cursor))["items"] == []  # without waiting it is as ever
    await happen(database, alice.account.id)
    await happen(database, bob.account.id)
    assert [each.status_code for each in await asyncio.wait_for(asyncio.gather(*tasks), SOON_S)] == [200] * 3


async def test_more_waiting_readers_of_a_process_than_allowed_are_503(
    alice: Person, bob: Person, database: Database, waiters: FeedWaiters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiters, "max_waiters", 1)
    cursor, other = await seek_end(alice, database), await seek_end(bob, database)
    task = await waiting(alice, cursor, waiters)
    refused = await bob.get(PATH, params={"cursor": other, "wait": 20})
    assert (refused.status_code, refused.json()["code"]) == (503, "feed_busy")
    assert refused.headers["retry-after"] == "5"
    await happen(database, alice.account.id)
    assert (await asyncio.wait_for(task, SOON_S)).status_code == 200


async def test_a_reader_that_leaves_waits_no_longer(
    alice: Person, service: Service, database: Database, waiters: FeedWaiters
) -> None:
    cursor = await seek_end(alice, database)
    left, sent = asyncio.Event(), []
    parts = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Any:
        if parts:
            return parts.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    request = alice.build_request("GET", PATH, params={"cursor": cursor, "wait": 20})
    scope = {
        "type": "http",
        "method": "GET",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": request.url.query,
        "headers": [(name.lower().encode(), value.encode()) for name, value in request.headers.items()],
        "scheme": "http",
        "client": ("127.0.0.1", 1),
        "server": ("builders.test", 80),
    }
    task = asyncio.create_task(service(scope, receive, send))
    await until(lambda: waiters.count > 0 or task.done())
    left.set()
    await asyncio.wait_for(task, SOON_S)

    assert sent == []
    assert waiters.count == 0


@pytest.fixture
async def own(database: Database) -> AsyncIterator[FeedWaiters]:
    """Waiters for one test."""
    async with FeedWaiters(database) as waiters:
        yield waiters


async def test_a_stopping_process_ends_the_waits(own: FeedWaiters) -> None:
    task = asyncio.create_task(own.wait(ids.new(), after=0, timeout_s=20))
    await until(lambda: own.count > 0)
    own.close()
    assert await asyncio.wait_for(task, SOON_S) is False
    assert await own.wait(ids.new(), after=0, timeout_s=20) is False  # who comes later does not wait


async def test_waiting_ends_when_its_time_is_over(own: FeedWaiters) -> None:
    assert await own.wait(ids.new(), after=0, timeout_s=0.01) is False
    assert own.count == 0


async def test_an_unavailable_database_is_queried_again(
    own: FeedWaiters, alice: Person, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await seek_end(alice, database)
    own.poll_interval_s = 0.01
    real, failures = store.list_heads, [DatabaseUnavailable("away"), DatabaseUnavailable("away")]

    async def list_heads(conn: Any, *, account_ids: Any) -> Any:
        if failures:
            raise failures.pop()
        return await real(conn, account_ids=account_ids)

    monkeypatch.setattr(store, "list_heads", list_heads)
    assert await own.wait(alice.account.id, after=0, timeout_s=20) is True
    assert failures == []
