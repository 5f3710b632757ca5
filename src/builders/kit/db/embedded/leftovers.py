"""What a killed server leaves behind: files that name it, and for a moment its children."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from builders.kit.db.embedded.system_user import Account

DISOWN = '{ echo "$2" && tail -n +2 "$1"; } >"$1.new" && mv "$1.new" "$1"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """Traces of a server of this cluster."""

    data: Path
    account: Account

    @property
    def pid_file(self) -> Path:
        """Written by the server's first process, the postmaster; removed when it ends in order."""
        return self.data / "postmaster.pid"

    @property
    def mark(self) -> str:
        """The name that each process of this cluster shows in its title, even when the folder is moved."""
        seen = self.data.stat()
        return f"builders[{seen.st_dev:x}.{seen.st_ino:x}]"

    def find_postmaster(self) -> int | None:
        """The pid of the living postmaster.

        The number in the file is not enough: after a kill or in a new container it may be another program's.
        """
        pid = self._find_recorded()
        return pid if pid and pid in {process.pid for process in self.list_processes()} else None

    def clear(self, *, socket: Path, rough: bool) -> None:
        """Make way for a start; `rough` ends also what has had its time to end by itself."""
        if postmaster := self.find_postmaster():
            if rough and not socket.exists():  # it lives where nobody can reach it
                self._signal("INT", postmaster)
            return
        pid = self._find_recorded()
        if pid and psutil.pid_exists(pid):
            # PostgreSQL takes whoever has the number for a postmaster, except pg_ctl's parent: ourselves.
            # The rest of the file stays, by which it sees whether a child of the old one is left.
            self.account.shell(DISOWN, self.pid_file, str(os.getpid()))
        self.account.shell('rm -f "$1" "$1.lock"', socket)
        if rough:
            for process in self.list_processes():
                self._signal("KILL", process.pid)

    def _signal(self, name: str, pid: int) -> None:
        # By its own user: root of a container may lack the right.
        self.account.shell('kill -s "$1" "$2"', name, str(pid))

    def _find_recorded(self) -> int | None:
        try:
            return abs(int(self.pid_file.read_text().split("\n", 1)[0]))
        except (FileNotFoundError, ValueError):
            return None

    def list_processes(self) -> list[psutil.Process]:
        """The living processes of this cluster."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                ours = process.name() == "postgres" and process.uids().real == self.account.uid
                if ours and self.mark in " ".join(process.cmdline()):
                    found.append(process)
        return found
