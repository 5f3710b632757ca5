"""The processes that `builders serve` starts: `builders http` and `builders worker`."""

import asyncio
import socket
import sys

import click
import uvicorn

from builders import worker
from builders.app import Service, create_app, settle
from builders.cli import protocol
from builders.cli.session import connected, read_settings
from builders.kit.process import supervisor

# Of a connection, in the kernel, which else copies all of a large response for a client that reads nothing.
# Accepted sockets inherit it (Linux, tcp(7)).
UNSENT_BYTES = 128 * 1024
GRACE_S = 25  # for requests under way when a process is told to stop


class _Server(uvicorn.Server):
    """A server that lets the requests that wait for events go when it is told to stop."""

    def __init__(self, service: Service, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down in good order: without this, the grace period would be spent on requests that wait."""
        self._service.stop_waiting()
        await super().shutdown(sockets)


@click.command("http", hidden=True)
@click.option("--fd", type=int, required=True, help="The listening socket.")
def http_command(fd: int) -> None:
    """Answer HTTP; a child of `serve`."""
    supervisor.follow_parent()
    settings = read_settings()
    service = create_app(settings)
    server = _Server(
        service,
        uvicorn.Config(
            service,
            http=protocol.bounded(settings.body_limit, service.large_bodies),
            ws="none",
            log_config=None,  # ours: uvicorn's would show the tokens of mail links
            access_log=False,
            proxy_headers=False,  # kit/http/proxies.py: uvicorn's would believe 127.0.0.1 unasked
            server_header=False,
            timeout_keep_alive=65,  # longer than the idle time of a usual proxy
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
    """Run jobs and hand on events; `serve` starts one, more may be started anywhere."""
    supervisor.follow_parent()
    with connected(read_settings()) as settings:
        asyncio.run(worker.main(settings))
