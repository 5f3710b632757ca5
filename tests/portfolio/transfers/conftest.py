"""Fakes of registrars that the service may ask."""

from collections.abc import Iterator

import pytest
import stamina

from builders.app import Service
from builders.kit.outbound.client import Outbound
from tests.portfolio.registrars.conftest import fakes, outbound

__all__ = ["fakes", "outbound"]


@pytest.fixture(autouse=True)
def no_waits() -> Iterator[None]:
    with stamina.set_testing(True, attempts=3, cap=True):
        yield


@pytest.fixture
def reach(service: Service, outbound: Outbound) -> Iterator[Outbound]:
    """Let the service reach the fakes."""
    state = service.api.state
    before, state.outbound = state.outbound, outbound
    yield outbound
    state.outbound = before
