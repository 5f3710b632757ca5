"""The checks of `builders doctor` of what runs: each process, and each server that a setting names.

A server is asked what its clients ask, within a time limit: a port that accepts connections proves nothing.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from builders.cli.doctor import Finding
from builders.kit.process.hosts import LocalListener, read_local_listener
from builders.kit.process.parts import Parts
from builders.kit.process.settings import Settings

WITHIN_S = 3.0
MAX_SHOWN = 80  # bytes of a reply
LOOK_UP = b"21:domain doctor.invalid,"  # a netstring of socketmap_table(5)
NOT_FOUND = b"9:NOTFOUND ,"
GREETING = b"220 "  # LMTP (RFC 2033)
ASK_METRICS = b"GET /metrics HTTP/1.0\r\n\r\n"
METRICS = b"HTTP/1.0 200 "


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    """A server, the setting that names its place, and the process of `serve` that it is a part of."""

    name: str
    setting: str
    place: LocalListener
    part: str
    request: bytes = b""
    end: bytes = b"\n"  # of its reply
    reply: bytes  # how a right one begins

    @property
    def where(self) -> str:
        """Return the place as text."""
        return self.place.path or f"{self.place.host} port {self.place.port}"


def run_checks(settings: Settings, running: Parts, *, within_s: float = WITHIN_S) -> Iterator[Finding]:
    """Yield a finding about the processes that run here, and one for each server that a setting names.

    A server has `within_s` from the connection to the end of its reply.
    """
    if running:
        yield check_processes(running)
    yield from asyncio.run(_check_servers(settings, running, within_s))


def check_processes(running: Parts) -> Finding:
    """Check that no process of `serve` keeps ending or is silent."""
    check = "processes"
    wrong = [f"{name} {trouble}" for name, trouble in sorted(running.items()) if trouble is not None]
    if not wrong:
        return Finding(check=check, ok=True, detail=f"{', '.join(running)} run.")
    action = "Read the log of `builders serve`: `child_died` and `child_silent` say why."
    return Finding(check=check, ok=False, detail=f"{'; '.join(wrong)}.", next_action=action)


def _list_servers(settings: Settings, running: Parts) -> Iterator[_Server]:
    if settings.lookup_listen is not None:
        yield _Server(
            name="look-up listener",
            setting="BUILDERS_LOOKUP_LISTEN",
            place=read_local_listener(settings.lookup_listen),
            part="lookup",
            request=LOOK_UP,
            end=b",",
            reply=NOT_FOUND,
        )
    if settings.filter_listen is not None:
        yield _Server(
            name="filter listener",
            setting="BUILDERS_FILTER_LISTEN",
            place=read_local_listener(settings.filter_listen),
            part="filter",
            reply=GREETING,
        )
    if settings.metrics_port is not None:
        yield _Server(
            name="metrics",
            setting="BUILDERS_METRICS_PORT",
            place=LocalListener(_reachable(settings.metrics_host), settings.metrics_port, ""),
            part=next(iter(running), ""),  # the parent of all processes serves them
            request=ASK_METRICS,
            reply=METRICS,
        )


def _reachable(host: str) -> str:
    """Return an address that reaches a server at a host; a wildcard cannot be connected to."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - not bound


async def _check_servers(settings: Settings, running: Parts, within_s: float) -> list[Finding]:
    servers = list(_list_servers(settings, running))
    return await asyncio.gather(*(_check(each, within_s, is_running=each.part in running) for each in servers))


async def _check(server: _Server, within_s: float, *, is_running: bool) -> Finding:
    log = "Read the log of `builders serve`"
    try:
        async with asyncio.timeout(within_s):
            reply = await _ask(server)
    except (FileNotFoundError, ConnectionRefusedError):
        detail = f"Nothing listens at {server.where}"
        if is_running:
            return Finding(
                check=server.name,
                ok=False,
                detail=f"{detail}, and {server.part} runs.",
                next_action=f"{log}, or restart it.",
            )
        return Finding(check=server.name, ok=True, detail=f"{detail}: no {server.part} of `serve` runs here.")
    except TimeoutError:
        detail = f"{server.where} accepts connections and does not answer within {within_s:g} s."
    except asyncio.LimitOverrunError:
        detail = f"The answer at {server.where} has no end."
    except (OSError, asyncio.IncompleteReadError) as error:
        detail = f"No answer at {server.where}: {getattr(error, 'strerror', None) or 'it closes the connection'}."
    else:
        if reply.startswith(server.reply):
            return Finding(check=server.name, ok=True, detail=f"It answers at {server.where}.")
        shown = reply[:MAX_SHOWN].decode(errors="replace").strip()
        detail = f"The answer at {server.where} is {shown!r}."
    action = f"{log}, or end the program that uses the place, or change {server.setting}."
    return Finding(check=server.name, ok=False, detail=detail, next_action=action)


async def _ask(server: _Server) -> bytes:
    """Return the reply of a server. Raise OSError, IncompleteReadError and LimitOverrunError."""
    place = server.place
    if place.path:
        reader, writer = await asyncio.open_unix_connection(place.path)
    else:
        reader, writer = await asyncio.open_connection(place.host, place.port)
    try:
        writer.write(server.request)
        await writer.drain()
        return await reader.readuntil(server.end)
    finally:
        writer.transport.abort()
