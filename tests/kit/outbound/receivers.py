"""Servers on loopback with scripted responses, and a client that may call them."""

import asyncio
import os
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from builders.kit.outbound import connections
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from tests.kit.scratch import until

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
Answer = Callable[[Reader, Writer], Awaitable[None]]
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


class Receiver:
    """A server, and what came to it."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.port = 0
        self.greeting = b""  # said before anything is asked
        self.requests: list[bytes] = []
        self.connections = 0
        self.tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def head(self) -> Mapping[str, str]:
        """Header fields of the last request, with small letters."""
        lines = self.requests[-1].split(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        return {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}

    @property
    def body(self) -> bytes:
        return self.requests[-1].split(b"\r\n\r\n", 1)[1]

    async def is_left_alone(self) -> bool:
        """Whether nobody of this process is connected to it."""
        await asyncio.sleep(0)  # so that the event loop closes abandoned connections
        return connections_to(self.port) == 0

    def meet(self, reader: Reader, writer: Writer) -> None:
        self.connections += 1
        task = asyncio.ensure_future(self._serve(reader, writer))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _serve(self, reader: Reader, writer: Writer) -> None:
        try:
            writer.write(self.greeting)
            with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                while not reader.at_eof():
                    self.requests.append(await request(reader))
                    await self.answer(reader, writer)
                    await writer.drain()
        finally:
            if writer.transport is not None:
                writer.transport.abort()


async def request(reader: Reader) -> bytes:
    """One request with its body. Raises IncompleteReadError at the end."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = _LENGTH.search(head)
    return head + await reader.readexactly(int(length[1]) if length else 0)


@asynccontextmanager
async def receiving(
    answer: Answer, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Receiver]:
    """A running server; at its end nobody is connected to it any more."""
    receiver = Receiver(answer)
    server = await asyncio.start_server(receiver.meet, host, 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
        await until(receiver.is_left_alone)
    finally:
        server.close()
        for task in list(receiver.tasks):
            task.cancel()
        await asyncio.gather(*receiver.tasks, return_exceptions=True)
        await server.wait_closed()


def connections_to(port: int) -> int:
    """Sockets of this process that are connected, or being connected, to the port."""
    gone = {psutil.CONN_TIME_WAIT, psutil.CONN_CLOSE, psutil.CONN_NONE}
    found = psutil.Process().net_connections("tcp")
    return sum(1 for each in found if each.raddr and each.raddr.port == port and each.status not in gone)


def deafen(writer: Writer) -> None:
    """Has the server read no more of this connection, not even that it is closed."""
    assert isinstance(writer.transport, asyncio.Transport)
    writer.transport.pause_reading()


def saying(*parts: bytes, close: bool = True) -> Answer:
    """An answer of fixed bytes."""

    async def answer(reader: Reader, writer: Writer) -> None:
        del reader
        for part in parts:
            writer.write(part)
            await writer.drain()
        if close:
            writer.close()

    return answer


@asynccontextmanager
async def calling(
    *receivers: Receiver, names: tuple[str, ...] = (), ca: Path | None = None
) -> AsyncIterator[Outbound]:
    """A client that may reach the receivers by 127.0.0.1 and by these names; leaves no task behind."""
    hosts = ("127.0.0.1", *names)
    allow = tuple(f"{host}:{receiver.port}" for host in hosts for receiver in receivers)
    async with Outbound(
        Settings(outbound_allow=allow, outbound_ca=ca, base_url="https://builders.test")
    ) as outbound:
        before = asyncio.all_tasks()
        yield outbound
    own = [task for task in asyncio.all_tasks() - before if "/tests/" not in repr(task)]
    assert [task for task in own if "aiohttp" in repr(task) or "guard" in repr(task)] == []


def forget_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has clients trust none of the system's authorities: to read them takes longer than most tests."""
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)


@contextmanager
def resolving(monkeypatch: pytest.MonkeyPatch, **names: list[str]) -> Iterator[list[str]]:
    """Names (with _ for the dot) and what they resolve to; gives the list of names asked for."""
    asked: list[str] = []
    known = {name.replace("_", "."): found for name, found in names.items()}

    async def ask(host: str, **_: object) -> list[str]:
        asked.append(host)
        return known.get(host, [])

    with monkeypatch.context() as patched:
        patched.setattr(connections, "query_dns", ask)
        patched.setattr(connections, "query_system", ask)
        yield asked
