"""Streamed responses are computed on the second loop."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from uuid import uuid4

from starlette.types import Message

from builders.app import Service
from builders.kit.db.connections import Database
from builders.kit.http.heavy_requests import HeavyStream
from tests.kit.asgi import request_scope


async def name_threads(database: Database) -> AsyncGenerator[str]:
    yield f"{threading.current_thread().name} "
    await database.ping()
    yield f"{threading.current_thread().name} "


async def test_parts_are_computed_on_the_second_loop_and_sent_from_the_main_loop(service: Service) -> None:
    sent: list[bytes] = []
    senders: set[threading.Thread] = set()

    async def send(message: Message) -> None:
        senders.add(threading.current_thread())
        sent.append(message.get("body", b""))

    stream = HeavyStream(name_threads, account_id=uuid4(), media_type="text/plain", headers={})
    scope = {**request_scope("GET", "/", ()), "app": service.api}

    async def receive() -> Message:
        await asyncio.Event().wait()
        return {}

    await stream(scope, receive, send)
    assert b"".join(sent) == b"heavy heavy "
    assert senders == {threading.current_thread()}
