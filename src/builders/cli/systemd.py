"""What `serve` tells systemd as a unit of `Type=notify` (sd_notify(3)), and the sockets that it gets from it.

Without systemd, nothing. systemd keeps a socket while the unit is started again: a connection waits meanwhile.
"""

import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress

READY, STOPPING, ALIVE = "READY=1", "STOPPING=1", "WATCHDOG=1"
FIRST_DESCRIPTOR = 3


def take_sockets(environment: MutableMapping[str, str]) -> dict[str, socket.socket]:
    """Return the sockets of the unit by their names (sd_listen_fds(3)); children do not see the variables."""
    pid, count, names = (environment.pop(f"LISTEN_{each}", "") for each in ("PID", "FDS", "FDNAMES"))
    if pid != str(os.getpid()) or not count.isdigit():
        return {}
    descriptors = range(FIRST_DESCRIPTOR, FIRST_DESCRIPTOR + int(count))
    return {name: socket.socket(fileno=each) for name, each in zip(names.split(":"), descriptors, strict=False)}


class ServiceManager:
    """The socket of systemd, and its watchdog."""

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        """Take the variables of systemd out of the environment: children do not speak for the unit."""
        place = environment.pop("NOTIFY_SOCKET", "")
        self._address = f"\0{place[1:]}" if place.startswith("@") else place  # an abstract socket (unix(7))
        usec, pid = environment.pop("WATCHDOG_USEC", ""), environment.pop("WATCHDOG_PID", "")
        is_watched = usec.isdigit() and pid in {"", str(os.getpid())}
        self._interval_s = (
            int(usec) / 2_000_000 if is_watched else None
        )  # half of it, as sd_watchdog_enabled(3) says
        self._fed_at: float | None = None
        self._is_ready = False

    def report_ready(self) -> None:
        """Tell once that the service answers."""
        if not self._is_ready:
            self._is_ready = True
            self._tell(READY)

    def report_stop(self) -> None:
        """Tell that the service stops."""
        self._tell(STOPPING)

    def feed(self, now: float) -> None:
        """Tell that the supervisor works, as often as the watchdog needs it."""
        if self._interval_s is not None and (self._fed_at is None or now - self._fed_at >= self._interval_s):
            self._fed_at = now
            self._tell(ALIVE)

    def _tell(self, state: str) -> None:
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.setblocking(False)
            sender.sendto(state.encode(), self._address)
