"""Isolation scenarios: a named attack on a running service, and its target."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A running HTTP process, and the credentials of an account other than the one whose latency is measured."""

    port: int
    receiver_port: int  # 127.0.0.1:receiver_port may be called by webhooks; nothing listens on it yet
    hostile_key: str  # live
    hostile_test_key: str
    conninfo: str
    data_dir: Path


Attack = Callable[[Target], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A line of the table.

    `attack` starts the hostile clients and yields once they are connected; its exit disconnects them. It runs in a
    process of its own, so that its own work does not delay the measuring client.
    """

    name: str
    description: str
    attack: Attack
