"""Bodies within limits: of one, by its operation, and of all that a process holds."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message, Scope

from builders.kit.errors import BodyTooLarge
from builders.kit.http.body_limits import BODY_BUDGET, BodyBudget, Busy, LimitedRequest

TOTAL = 1000


class Upload:
    """A request whose body arrives when the test says so."""

    def __init__(
        self,
        budget: BodyBudget,
        *,
        limit: int | None = None,
        length: int | None = None,
        exceeds: bool = False,
    ) -> None:
        self._parts = asyncio.Queue[Message]()
        headers = [] if length is None else [(b"content-length", b"%d" % length)]
        scope: Scope = {"type": "http", "headers": headers, BODY_BUDGET: budget}
        self.request = LimitedRequest(scope, self._parts.get, self._send, limit=limit, exceeds=exceeds)
        self.reading = asyncio.create_task(self.request.body())

    async def _send(self, message: Message) -> None:
        raise AssertionError(message)

    async def part(self, size: int, *, more: bool = True) -> None:
        self._parts.put_nowait({"type": "http.request", "body": b"x" * size, "more_body": more})
        await self._settle()

    async def leave(self) -> None:
        self._parts.put_nowait({"type": "http.disconnect"})
        await self._settle()

    async def _settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.fixture
def budget() -> BodyBudget:
    return BodyBudget(limit=800, total=TOTAL)


@pytest.fixture
async def upload(budget: BodyBudget) -> AsyncIterator[Callable[..., Upload]]:
    made: list[Upload] = []

    def make(**given: Any) -> Upload:
        made.append(Upload(budget, **given))
        return made[-1]

    yield make
    for each in made:
        each.reading.cancel()
    await asyncio.gather(*(each.reading for each in made), return_exceptions=True)


async def test_a_body_counts_until_it_is_released(budget: BodyBudget, upload: Callable[..., Upload]) -> None:
    one = upload()
    await one.part(300)
    await one.part(200, more=False)
    assert (len(await one.reading), budget.held) == (500, 500)
    one.request.release()
    assert budget.held == 0


async def test_when_the_budget_is_exhausted_the_slowest_body_is_refused(
    budget: BodyBudget, upload: Callable[..., Upload]
) -> None:
    slow, slower, fast = upload(), upload(), upload()
    await slow.part(400)
    await slower.part(400)
    await fast.part(400, more=False)
    assert len(await fast.reading) == 400
    with pytest.raises(Busy) as refused:
        await slow.reading
    assert (refused.value.status, refused.value.headers["Retry-After"]) == (503, "2")
    assert not slower.reading.done()
    assert budget.held == 800


async def test_a_complete_body_is_never_refused(budget: BodyBudget, upload: Callable[..., Upload]) -> None:
    first, second = upload(), upload()
    await first.part(700, more=False)
    await second.part(700, more=False)
    assert len(await first.reading) == 700
    with pytest.raises(Busy):
        await second.reading
    second.request.release()
    assert budget.held == 700


async def test_a_disconnected_client_releases_its_bytes(budget: BodyBudget, upload: Callable[..., Upload]) -> None:
    one = upload()
    await one.part(500)
    await one.leave()
    with pytest.raises(ClientDisconnect):
        await one.reading
    one.request.release()
    assert budget.held == 0


async def test_a_cancellation_by_another_task_is_not_swallowed(upload: Callable[..., Upload]) -> None:
    one = upload()
    await one.part(500)
    one.reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await one.reading


async def test_an_operation_can_take_more_than_the_service(upload: Callable[..., Upload]) -> None:
    one = upload(limit=900, length=900, exceeds=True)
    await one.part(900, more=False)
    assert len(await one.reading) == 900
    with pytest.raises(BodyTooLarge, match="900 bytes"):
        await upload(limit=900, length=901, exceeds=True).reading
    with pytest.raises(BodyTooLarge, match="800 bytes"):
        await upload(limit=900, length=801).reading


async def test_a_body_is_refused_when_it_exceeds_its_limit(upload: Callable[..., Upload]) -> None:
    one = upload(limit=100)
    await one.part(60)
    await one.part(60)
    with pytest.raises(BodyTooLarge):
        await one.reading


async def test_a_content_length_over_the_limit_is_refused_at_once(upload: Callable[..., Upload]) -> None:
    with pytest.raises(BodyTooLarge):
        await upload(limit=100, length=101).reading
