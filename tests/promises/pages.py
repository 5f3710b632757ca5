"""The lines of README.md and of docs/how-to/run.md that install, typed as they stand with Debian's own Python."""

import re
import shutil
from pathlib import Path

from tests.promises.stranger import Broken, Stranger
from tests.promises.versions import ROOT

README = ROOT / "README.md"
RUN = ROOT / "docs" / "how-to" / "run.md"
FOLDER = "/srv/builders"  # of run.md, which the reader owns
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^ {4}\S.*\n)+", re.MULTILINE)
_FILES = ("pyproject.toml", "README.md", "LICENSE", "requirements.in", "requirements.txt")
_CHECKOUT = ("src", "clients/python", *_FILES)
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")


def client_lines() -> list[str]:
    """Return the lines of README.md that install `bld`."""
    [block] = (each for each in _SHELL.findall(README.read_text(encoding="utf-8")) if "pip install" in each)
    return [line for line in block.splitlines() if not line.startswith(("export ", "bld "))]


def service_lines(folder: str) -> list[str]:
    """Return the lines of docs/how-to/run.md that install the service, into this folder."""
    text = RUN.read_text(encoding="utf-8")
    [block] = (each for each in _INDENTED.findall(text) if "pip install" in each)
    return [line.strip().replace(FOLDER, folder) for line in block.splitlines() if "builders serve" not in line]


def check_out(user: Stranger) -> Path:
    """Copy of the checkout what these lines need, to a folder of the user."""
    folder = user.folder("checkout")
    for part in _CHECKOUT:
        to = folder / part
        to.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, to, ignore=_LEFT_OUT)
        else:
            shutil.copy(ROOT / part, to)
    user.give(folder)
    return folder


def type_lines(user: Stranger, checkout: Path, lines: list[str]) -> str:
    """Type lines in a shell of the user in the checkout; raise Broken if one of them fails."""
    if not lines:
        raise Broken("the page has no such lines")
    return user.run("bash", "-e", "-u", "-c", "\n".join([f"cd '{checkout}'", *lines]), within_s=600)
