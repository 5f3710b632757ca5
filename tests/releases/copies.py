"""Releases of a test: copies of the checkout with a version, files of migrations and changes of the code."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from builders.kit.db import migrations
from builders.kit.db.migration_files import Migration
from tests.architecture.source import ROOT

COPIED = ("src", "clients/python", "tests", "soak", "bench")
VERSION = Path("src", "builders", "kit", "process", "version.py")
PATH = ("src", "clients/python", ".")
OMITTED = shutil.ignore_patterns("__pycache__", "node_modules", "*.egg-info")
WITHIN_S = 600  # of a command; the demo draws images, which takes minutes on a busy machine


@dataclass(frozen=True, slots=True)
class Release:
    """A copy of the checkout as a release."""

    folder: Path

    def environment(self, **own: str) -> Mapping[str, str]:
        """Return the environment in which its code runs."""
        present = {name: value for name, value in os.environ.items() if not name.startswith("BUILDERS_")}
        return {**present, "PYTHONPATH": os.pathsep.join(str(self.folder / each) for each in PATH), **own}

    def start(self, *words: str, **own: str) -> "Running":
        """Start Python on its code. A server that outlives it would keep a pipe open, and keeps a file."""
        printed = tempfile.TemporaryFile("w+")  # noqa: SIM115 - the process outlives this function
        process = subprocess.Popen(
            [sys.executable, "-P", *words],
            cwd=self.folder,
            env=self.environment(**own),
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return Running(process, printed)

    def run(self, *words: str, **own: str) -> tuple[int, str]:
        """Run Python on its code; return the exit status and what it printed."""
        return self.start(*words, **own).wait()


@dataclass(frozen=True, slots=True)
class Running:
    """A process of a release."""

    process: "subprocess.Popen[bytes]"
    printed: IO[str]

    def wait(self) -> tuple[int, str]:
        """Return the exit status and what it printed."""
        try:
            code = self.process.wait(WITHIN_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGTERM)  # also the service that it has started
            raise
        self.printed.seek(0)
        return code, self.printed.read()

    def stop(self) -> None:
        """Stop it in order."""
        self.process.terminate()
        self.wait()


def copy(
    folder: Path, release: str, files: Iterable[Migration], changes: Mapping[str, Sequence[tuple[str, str]]]
) -> Release:
    """Copy the checkout; `changes` are what replaces what in which file."""
    target = folder / release
    for part in COPIED:
        shutil.copytree(ROOT / part, target / part, ignore=OMITTED)
    text = (target / VERSION).read_text(encoding="utf-8")
    (target / VERSION).write_text(re.sub(r'VERSION = ".*"', f'VERSION = "{release}"', text), encoding="utf-8")
    for file in files:
        (target / "src" / "builders" / "migrations" / file.name).write_text(file.text, encoding="utf-8")
    for name, replaced in changes.items():
        text = (target / name).read_text(encoding="utf-8")
        for old, new in replaced:
            assert text.count(old) == 1, f"{name} has {old} {text.count(old)} times"
            text = text.replace(old, new)
        (target / name).write_text(text, encoding="utf-8")
    return Release(target)


def number(*texts: tuple[str, Migration]) -> list[Migration]:
    """Return files with the numbers after those of the checkout, and the given names."""
    first = len(migrations.list_migrations()) + 1
    return [Migration(f"{first + place:04d}_{name}.sql", file.text) for place, (name, file) in enumerate(texts)]
