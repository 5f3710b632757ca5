"""Fakes of registrars."""

from collections.abc import AsyncIterator, Iterator

import pytest
import stamina

from builders.app import Service
from builders.demo.registrars.fake import FakeServer
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.kit.values import clock


@pytest.fixture(scope="module")
def fakes() -> Iterator[FakeServer]:
    with FakeServer() as server:
        yield server


@pytest.fixture(scope="module")
def reaching(fakes: FakeServer) -> Settings:
    """Settings of a client that may reach the fakes; they take longer to read than most requests to a fake."""
    return Settings.model_validate({"outbound_allow": [fakes.address]})


@pytest.fixture
async def outbound(reaching: Settings) -> AsyncIterator[Outbound]:
    """A client that may reach the fakes."""
    async with Outbound(reaching) as client:
        yield client


@pytest.fixture
def worker(settings: Settings, fakes: FakeServer) -> Settings:
    """Settings of a worker that may reach the fakes; its jobs end in one time slice, also on a busy machine."""
    return settings.model_copy(update={"outbound_allow": (fakes.address,), "worker_slice_s": 60.0})


@pytest.fixture(autouse=True)
def no_waits() -> Iterator[None]:
    """Try again at once."""
    with stamina.set_testing(True, attempts=3, cap=True):
        yield


@pytest.fixture
def calls_fakes(service: Service, outbound: Outbound) -> Iterator[None]:
    """Let the service under test call the fakes."""
    state = service.api.state
    before, state.outbound = state.outbound, outbound
    yield
    state.outbound = before


@pytest.fixture
def noon() -> None:
    """Let it be noon in UTC, so that half a day before and after is the same day there."""
    clock.move(clock.now().replace(hour=12, minute=0, second=0, microsecond=0) - clock.now())
