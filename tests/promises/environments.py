"""Environments as an operator and a customer make them, in a folder that everyone may read."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.promises.stranger import Broken, Stranger
from tests.promises.versions import ROOT

OLDEST, NEWEST = "lowest-direct", "highest"  # of uv: the oldest and the newest versions that a project allows
UV = Path(sys.executable).with_name("uv")
_NO_PART_OF_IT = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "test", "*.a", "site-packages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A virtual environment and who uses it."""

    folder: Path
    user: Stranger

    def program(self, name: str) -> Path:
        """Return a program of the environment."""
        return self.folder / "bin" / name


class Workshop:
    """Makes environments below a folder. uv keeps what it fetches in its own cache, for the next run."""

    def __init__(self, folder: Path) -> None:
        """Build the wheel of the service."""
        self._folder = folder
        _copy(ROOT / "clients" / "python", folder / "client")
        made = subprocess.run(
            [ROOT / "script" / "release", "wheel", folder / "wheels"], capture_output=True, text=True, check=False
        )
        if made.returncode:
            raise Broken(f"script/release wheel: {made.stdout}{made.stderr}")
        [self.wheel] = (folder / "wheels").glob("builders_service-*.whl")

    def for_user(self, pythons: Sequence[Path], user: Stranger) -> tuple[Path, Stranger]:
        """Return a Python that the user may run, and the user with what it needs.

        If all are in folders that the user may not read, such as the home of root, the first is copied.
        """
        usable = next((each for each in pythons if user.may_run(each)), None)
        if usable is not None:
            return usable, user
        python = pythons[0]
        prefix = self._folder / "pythons" / python.name
        for part in ("bin", "lib"):
            _copy(python.parent.parent / part, prefix / part)
        return prefix / "bin" / python.name, user.with_variables(LD_LIBRARY_PATH=str(prefix / "lib"))

    def install_service(self, name: str, python: Path, user: Stranger, *, pinned: bool = True) -> Environment:
        """Install the wheel with requirements.txt, or with the newest packages that it allows."""
        made = self._make(name, python, user)
        if pinned:
            _install(made, "--require-hashes", "--no-deps", "--requirement", ROOT / "requirements.txt")
        _install(made, *(["--no-deps"] if pinned else []), self.wheel)
        return made

    def install_client(self, name: str, python: Path, user: Stranger, *, resolution: str) -> Environment:
        """Install the Python client and `bld`, with the oldest or the newest packages that they allow."""
        made = self._make(name, python, user)
        _install(made, "--resolution", resolution, f"{self._folder / 'client'}[cli]")
        return made

    def _make(self, name: str, python: Path, user: Stranger) -> Environment:
        made = Environment(folder=self._folder / "environments" / name, user=user)
        _uv("venv", "--python", python, made.folder)
        return made


def _install(made: Environment, *arguments: str | Path) -> None:
    _uv("pip", "install", "--python", made.program("python"), *arguments)


def _copy(source: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, to, symlinks=True, ignore=_NO_PART_OF_IT)
    else:
        shutil.copy(source, to)


def _uv(*arguments: str | Path) -> None:
    ours = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        [UV, "--quiet", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**ours, "UV_PYTHON_DOWNLOADS": "never", "UV_HTTP_TIMEOUT": "180"},  # s
    )
    if done.returncode:
        raise Broken(
            f"uv {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        )
