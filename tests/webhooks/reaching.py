"""A service that may call a receiver on loopback."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from builders.app import Service
from builders.kit.http.heavy_requests import HeavyLoop
from builders.kit.outbound.client import Outbound
from builders.webhooks import attempts
from tests.kit.outbound.receivers import OK, Receiver, calling, receiving, saying


@asynccontextmanager
async def calling_by(service: Service, outbound: Outbound, *, allow: str) -> AsyncIterator[None]:
    """For the block, the service calls by this client, and its second event loop by one that may reach `allow`."""
    state = service.api.state
    before = state.outbound, state.heavy
    opened = {"outbound_allow": (allow,), "base_url": "https://builders.test"}
    state.outbound, state.heavy = outbound, HeavyLoop(state.settings.model_copy(update=opened))
    try:
        yield
    finally:
        await state.heavy.close()
        state.outbound, state.heavy = before


@asynccontextmanager
async def reachable(service: Service) -> AsyncIterator[Receiver]:
    """A receiver that says 200 unless told otherwise; for the block, the service's clients may call it."""
    async with (
        receiving(saying(OK)) as receiver,
        calling(receiver) as outbound,
        calling_by(service, outbound, allow=f"127.0.0.1:{receiver.port}"),
    ):
        yield receiver


@pytest.fixture
def sending_threads(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The threads in which deliveries are sent."""
    found: set[int] = set()
    send = attempts.send_claim

    async def noted(*args: Any, **options: Any) -> Any:
        found.add(threading.get_ident())
        return await send(*args, **options)

    monkeypatch.setattr(attempts, "send_claim", noted)
    return found
