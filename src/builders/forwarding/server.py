"""The look-up server: it answers a mail server from the database, in two protocols of Postfix.

A request of socketmap_table(5) is a netstring with the name of a map and a key; its reply is a netstring, too. A
request of the policy protocol is lines of attributes (`policy`). The first byte tells which it is, a digit or a
letter. A malformed or too large request ends its connection, and so does one that is not complete in time. The
mail server then defers the mail.
"""

import asyncio
import signal
import socket
from collections.abc import Awaitable
from contextlib import suppress
from time import perf_counter

import psycopg

from builders.forwarding import maps, policy, role
from builders.forwarding.recipients import Recipients
from builders.kit.db import restores
from builders.kit.db.connections import Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.process import log, metrics, supervision
from builders.kit.process.settings import Settings

MAX_REQUEST = 4096  # bytes of the content
BACKLOG = 2048  # connections that wait while the process is restarted
MAX_CONNECTIONS = 200  # further ones wait until one of these ends
IDLE_S = 5.0  # from a reply to the end of the next request
ANSWER_S = 5.0  # of the database
ACCEPT_PAUSE_S = 0.1  # after a failure such as too many open files
GRANT_PAUSE_S = 5.0
OTHER = "other"  # a map that does not exist, in metrics
POLICY = "policy"  # questions about sender and recipient, in metrics

LOOKUPS = metrics.counter("builders_lookups", "Look-ups of the mail server, by map and reply.", ["map", "reply"])
DURATION = metrics.histogram(
    "builders_lookup_seconds",
    "Time of a look-up, by map.",
    ["map"],
    buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5),
)
CONNECTIONS = metrics.total("builders_lookup_connections", "Open connections of the mail server.")

_log = log.get_logger()


class Malformed(Exception):
    """The bytes are no request, or too many."""


async def _read_until(reader: asyncio.StreamReader, end: bytes) -> bytes:
    try:
        return await reader.readuntil(end)
    except asyncio.LimitOverrunError:
        raise Malformed from None


async def read_request(reader: asyncio.StreamReader, begun: bytes = b"") -> bytes:
    """Return the content of the next netstring, after the bytes that are read of it.

    Raise Malformed, and IncompleteReadError at the end.
    """
    digits = (begun + await _read_until(reader, b":"))[:-1]
    if not digits.isdigit() or len(digits) > len(str(MAX_REQUEST)) or int(digits) > MAX_REQUEST:
        raise Malformed
    *content, end = await reader.readexactly(int(digits) + 1)
    if end != ord(b","):
        raise Malformed
    return bytes(content)


def netstring(text: str) -> bytes:
    """Return the text as a netstring."""
    content = text.encode()
    return b"%d:%s," % (len(content), content)


