"""A receiver of webhooks."""

from collections.abc import AsyncIterator

import pytest

from builders.app import Service
from tests.kit.outbound.receivers import Receiver
from tests.webhooks.reaching import (
    reachable,
    sending_threads,  # noqa: F401 - a fixture
)


@pytest.fixture
async def receiver(service: Service) -> AsyncIterator[Receiver]:
    """A receiver on loopback that the service may call; it responds 200 unless a test changes that."""
    async with reachable(service) as receiver:
        yield receiver
