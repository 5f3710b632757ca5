"""`builders serve` and its children, `builders http` and `builders worker`."""

import asyncio
import errno
import os
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence

import click
import uvicorn

from builders import worker
from builders.app import create_app, settle
from builders.cli import asking, protocol
from builders.cli import demo as demos
from builders.cli.session import connected, conninfo_of, fail, note, read_settings
from builders.demo.records import DemoKey
from builders.kit import clock, crypto, supervisor
from builders.kit.settings import Settings

BACKLOG = 2048
GRACE_S = 25  # for requests under way when a process is told to stop
READY_WITHIN_S = 60.0
PATIENCE_S = 2.0  # for the children of a killed parent, who hold its port for a moment
GLANCE_S = 0.05


@click.command()
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="HTTP processes.")
@click.option("--demo", is_flag=True, help="Load the demo catalog and accounts on the first start.")
def serve(host: str | None, port: int | None, workers: int, *, demo: bool) -> None:
    """Start everything: database, migrations, HTTP and the worker. Ctrl-C stops it."""
    settings = read_settings(host=host, port=port)
    with _listen(settings) as listener:
        settings = settings.model_copy(update={"port": listener.getsockname()[1]})
        with connected(settings, watched=True) as ready:
            _have_keyring(ready)
            keys = demos.set_up_demo(ready) if demo else []
            parent = supervisor.Supervisor(
                _programs(listener.fileno(), workers), environment={**os.environ, **_environment(ready)}
            )
            threading.Thread(target=_announce, args=(ready, keys, parent.stopping), daemon=True).start()
            parent.run()


@click.command("http", hidden=True)
@click.option("--fd", type=int, required=True, help="The listening socket.")
def http_command(fd: int) -> None:
    """Answer HTTP; a child of `serve`."""
    supervisor.follow_parent()
    settings = read_settings()
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(settings),
            http=protocol.bounded(settings.body_limit),
            ws="none",
            log_config=None,  # ours: uvicorn's would show the tokens of mail links
            access_log=False,
            proxy_headers=False,  # kit/proxies.py: uvicorn's would believe 127.0.0.1 unasked
            server_header=False,
            timeout_keep_alive=65,  # longer than the idle time of a usual proxy
            timeout_graceful_shutdown=GRACE_S,
        )
    )
    settle()
    server.run(sockets=[socket.socket(fileno=fd)])
    if not server.started:
        sys.exit(1)


@click.command("worker")
def worker_command() -> None:
    """Run jobs and hand on events; `serve` starts one, more may be started anywhere."""
    supervisor.follow_parent()
    with connected(read_settings()) as settings:
        asyncio.run(worker.main(settings))


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    give_up = clock.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
        except (OSError, UnicodeError) as error:
            if getattr(error, "errno", None) == errno.EADDRINUSE and clock.monotonic() < give_up:
                time.sleep(GLANCE_S)
                continue
            # The socket module adds the address to the words of the system.
            reason = str(getattr(error, "strerror", error)).partition(" (while ")[0]
            fail(
                f"Cannot listen on {settings.host}:{settings.port}: {reason}. "
                "Choose another by --port or BUILDERS_PORT, or stop what listens there."
            )


def _have_keyring(settings: Settings) -> None:
    """Has the secret keys there before two children could both want to make them."""
    try:
        crypto.keyring_of(settings)
    except ValueError as error:
        fail(f"The secret keys will not do: {error}")
    except OSError as error:
        fail(f"Cannot keep the secret keys in {settings.data_dir}: {error.strerror}. Set BUILDERS_DATA_DIR.")


def _programs(listener: int, workers: int) -> list[supervisor.Program]:
    us = [sys.executable, "-P", "-m", "builders"]  # -P: no module comes from the current folder
    answering = [*us, "http", "--fd", str(listener)]
    return [
        *(
            supervisor.Program(name=f"http-{n}", command=answering, descriptors=[listener])
            for n in range(1, workers + 1)
        ),
        supervisor.Program(name="worker", command=[*us, "worker"]),
    ]


def _environment(settings: Settings) -> Mapping[str, str]:
    """What the children need to know of the parent's settings; they read the rest where it did."""
    return {
        "BUILDERS_DATABASE_URL": conninfo_of(settings),
        "BUILDERS_DATA_DIR": str(settings.data_dir),
        "BUILDERS_HOST": settings.host,
        "BUILDERS_PORT": str(settings.port),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),  # and ours from where we found them
    }


def _announce(settings: Settings, keys: Sequence[DemoKey], stopping: threading.Event) -> None:
    """Says where the service listens once it answers."""
    deadline = clock.monotonic() + READY_WITHIN_S
    while not asking.is_ready(settings.host, settings.port):
        if stopping.wait(GLANCE_S):
            return
        if clock.monotonic() > deadline:
            note(f"Builders does not answer at {settings.url} yet; the log above says why.")
            return
    note(f"Builders answers at {settings.url} (documents at {settings.url}/docs)")
    if keys:
        note(f"Demo keys, for the header X-API-Key:\n{demos.describe(keys)}")
