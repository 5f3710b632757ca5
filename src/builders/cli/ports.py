"""The port that `serve` listens on, and what is said when another program uses it.

This module needs nothing but Python: `script/server` runs it before it installs packages, because an installation
takes a minute and a taken port is a reason to end at once.
"""

import argparse
import errno
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from builders.kit.values import clock

HOST, PORT = "127.0.0.1", 8000  # of the settings, which need packages; a test compares them
IN_USE_S = 2.0  # the children of a killed parent hold its sockets for a moment
POLL_S = 0.05
T = TypeVar("T")


class CannotListen(Exception):
    """The address cannot be listened on; the message says why and what to do."""

    def __init__(self, where: str, reason: str, *, is_in_use: bool, how: str = "") -> None:
        super().__init__(
            f"Cannot listen on {where}: {reason}. "
            f"Choose another port by --port or BUILDERS_PORT, or stop the program that uses it{how}."
        )
        self._where, self._reason, self.is_in_use = where, reason, is_in_use

    def by(self, name: str, pid: int) -> "CannotListen":
        """Return the error with the program that uses the port."""
        return CannotListen(self._where, f"{self._reason} by {name}", is_in_use=True, how=f": `kill {pid}`")


def bind(host: str, port: int, *, in_use_s: float = IN_USE_S) -> socket.socket:
    """Return a socket that refuses connections until a process listens on it. Raise CannotListen."""
    try:
        return retry_in_use(lambda: open_bound(host, port), in_use_s=in_use_s)
    except (OSError, UnicodeError) as error:
        # The socket module adds the address to the message of the system.
        reason = str(getattr(error, "strerror", error)).partition(" (while ")[0]
        is_in_use = getattr(error, "errno", None) == errno.EADDRINUSE
        raise CannotListen(f"{host}:{port}", reason, is_in_use=is_in_use) from error


def open_bound(host: str, port: int) -> socket.socket:
    """Return a bound socket. Raise OSError, UnicodeError for a host that is no name, OverflowError for no port."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if bound.family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind((host, port))
    except (OSError, UnicodeError, OverflowError):
        bound.close()
        raise
    return bound


def retry_in_use(open_socket: Callable[[], T], *, in_use_s: float = IN_USE_S) -> T:
    """Open a socket, which the children of a killed parent may still hold."""
    deadline = clock.monotonic() + in_use_s
    while True:
        try:
            return open_socket()
        except OSError as error:
            if error.errno != errno.EADDRINUSE or clock.monotonic() >= deadline:
                raise
        time.sleep(POLL_S)


def check(arguments: Sequence[str], *, in_use_s: float = IN_USE_S) -> None:
    """Check the port of a start with these arguments of `serve`. Raise CannotListen.

    Whatever else is wrong with the arguments or the settings is left to `serve`.
    """
    settings = {name.upper(): value for name, value in os.environ.items() if value}
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--host", nargs="?", default=settings.get("BUILDERS_HOST", HOST))
    parser.add_argument("--port", nargs="?", default=settings.get("BUILDERS_PORT", PORT))
    parser.add_argument("--worker-only", "--mail-only", action="store_true")
    given, _ = parser.parse_known_args(arguments)
    if given.worker_only:
        return
    try:
        bind(given.host, int(given.port), in_use_s=in_use_s).close()
    except (TypeError, ValueError, OverflowError):
        return


def main() -> None:
    """End with a message and exit status 1 if `serve` could not listen."""
    try:
        check(sys.argv[1:])
    except CannotListen as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
