"""`builders http`, the process of `builders serve` that answers requests."""

import asyncio
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack

import click
import uvicorn

from builders.app import Service, create_app, lifespan, settle
from builders.cli import protocol, setting_files, traces
from builders.cli.session import fail, read_settings
from builders.kit.http.traced_requests import TracedRequests
from builders.kit.process import activity, supervision
from builders.kit.values import clock

# Limit per connection in the kernel, which otherwise copies a large response for a client that does not read.
# Accepted sockets inherit it (Linux, tcp(7)).
UNSENT_BYTES = 128 * 1024
GRACE_S = 25  # for running requests when a process stops
IDLE_S = 1.0  # of a connection that is closed when a process stops
TICK_S = 0.1
CLOSE = (b"connection", b"close")


class _Server(uvicorn.Server):
    """A server that listens when it can answer, and that stops without a failed request (decision 0037)."""

    def __init__(self, service: Service, config: uvicorn.Config, *, drain_s: float) -> None:
        super().__init__(config)
        self._service, self._drain_s = service, drain_s
        self._open = AsyncExitStack()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the service, then listen, then tell the parent."""
        # Not by uvicorn, which would log a traceback at each start and keep the error.
        await self._open.enter_async_context(lifespan(self._service.api))
        await super().startup(sockets)
        self._open.enter_context(supervision.beating("http"))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the connections, then close the service."""
        await super().shutdown(sockets)
        await self._open.aclose()

    async def main_loop(self) -> None:
        """Serve until a signal, and then for the drain time, while /readyz sends balancers elsewhere."""
        await super().main_loop()
        self._service.drain()
        self.config.encoded_headers.append(CLOSE)
        await self.on_tick(0)
        for connection in self._connections():
            connection.announce_close(self.server_state.default_headers)
        await self._serve_until(clock.monotonic() + self._drain_s, lambda: False)
        for server in self.servers:
            server.close()
        self._service.stop_waiting()
        # A connection without a request for this time has probably none on its way.
        await self._serve_until(clock.monotonic() + IDLE_S, lambda: not self.server_state.connections)

    async def _serve_until(self, deadline: float, is_over: Callable[[], bool]) -> None:
        while clock.monotonic() < deadline and not self.force_exit and not is_over():
            await asyncio.sleep(TICK_S)
            await self.on_tick(0)

    def _connections(self) -> Iterator[protocol.Protocol]:
        return (each for each in self.server_state.connections if isinstance(each, protocol.Protocol))


@click.command("http", hidden=True)
@click.option("--fd", type=int, required=True, help="The bound socket.")
def http_command(fd: int) -> None:
    """Serve HTTP, as a child of `serve`."""
    settings = read_settings()
    setting_files.require(settings)
    service = create_app(settings)
    config = uvicorn.Config(
        service if settings.traces_to is None else TracedRequests(service, settings.trusted_proxies),
        lifespan="off",
        http=protocol.bounded(settings.body_limit, service.large_bodies),
        ws="none",
        log_config=None,  # uvicorn's access log would contain tokens of email links
        access_log=False,
        proxy_headers=False,  # done by kit/http/middleware.py; uvicorn trusts 127.0.0.1 by default
        server_header=False,
        timeout_keep_alive=65,  # longer than the idle time of common proxies
        timeout_graceful_shutdown=GRACE_S,
    )
    server = _Server(service, config, drain_s=settings.drain_s)
    listener = socket.socket(fileno=fd)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    service.prepare()
    settle()
    try:
        with activity.shown(settings.data_dir, "http"), traces.exported(settings, "http"):
            server.run(sockets=[listener])
    except OSError as error:
        fail(f"Cannot listen on {settings.host}:{settings.port}: {error.strerror}.")
    if not server.started:
        sys.exit(1)
