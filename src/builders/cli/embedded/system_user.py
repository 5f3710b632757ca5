"""The system user that PostgreSQL runs as.

PostgreSQL refuses to run as root, so root runs it as an unprivileged user. That user also makes all changes in its
folders: if root made them, a compromised server could use symbolic links there to make root change other files.
"""

import os
import pwd
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

UNPRIVILEGED = ("postgres", "nobody", "daemon")

# No other variables of the environment: PGPORT, for example, would change the server, and secrets would be
# visible in /proc. LC_ALL=C keeps its messages in English.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C"}


class EmbeddedServerError(Exception):
    """The embedded PostgreSQL cannot be used; the message has the cause and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemUser:
    """A system user that runs commands."""

    uid: int
    gid: int
    must_switch: bool  # this process is root and the user is not
    lock_fd: int | None = None  # a lock that commands inherit, so that it stays held if this process is killed

    def run(self, *command: str | Path, text: str = "", wait_s: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a program as this user with `text` as its input; the caller checks the exit status.

        Raise EmbeddedServerError if it takes longer than `wait_s` seconds or changing the user is not permitted.
        """
        try:
            return subprocess.run(  # noqa: S603 - no shell; the programs are constants
                command,
                input=text,
                text=True,
                errors="replace",
                capture_output=True,
                check=False,
                timeout=wait_s,
                **self._process,
            )
        except subprocess.TimeoutExpired as error:
            raise EmbeddedServerError(f"{command[0]} did not finish within {wait_s:.0f} s.") from error
        except PermissionError as error:
            raise EmbeddedServerError(
                f"Cannot run {command[0]} as user {self.uid}: {error.strerror}. Where root may not change to "
                "another user, start the service as a normal user, or set BUILDERS_DATABASE_URL."
            ) from error

    @contextmanager
    def piped(self, *command: str | Path, writes: bool, failure: str) -> Iterator[IO[bytes]]:
        """Yield the output of a program of this user, or the input if the block `writes`.

        Raise EmbeddedServerError with the text of the failure if the program fails.
        """
        none, pipe = subprocess.DEVNULL, subprocess.PIPE
        stdin, stdout = (pipe, none) if writes else (none, pipe)
        program = subprocess.Popen(command, stdin=stdin, stdout=stdout, **self._process)  # noqa: S603 - no shell; the programs are constants
        with program:
            end = program.stdin or program.stdout
            assert end is not None  # noqa: S101 - one of them is a pipe
            try:
                yield end
                end.close()
                if program.wait() != 0:
                    raise EmbeddedServerError(failure)
            finally:
                program.kill()

    @property
    def _process(self) -> Mapping[str, Any]:
        """How each program runs."""
        return {
            "cwd": "/",  # the user may not have access to the current directory
            "env": ENVIRONMENT,
            "start_new_session": True,  # Ctrl-C in the terminal must not reach PostgreSQL
            "user": self.uid if self.must_switch else None,
            "group": self.gid if self.must_switch else None,
            "extra_groups": [] if self.must_switch else None,
            "pass_fds": () if self.lock_fd is None else (self.lock_fd,),
        }

    def shell(self, script: str, *words: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a shell script as this user with umask 077; `words` are its arguments $1, $2 and so on."""
        return self.run("/bin/sh", "-c", f"umask 077\n{script}", "sh", *words, text=text)

    def may_write(self, folder: Path) -> bool:
        """Return True if this user can access and change the folder."""
        return self.shell('test -w "$1" && test -x "$1"', folder).returncode == 0


def choose_user(
    *places: Path, lock_fd: int | None = None, unprivileged: Sequence[str] = UNPRIVILEGED
) -> SystemUser:
    """Return the current user; for root, the first owner of `places` that is not root, else one of `unprivileged`.

    So root can use the database of another user without changing its ownership.
    """
    if os.geteuid() != 0:
        return SystemUser(uid=os.geteuid(), gid=os.getegid(), must_switch=False, lock_fd=lock_fd)
    for place in places:
        owner = place.stat().st_uid if place.exists() else 0
        if owner:
            return SystemUser(uid=owner, gid=_group(owner, place), must_switch=True, lock_fd=lock_fd)
    for name in unprivileged:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return SystemUser(uid=entry.pw_uid, gid=entry.pw_gid, must_switch=True, lock_fd=lock_fd)
    raise EmbeddedServerError(
        f"PostgreSQL does not run as root, and none of the users {', '.join(unprivileged)} exists here. "
        "Add one, start the service as a normal user, or set BUILDERS_DATABASE_URL."
    )


def _group(uid: int, place: Path) -> int:
    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        raise EmbeddedServerError(
            f"{place} belongs to user {uid}, which has no name on this machine; PostgreSQL requires one."
        ) from None
