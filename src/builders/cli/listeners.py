"""The sockets of the servers for programs of this machine, such as the mail server.

`serve` binds them and does not listen: a connection is refused until a child can answer it (decision 0037).
"""

import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from builders.cli import ports
from builders.cli.session import fail
from builders.kit.process.hosts import LocalListener, read_local_listener
from builders.kit.process.settings import Settings

SOCKET_MODE = 0o660  # replies contain destinations: for the service's group, or that of the folder (setgid)


@contextmanager
def bound(settings: Settings, given: Mapping[str, socket.socket]) -> Iterator[Mapping[str, socket.socket]]:
    """Bind the sockets that settings name, unless they are given; yield them by the command that serves each."""
    with ExitStack() as stack:
        yield {
            command: stack.enter_context(
                given.get(command) or _bound(written, f"BUILDERS_{command.upper()}_LISTEN")
            )
            for command, written in (("lookup", settings.lookup_listen), ("filter", settings.filter_listen))
            if written is not None
        }


@contextmanager
def _bound(written: str, setting: str) -> Iterator[socket.socket]:
    """Bind a socket. A killed parent leaves its Unix socket behind."""
    place = read_local_listener(written)
    try:
        listener = ports.retry_in_use(lambda: _bind(place))
    except OSError as error:
        fail(f"Cannot listen on {setting}, {written}: {error.strerror}.")
    try:
        yield listener
    finally:
        listener.close()
        if place.path:
            Path(place.path).unlink(missing_ok=True)


def _bind(place: LocalListener) -> socket.socket:
    if not place.path:
        return ports.open_bound(place.host, place.port)
    path = Path(place.path)
    if path.is_socket() and not _is_used(place.path):
        path.unlink()
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(place.path)
    except OSError:
        listener.close()
        raise
    path.chmod(SOCKET_MODE)  # before it accepts connections
    return listener


def _is_used(path: str) -> bool:
    """Return whether a process listens on a Unix socket, or has bound it to do so."""
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(path) == 0:
            return True
    return any(str(each.laddr) == path for each in psutil.net_connections("unix"))
