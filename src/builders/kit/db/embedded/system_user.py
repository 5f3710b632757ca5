"""The system user that PostgreSQL runs as.

PostgreSQL refuses to run as root. So root hands it to an unprivileged user, and whatever changes a folder of
that user is done by that user too: were root to do it, a link planted there by a captured database would turn
root's hand against the machine.
"""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

from builders.kit.db.embedded.errors import EmbeddedFailed

UNPRIVILEGED = ("postgres", "nobody", "daemon")

# No variable of ours goes along: PGPORT and its like would change what PostgreSQL does, and secrets of the
# service would show in /proc. C keeps its messages in one language.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A system user, and whether we have to change to it."""

    uid: int
    gid: int
    switched: bool  # we are root and this user is not
    turn: int | None = None  # the lock that commands hold with us: if we are killed, until they have ended

    def run(self, *command: str | Path, text: str = "", wait_s: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a program as this user with `text` as its input; its exit status is the caller's to judge.

        Raises EmbeddedFailed when it takes longer than `wait_s` seconds or we may not change to the user.
        """
        try:
            return subprocess.run(  # noqa: S603 - a list, no shell, and programs that we name
                command,
                input=text,
                text=True,
                errors="replace",
                capture_output=True,
                check=False,
                timeout=wait_s,
                cwd="/",  # ours may be out of the user's reach
                env=ENVIRONMENT,
                start_new_session=True,  # a Ctrl-C at our terminal is not for PostgreSQL
                user=self.uid if self.switched else None,
                group=self.gid if self.switched else None,
                extra_groups=[] if self.switched else None,
                pass_fds=() if self.turn is None else (self.turn,),
            )
        except subprocess.TimeoutExpired as error:
            raise EmbeddedFailed(f"{command[0]} did not finish within {wait_s:.0f} s.") from error
        except PermissionError as error:
            raise EmbeddedFailed(
                f"Cannot run {command[0]} as user {self.uid}: {error.strerror}. Where root may not change to "
                "another user, start the service as a normal user, or set BUILDERS_DATABASE_URL."
            ) from error

    def shell(self, script: str, *words: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a shell script as this user, private files only; `words` are its $1, $2 and so on."""
        return self.run("/bin/sh", "-c", f"umask 077\n{script}", "sh", *words, text=text)

    def may_write(self, folder: Path) -> bool:
        """Whether this user can reach and change the folder."""
        return self.shell('test -w "$1" && test -x "$1"', folder).returncode == 0


def choose(*places: Path, turn: int | None = None) -> Account:
    """Ourselves; as root the owner of the first of `places` that is not root's, else one without rights.

    So root can join the database of a normal user without taking it away from him.
    """
    if os.geteuid() != 0:
        return Account(uid=os.geteuid(), gid=os.getegid(), switched=False, turn=turn)
    for place in places:
        owner = place.stat().st_uid if place.exists() else 0
        if owner:
            return Account(uid=owner, gid=_group(owner, place), switched=True, turn=turn)
    for name in UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(uid=entry.pw_uid, gid=entry.pw_gid, switched=True, turn=turn)
    raise EmbeddedFailed(
        f"PostgreSQL does not run as root, and none of the users {', '.join(UNPRIVILEGED)} exists here. "
        "Add one, start the service as a normal user, or set BUILDERS_DATABASE_URL."
    )


def _group(uid: int, place: Path) -> int:
    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        raise EmbeddedFailed(
            f"{place} belongs to user {uid}, who has no name on this machine, and PostgreSQL asks for one."
        ) from None
