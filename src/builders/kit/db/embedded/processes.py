"""The processes of a cluster, and the cleanup after a killed server."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from builders.kit.db.embedded.system_user import SystemUser

REPLACE_PID_SCRIPT = '{ echo "$2" && tail -n +2 "$1"; } >"$1.new" && mv "$1.new" "$1"'


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProcesses:
    """The server processes of one cluster, and the files that refer to them."""

    data: Path
    user: SystemUser

    @property
    def pid_file(self) -> Path:
        """Return the path of the file that the postmaster creates, and removes at a clean shutdown."""
        return self.data / "postmaster.pid"

    @property
    def title(self) -> str:
        """Return the text in the title of each process of this cluster; it survives a move of the folder."""
        seen = self.data.stat()
        return f"builders[{seen.st_dev:x}.{seen.st_ino:x}]"

    def find_postmaster(self) -> int | None:
        """Return the pid of the running postmaster.

        The recorded pid must be one of the cluster's processes: after a kill or in a new container, another
        program may have it.
        """
        pid = self._find_recorded()
        return pid if pid and pid in {process.pid for process in self.list_processes()} else None

    def clear(self, *, socket: Path, force: bool) -> None:
        """Remove stale files before a start; `force` also ends processes that did not end by themselves."""
        if postmaster := self.find_postmaster():
            if force and not socket.exists():  # no client can connect to it
                self._signal("INT", postmaster)
            return
        pid = self._find_recorded()
        if pid and psutil.pid_exists(pid):
            # PostgreSQL assumes that any process with this pid is a postmaster, except pg_ctl's parent: this one.
            # Keep the rest of the file: PostgreSQL uses it to detect remaining children.
            self.user.shell(REPLACE_PID_SCRIPT, self.pid_file, str(os.getpid()))
        self.user.shell('rm -f "$1" "$1.lock"', socket)
        if force:
            for process in self.list_processes():
                self._signal("KILL", process.pid)

    def _signal(self, name: str, pid: int) -> None:
        # As the process's own user: root in a container may lack the capability.
        self.user.shell('kill -s "$1" "$2"', name, str(pid))

    def _find_recorded(self) -> int | None:
        try:
            return abs(int(self.pid_file.read_text().split("\n", 1)[0]))
        except (FileNotFoundError, ValueError):
            return None

    def list_processes(self) -> list[psutil.Process]:
        """Return the running processes of this cluster."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                matches = process.name() == "postgres" and process.uids().real == self.user.uid
                if matches and self.title in " ".join(process.cmdline()):
                    found.append(process)
        return found
