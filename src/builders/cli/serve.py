"""`builders serve`, the parent process of `builders http`, `builders worker` and the servers of the mail server.

It also holds the sockets, so that a client of a process that is restarted waits and is not refused.

It does not import the service, which would take a second and a hundred megabytes.
"""

import http
import http.client
import math
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import click

from builders.cli import address, archiver, listeners, metrics, ports, supervisor, systemd
from builders.cli.children import Program
from builders.cli.session import (
    CannotStart,
    alone,
    connected,
    fail,
    note,
    on_database,
    prepare_database,
    read_settings,
    require_keys,
    require_migrated,
    require_rights,
)
from builders.kit.db import demand, rights
from builders.kit.process.parts import PartsFile
from builders.kit.process.settings import Settings
from builders.kit.values import clock

READY_WITHIN_S = 60.0
POLL_S = 0.05
LOG_DELAY_S = 0.2  # for the log lines of the start
BUILDERS = (sys.executable, "-P", "-m", "builders")  # -P: no module comes from the current folder
READY_RESPONSE_S = 5.0
ALIVE_RESPONSE_S = 2.0
ALIVE = b'{"status":"ok"}'
# Wildcard addresses cannot be connected to.
_CONNECT_TO = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - not bound


@click.command()
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 for a free one.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="HTTP processes.")
@click.option("--demo", is_flag=True, help="Load the demo catalog, accounts and portfolio on the first start.")
@click.option("--http-only", is_flag=True, help="Run no worker; another machine runs it.")
@click.option("--mail-only", is_flag=True, help="Run only the look-up server and the mail filter.")
@click.option("--worker-only", is_flag=True, help="Run only the worker, and the reader of the mail log.")
@click.option("--no-migrate", is_flag=True, help="Refuse to start on an empty database.")
def serve(
    host: str | None,
    port: int | None,
    workers: int,
    *,
    demo: bool,
    http_only: bool,
    mail_only: bool,
    worker_only: bool,
    no_migrate: bool,
) -> None:
    """Start the database, and run HTTP and the worker. Press Ctrl-C to stop it.

    An empty database gets the tables; one of another release is changed by `builders migrate` alone.

    SIGUSR1 replaces the processes one after the other, without a failed request.
    """
    if http_only + mail_only + worker_only > 1:
        raise click.UsageError("Choose one of --http-only, --mail-only and --worker-only.")
    settings, works = read_settings(host=host, port=port), not (http_only or mail_only)
    processes = [rights.WORKER] if worker_only else [rights.HTTP, *([rights.WORKER] if works else [])]
    with ExitStack() as sockets, ExitStack() as stack:
        given, listener = systemd.take_sockets(os.environ), None
        if not (mail_only or worker_only):
            listener, settings = _listen(settings, given.get("http"), sockets)
        others = {} if worker_only else sockets.enter_context(listeners.bound(settings, given))
        parts = PartsFile()
        ready = stack.enter_context(_prepared(settings, processes, creates=not no_migrate, parts_path=parts.path))
        environment = {**os.environ, **_environment(ready, is_embedded=settings.database_url is None)}
        environment |= stack.enter_context(metrics.served(settings, of_children=True))
        keys = _load_demo(environment) if demo else ""
        programs = _list_servers(workers, listener, others) + (_list_workers(ready, settings) if works else [])
        _require_places(ready, [each.name for each in programs], environment)
        parent = supervisor.Supervisor(
            programs,
            environment=environment,
            parts_file=parts,
            stop_timeout_s=supervisor.STOP_TIMEOUT_S + settings.drain_s,
            release=sockets.close,  # the children still accept connections
        )
        if listener:
            threading.Thread(target=_announce, args=(ready, keys, parent.stopping), daemon=True).start()
        try:
            parent.run()
        except supervisor.ChildRefused as error:
            raise CannotStart(str(error)) from None


@contextmanager
def _prepared(
    settings: Settings, processes: Sequence[str], *, creates: bool, parts_path: str
) -> Iterator[Settings]:
    """Start the database, and require that of this release for the processes; yield settings with it."""
    if settings.database_url is None:
        note(f"Starting PostgreSQL in {settings.data_dir} ...")
    with (
        connected(settings, migrated=False, watched=True) as ready,
        alone(settings, "serve"),
        address.kept(ready, parts_path=parts_path),
    ):
        note("Preparing the database ...")
        require_rights(ready, *processes)  # it reads the applied migrations too
        (prepare_database if creates else require_migrated)(ready)
        require_keys(ready)  # before children could create the keys concurrently
        yield ready


def _require_places(settings: Settings, parts: Sequence[str], environment: Mapping[str, str]) -> None:
    """End the command if what the processes need is missing: connections, other servers."""
    limit, _ = on_database(settings, demand.read_limit)
    if excess := demand.find_excess(parts, settings, limit):
        raise CannotStart(excess, next_action=demand.LOWER)
    if {"http-1", "worker"} & {*parts}:
        _require_servers(settings, environment)
    note(f"Starting {', '.join(parts)} ...")


def _require_servers(settings: Settings, environment: Mapping[str, str]) -> None:
    """End the command if the mail server or Stripe refuses the settings. Another process has what asks them."""
    if settings.smtp_url is None and settings.stripe_key is None:
        return
    tried = subprocess.run([*BUILDERS, "try-servers"], env=environment, check=False, start_new_session=True)  # noqa: S603 - our own command
    if tried.returncode:  # it has printed the reason
        sys.exit(max(tried.returncode, 1))  # a signal is negative


