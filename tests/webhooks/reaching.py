"""A service that may call a receiver on loopback."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from builders.app import Service
from tests.kit.outbound.receivers import OK, Receiver, calling, receiving, saying


@asynccontextmanager
async def reachable(service: Service) -> AsyncIterator[Receiver]:
    """A receiver that says 200 unless told otherwise; for the block, the service's client may call it."""
    state = service.api.state
    before = state.outbound
    async with receiving(saying(OK)) as receiver, calling(receiver) as outbound:
        state.outbound = outbound
        try:
            yield receiver
        finally:
            state.outbound = before
