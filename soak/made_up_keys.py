"""Isolation from made-up API keys: 5,000 a second from the network of the other account."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

from builders.identity import keys
from builders.identity.records import KeyKind
from soak.scenario import Scenario, Target, client

RATE = 5_000  # requests in a second
CONNECTIONS = 1_000  # a refusal is held for a second, and its connection with it
PATH = "/v1/api-keys"


@asynccontextmanager
async def _attack(target: Target) -> AsyncIterator[None]:
    statuses = Counter[bytes]()
    loop, is_flooding = asyncio.get_running_loop(), asyncio.Event()
    begin, sent = loop.time(), 0

    async def send() -> None:
        nonlocal sent
        reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
        while True:
            sent += 1
            await asyncio.sleep(max(0.0, begin + sent / RATE - loop.time()))
            key = keys.generate_secret(KeyKind.LIVE, uuid4()).text
            writer.write(f"GET {PATH} HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n\r\n".encode())
            statuses[(await reader.read(65_536))[9:12]] += 1
            if statuses.total() == RATE:
                is_flooding.set()

    senders = [asyncio.ensure_future(send()) for _ in range(CONNECTIONS)]
    await is_flooding.wait()  # the network has exhausted its refusals, and all are connected
    try:
        yield
        async with client(target, target.hostile.test_key) as other:
            answer = await other.get(PATH)
        print(f"{sent / (loop.time() - begin):.0f} made-up keys a second: {statuses}", flush=True)
        print(f"a valid key of the network: {answer.status_code}", flush=True)
        assert answer.status_code == 200
    finally:
        for each in senders:
            each.cancel()
        await asyncio.gather(*senders, return_exceptions=True)


SCENARIOS = [
    Scenario(
        name="made_up_keys",
        description=f"{RATE:,} made-up keys a second from the network of the other account",
        attack=_attack,
        limits="20",
    )
]