def _list_servers(
    workers: int, listener: socket.socket | None, others: Mapping[str, socket.socket]
) -> list[Program]:
    """Return the programs of the children that accept connections, with their sockets."""
    names = [] if listener is None else [f"http-{n}" for n in range(1, workers + 1)]
    programs = [_serving("http", name, listener, reports=True) for name in names if listener is not None]
    return [*programs, *(_serving(command, command, each) for command, each in others.items())]


def _serving(command: str, name: str, listener: socket.socket, *, reports: bool = False) -> Program:
    descriptor = listener.fileno()
    command_line = [*BUILDERS, command, "--fd", str(descriptor)]
    return Program(name=name, command=command_line, descriptors=[descriptor], reports=reports)


def _list_workers(settings: Settings, given: Settings) -> list[Program]:
    worker = Program(name="worker", command=[*BUILDERS, "worker", "--no-migrate"])  # the parent has checked it
    mail_log = Program(name="mail-log", command=[*BUILDERS, "mail-log"])
    return [worker, *([] if settings.mail_log is None else [mail_log]), *_list_archivers(given)]


def _list_archivers(settings: Settings) -> list[Program]:
    """Return the program that backs up the embedded database; end the command if it cannot work."""
    if settings.database_url is not None or settings.backup_to is None:
        return []
    archiver.read_public(settings)
    return [Program(name="backup", command=[*BUILDERS, "backup", "run"])]


def _bind(settings: Settings) -> socket.socket:
    """Return a socket that refuses connections until a child listens, which it does when it can answer."""
    try:
        return ports.bind(settings.host, settings.port)
    except ports.CannotListen as error:
        user = address.find_listener(settings.port) if error.is_in_use else None
        fail(str(error if user is None else error.by(address.name_of(user), user.pid)))


def _listen(settings: Settings, given: socket.socket | None, stack: ExitStack) -> tuple[socket.socket, Settings]:
    """Return the socket of HTTP, which systemd can give, and the settings with its place."""
    listener = stack.enter_context(given or _bind(settings))
    host, port = listener.getsockname()[:2]
    return listener, settings.model_copy(update={"host": host if given else settings.host, "port": port})


def _load_demo(environment: Mapping[str, str]) -> str:
    """Load the demo on the first start; return its keys, a line each."""
    note("Loading the demo catalog and accounts; the first start also draws its images ...")
    with subprocess.Popen(  # noqa: S603 - our own command
        [*BUILDERS, "demo"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that it receives SIGTERM from here and not also Ctrl-C of the terminal
    ) as loading:
        try:
            keys, _ = loading.communicate()
        except BaseException:  # on a signal: terminate it, so that it cleans up
            loading.terminate()
            loading.wait()
            raise
    if loading.returncode < 0:
        fail(f"The demo was not loaded: signal {-loading.returncode} ended the load. Start again.")
    if loading.returncode:  # it has printed the reason
        sys.exit(loading.returncode)
    return keys.rstrip("\n")


def _environment(settings: Settings, *, is_embedded: bool) -> Mapping[str, str]:
    """Return the settings that children inherit; they read the others from the environment and from files."""
    return {
        **({"BUILDERS_DATABASE_URL": settings.conninfo} if is_embedded else {}),
        "BUILDERS_DATA_DIR": str(settings.data_dir),
        "BUILDERS_HOST": settings.host,
        "BUILDERS_PORT": str(settings.port),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),  # children import the same modules
    }


def _announce(settings: Settings, keys: str, stopping: threading.Event) -> None:
    """Print where the service is, and the demo's keys, as soon as it answers."""
    deadline = clock.monotonic() + READY_WITHIN_S
    while not is_ready(settings.host, settings.port):
        if stopping.wait(POLL_S):
            return
        if clock.monotonic() > deadline:
            note(f"Builders does not respond at {settings.url} yet; see the log above.")
            deadline = math.inf
    stopping.wait(LOG_DELAY_S)
    note(_summary(settings, keys))


def _summary(settings: Settings, keys: str) -> str:
    """Return the block that ends the start: where the service is, and the demo's keys."""
    lines = [f"Builders responds at {settings.url} (documentation at {settings.url}/docs)"]
    if keys:
        lines += ["Demo keys, for the header X-API-Key:", keys]
    return "\n".join(("", *lines, "Press Ctrl-C to stop it.", ""))


def is_ready(host: str, port: int) -> bool:
    """Return whether the service answers requests."""
    status, _ = _get(host, port, "/readyz", within_s=READY_RESPONSE_S)
    return status == http.HTTPStatus.OK


def is_builders(host: str, port: int) -> bool:
    """Return whether a Builders service is alive there, ready or not."""
    return _get(host, port, "/livez", within_s=ALIVE_RESPONSE_S) == (http.HTTPStatus.OK, ALIVE)


def _get(host: str, port: int, path: str, *, within_s: float) -> tuple[int, bytes]:
    """Return the status and the first bytes of the response; 0 without a response."""
    connection = http.client.HTTPConnection(_CONNECT_TO.get(host, host), port, timeout=within_s)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read(len(ALIVE) + 1)
    except (OSError, UnicodeError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()
