"""Fakes of registrars that the service may ask."""

from collections.abc import Iterator

import pytest

from builders.app import Service
from builders.kit.outbound.client import Outbound
from tests.portfolio.registrars.conftest import fakes, no_waits, outbound, reaching, worker

__all__ = ["fakes", "no_waits", "outbound", "reaching", "worker"]


@pytest.fixture
def reach(service: Service, outbound: Outbound) -> Iterator[Outbound]:
    """Let the service reach the fakes."""
    state = service.api.state
    before, state.outbound = state.outbound, outbound
    yield outbound
    state.outbound = before