class LookupServer:
    """Listens on a bound socket, accepts connections and answers their requests."""

    def __init__(self, recipients: Recipients, *, idle_s: float = IDLE_S) -> None:
        self._recipients, self._idle_s = recipients, idle_s
        self.may_answer = True  # False: the mail server defers the mail
        self._places = asyncio.Semaphore(MAX_CONNECTIONS)
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, listener: socket.socket) -> None:
        """Serve until the task is cancelled; then end all connections."""
        listener.listen(BACKLOG)
        listener.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            while True:
                await self._places.acquire()
                try:
                    connection, _ = await loop.sock_accept(listener)
                except OSError as error:
                    self._places.release()
                    _log.warning("lookup_not_accepted", error=error.strerror)
                    await asyncio.sleep(ACCEPT_PAUSE_S)
                    continue
                task = asyncio.create_task(self._serve(connection))
                self._tasks.add(task)
                task.add_done_callback(self._end)
        finally:
            for task in self._tasks:
                task.cancel()

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._places.release()
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("lookup_connection_failed", exc_info=error)

    async def _serve(self, connection: socket.socket) -> None:
        """Answer the requests of a connection, one after the other."""
        reader, writer = await asyncio.open_connection(sock=connection, limit=MAX_REQUEST)
        with (
            CONNECTIONS.track_inprogress(),
            suppress(Malformed, OSError, asyncio.IncompleteReadError),
        ):
            try:
                while True:
                    async with asyncio.timeout(self._idle_s):
                        await writer.drain()
                        first = await reader.readexactly(1)
                        is_map = first.isdigit()
                        if not (is_map or first.islower()):
                            raise Malformed
                        request = await (read_request(reader, first) if is_map else _read_until(reader, b"\n\n"))
                    if is_map:
                        writer.write(netstring(await self.answer(request)))
                    else:
                        writer.write(policy.format_action(await self.decide(first + request)))
            finally:
                writer.transport.abort()  # not close: a peer that does not read would hold the connection

    async def answer(self, request: bytes) -> str:
        """Return the reply to a request; TEMP if the database has no answer."""
        name, _, key = request.partition(b" ")
        look_up = maps.MAPS.get(label := name.decode("ascii", "replace"))
        if look_up is None:
            LOOKUPS.labels(OTHER, "TEMP").inc()
            return maps.NO_MAP
        if not self.may_answer:
            return maps.TRY_LATER
        return await _measure(label, maps.reply(look_up, self._recipients, key), otherwise=maps.TRY_LATER)

    async def decide(self, request: bytes) -> str:
        """Return the action for a sender and a recipient. Raise Malformed."""
        attributes = policy.read_attributes(request)
        if attributes is None:
            raise Malformed
        if not self.may_answer:
            return policy.TRY_LATER
        return await _measure(
            POLICY, policy.reply_policy(self._recipients, attributes), otherwise=policy.TRY_LATER
        )


async def _measure(label: str, asked: Awaitable[str], *, otherwise: str) -> str:
    """Return a reply, `otherwise` if the database has none; count it."""
    began = perf_counter()
    try:
        reply = await asked
    except (DatabaseUnavailable, DatabaseBusy):
        reply = otherwise
    except psycopg.Error as error:  # such as a missing permission
        _log.error("lookup_failed", error=str(error))
        reply = otherwise
    DURATION.labels(label).observe(perf_counter() - began)
    LOOKUPS.labels(label, reply.partition(" ")[0]).inc()
    return reply


async def main(settings: Settings, listener: socket.socket) -> None:
    """Answer the mail server until SIGTERM. Raise RoleUnusable."""
    # Past a pooler: its sessions have a role, and plans that are kept.
    direct = settings.database_direct_url
    conninfo = settings.conninfo if direct is None else direct.get_secret_value()
    own = {"statement_timeout_s": ANSWER_S, "pool_timeout_s": ANSWER_S, "database_pooled": False}
    database = Database(conninfo, settings.model_copy(update=own), response_timeout_s=ANSWER_S, role=role.NAME)
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    server = LookupServer(Recipients(database, operator=settings.postmaster))
    server.may_answer = await _prepare(conninfo)
    await database.open()
    serving = asyncio.create_task(server.run(listener))
    waiting = asyncio.create_task(stopping.wait())
    granting = asyncio.create_task(_prepare_later(conninfo, server))
    _log.info("lookup_server_started")
    with supervision.beating("lookup"):
        await asyncio.wait([serving, waiting, granting], return_when=asyncio.FIRST_COMPLETED)
    for task in (serving, granting):
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    await database.close()


async def _prepare_later(conninfo: str, server: LookupServer) -> None:
    """Let the server answer as soon as it may, and then wait; before that each reply is TEMP."""
    while not server.may_answer:
        await asyncio.sleep(GRANT_PAUSE_S)
        server.may_answer = await _prepare(conninfo)
    await asyncio.Event().wait()


async def _prepare(conninfo: str) -> bool:
    """Grant the role its table; return whether the database answers, and is no restored one that nobody accepted.

    Raise RoleUnusable.
    """
    try:
        async with await psycopg.AsyncConnection.connect(conninfo, connect_timeout=5) as conn:
            found = await restores.read(conn)
            await role.grant(conn)
    except (psycopg.Error, OSError) as error:
        _log.error("lookup_role_unusable", error=str(error))
        return False
    return found.is_accepted
