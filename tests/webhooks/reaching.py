"""Let the service call a receiver on loopback."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from builders.app import Service
from builders.kit.http.heavy_requests import HeavyLoop
from builders.kit.outbound.client import Outbound
from builders.webhooks import deliveries
from tests.kit.outbound.receivers import OK, Receiver, calling, receiving, saying


@asynccontextmanager
async def calling_by(service: Service, outbound: Outbound, *, allow: str) -> AsyncIterator[None]:
    """Within the context, the service uses this client; its second event loop uses one that may call `allow`."""
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
    """A receiver that answers 200 by default; within the context, the service may call it."""
    async with (
        receiving(saying(OK)) as receiver,
        calling(receiver) as outbound,
        calling_by(service, outbound, allow=f"127.0.0.1:{receiver.port}"),
    ):
        yield receiver


@pytest.fixture
def sending_threads(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Record the threads that send deliveries."""
    found: set[int] = set()
    send = deliveries.send_claim

    async def noted(*args: Any, **options: Any) -> Any:
        found.add(threading.get_ident())
        return await send(*args, **options)

    monkeypatch.setattr(deliveries, "send_claim", noted)
    return found
