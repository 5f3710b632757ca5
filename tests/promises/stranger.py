"""A user who is not root and owns nothing of the checkout: where this process is root, `nobody`."""

import os
import pwd
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

STOP_S = 60.0


class Broken(Exception):
    """A promise does not hold; the message has what the program said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """Runs programs as this user, with no variables but those given."""

    home: Path  # is the user's
    uid: int | None = None  # None: the user of this process
    gid: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def at(cls, home: Path) -> Self:
        """Return a user with this home, which is created."""
        home.mkdir(parents=True)
        # The user may not write where the packages are: each process would compile them again.
        variables = {"PYTHONPYCACHEPREFIX": str(home / "compiled")}
        if os.geteuid() != 0:
            return cls(home=home, variables=variables)
        nobody = pwd.getpwnam("nobody")
        os.chown(home, nobody.pw_uid, nobody.pw_gid)
        return cls(home=home, uid=nobody.pw_uid, gid=nobody.pw_gid, variables=variables)

    def with_variables(self, **variables: str) -> "Stranger":
        """Return the same user with more variables."""
        return replace(self, variables={**self.variables, **variables})

    def folder(self, name: str) -> Path:
        """Return a folder of the user, which is created."""
        folder = self.home / name
        folder.mkdir(exist_ok=True)
        self.give(folder)
        return folder

    def give(self, folder: Path) -> None:
        """Make the user the owner of all that is in a folder."""
        if self.uid is None or self.gid is None:
            return
        for each in (folder, *folder.rglob("*")):
            os.chown(each, self.uid, self.gid, follow_symlinks=False)

    def run(self, *command: str | Path, within_s: float = 180) -> str:
        """Return what a program prints; raise Broken if it fails."""
        try:
            done: subprocess.CompletedProcess[str] = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=within_s, **self._options()
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Broken(str(error)) from error
        if done.returncode:
            typed = " ".join(map(str, command))
            raise Broken(f"{typed}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    @contextmanager
    def running(self, *command: str | Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
        """Run a program while the context is open; raise Broken unless SIGTERM then ends it with code 0."""
        with log.open("wb") as written:
            process = subprocess.Popen(
                command, stdout=written, stderr=subprocess.STDOUT, start_new_session=True, **self._options()
            )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process.returncode:
            raise Broken(f"exit code {process.returncode} after SIGTERM\n{tail(log)}")

    def may_run(self, python: Path) -> bool:
        """Return whether the user may run a Python, which can be in the home of root."""
        try:
            self.run(python, "-I", "-c", "import ssl")
        except Broken:
            return False
        return True

    def _options(self) -> dict[str, Any]:  # of subprocess
        return {
            "cwd": self.home,
            "env": {"PATH": os.defpath, "HOME": str(self.home), "LANG": "C.UTF-8", **self.variables},
            "stdin": subprocess.DEVNULL,
            "user": self.uid,
            "group": self.gid,
            "extra_groups": None if self.uid is None else [],
        }


def tail(log: Path, *, lines: int = 40) -> str:
    """Return the end of a log."""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
