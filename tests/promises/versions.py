"""The versions that are promised, and where they are on this machine."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from builders.kit.db.migrations import NEWEST_SERVER, OLDEST_SERVER

ROOT = Path(__file__).parents[2]
# Of npm, since Debian has one version. The embedded server is the newest.
SERVERS = {15: "15.18.0-beta.17", 16: "16.14.0-beta.17", 17: "17.10.0-beta.17"}
DEBIAN = Path("/usr/bin/python3")
_CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.\d+)")
_ASK = "import sys; print('%d.%d' % sys.version_info[:2], sys.base_prefix)"
_ASK_WITHIN_S = 20


def promised_pythons(project: Path = ROOT / "pyproject.toml") -> list[str]:
    """Return the versions that the classifiers name, the oldest first."""
    classifiers = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["classifiers"]
    return [match[1] for match in map(_CLASSIFIER.fullmatch, classifiers) if match]


def promised_servers() -> list[int]:
    """Return the major versions of PostgreSQL, the oldest first."""
    return [*range(OLDEST_SERVER, NEWEST_SERVER + 1)]


def find_pythons(version: str, environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the programs of a Python that are here, each itself and no virtual environment of it."""
    found: dict[Path, None] = {}
    for program in _candidates(version, environment):
        try:
            asked = subprocess.run(
                [program, "-I", "-c", _ASK], capture_output=True, text=True, check=True, timeout=_ASK_WITHIN_S
            )
        except (OSError, subprocess.SubprocessError):  # such as a shim of pyenv without this version
            continue
        answered, _, prefix = asked.stdout.strip().partition(" ")
        real = Path(prefix) / "bin" / f"python{version}"
        if answered == version and real.exists():
            found[real] = None
    return [*found]


def _candidates(version: str, environment: Mapping[str, str]) -> Iterator[Path]:
    name = f"python{version}"
    for folder in environment.get("PATH", "").split(os.pathsep):
        if (program := shutil.which(name, path=folder)) is not None:
            yield Path(program)
    yield Path(sys.executable)
    if (root := _find_pyenv(environment)) is not None:
        yield from sorted(root.glob(f"versions/{version}.*/bin/{name}"), reverse=True)


def _find_pyenv(environment: Mapping[str, str]) -> Path | None:
    if given := environment.get("PYENV_ROOT"):
        return Path(given)
    if (program := shutil.which("pyenv", path=environment.get("PATH", ""))) is None:
        return None
    asked = subprocess.run([program, "root"], capture_output=True, text=True, check=False, timeout=_ASK_WITHIN_S)
    return Path(asked.stdout.strip()) if asked.stdout.strip() else None


def is_externally_managed(program: Path) -> bool:
    """Return whether pip refuses to install beside the packages of this Python (PEP 668)."""
    asked = subprocess.run(
        [program, "-I", "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"],
        capture_output=True,
        text=True,
        check=False,
        timeout=_ASK_WITHIN_S,
    )
    return (Path(asked.stdout.strip()) / "EXTERNALLY-MANAGED").exists()
