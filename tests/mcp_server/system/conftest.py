"""Fixtures: where the servers listen."""

import socket
from collections.abc import Iterator

import pytest


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """Return a listening socket on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        yield bound
