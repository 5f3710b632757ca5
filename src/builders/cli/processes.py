"""The processes that `builders serve` starts: `builders http` and `builders worker`."""

import asyncio
import socket
import sys

import click
import uvicorn

from builders import worker
from builders.app import Service, create_app, settle
from builders.cli import protocol, supervisor
from builders.cli.address import with_address
from builders.cli.session import alone, connected, read_settings

# Limit per connection in the kernel, which otherwise copies a large response for a client that does not read.
# Accepted sockets inherit it (Linux, tcp(7)).
UNSENT_BYTES = 128 * 1024
GRACE_S = 25  # for running requests when a process stops


class _Server(uvicorn.Server):
    """A server that ends long polls for events when it stops."""

    def __init__(self, service: Service, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End long polls, which would otherwise take the whole grace period, then shut down."""
        self._service.stop_waiting()
        await super().shutdown(sockets)


@click.command("http", hidden=True)
@click.option("--fd", type=int, required=True, help="The listening socket.")
def http_command(fd: int) -> None:
    """Serve HTTP, as a child of `serve`."""
    supervisor.follow_parent()
    settings = read_settings()
    service = create_app(settings)
    server = _Server(
        service,
        uvicorn.Config(
            service,
            http=protocol.bounded(settings.body_limit, service.large_bodies),
            ws="none",
            log_config=None,  # uvicorn's access log would contain tokens of email links
            access_log=False,
            proxy_headers=False,  # done by kit/http/middleware.py; uvicorn trusts 127.0.0.1 by default
            server_header=False,
            timeout_keep_alive=65,  # longer than the idle time of common proxies
            timeout_graceful_shutdown=GRACE_S,
        ),
    )
    listener = socket.socket(fileno=fd)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    settle()
    server.run(sockets=[listener])
    if not server.started:
        sys.exit(1)


@click.command("worker")
def worker_command() -> None:
    """Run jobs and dispatch events; `serve` starts one worker, and more can run on any host."""
    supervisor.follow_parent()
    given = with_address(read_settings())
    with connected(given) as settings, alone(given, "worker"):
        asyncio.run(worker.main(settings))
