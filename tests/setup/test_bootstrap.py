"""script/bootstrap in a small checkout without requirements, so that pip needs no network.

The fake Python reports that it has no ensurepip: its environment uses an existing pip, which is fast.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(find_spec("pip") is None, reason="made by a Python without ensurepip")

ROOT = Path(__file__).parents[2]
PYTHON = """#!/bin/sh
case "$*" in *find_spec*) echo "{result}" ;; *) exec "{real}" "$@" ;; esac
"""
MISSING = f"nowhere==1 --hash=sha256:{'0' * 64}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A folder with script/bootstrap, a package and requirements files."""

    root: Path

    @property
    def notes(self) -> Path:
        return self.root / ".venv" / ".bootstrap"

    def pin(self, text: str) -> None:
        for name in ("requirements.txt", "requirements-dev.txt"):
            (self.root / name).write_text(text)

    def python(self, result: str) -> Path:
        """Install a fake Python that prints `result` for the version check."""
        path = self.root / result
        if not path.exists():  # otherwise a running script would change
            path.write_text(PYTHON.format(result=result, real=sys.executable))
            path.chmod(0o755)
        return path

    def bootstrap(self, *args: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run `script/bootstrap ARGS` from another folder."""
        settings = {name: value for name, value in os.environ.items() if name != "BUILDERS_VENV"}
        settings |= {"PIP_NO_INDEX": "1", "BUILDERS_PYTHON": str(self.python("bare 3.11")), **(env or {})}
        return subprocess.run(
            [self.root / "script" / "bootstrap", *args],
            env=settings,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready(Checkout):
    """A checkout whose environment three concurrent runs created."""

    said: list[str]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Return a checkout without an environment, whose path has a space."""
    return Checkout(root=check_out(tmp_path / "a checkout"))


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    """Return a checkout with an environment."""
    root = check_out(tmp_path_factory.mktemp("ready") / "a checkout")
    with ThreadPoolExecutor() as pool:
        ran = list(pool.map(lambda _: Checkout(root=root).bootstrap("server", "echo", "ok"), range(3)))
    assert [each.stdout for each in ran] == ["ok\n"] * 3, [each.stderr for each in ran]
    return Ready(root=root, said=[each.stderr for each in ran])


def check_out(root: Path) -> Path:
    """Create the folder with the files that script/bootstrap needs."""
    (root / "script").mkdir(parents=True)
    shutil.copy(ROOT / "script" / "bootstrap", root / "script")
    (root / "src" / "builders").mkdir(parents=True)
    (root / "src" / "builders" / "__init__.py").write_text("WHERE = __file__\n")
    made = Checkout(root=root)
    made.pin("# nothing\n")
    made.python("bare 3.11")
    return root


def test_the_command_runs_in_an_environment_that_imports_the_checkout(ready: Ready) -> None:
    ran = ready.bootstrap("server", "python", "-c", "import builders; print(builders.WHERE)")
    assert ran.stdout == f"{ready.root}/src/builders/__init__.py\n"


def test_three_concurrent_runs_create_one_environment(ready: Ready) -> None:
    steps = [line.split()[1] for said in ready.said for line in said.splitlines()]
    assert [step for step in steps if step != "waiting"] == ["making", "installing"]


def test_a_second_run_changes_nothing(ready: Ready) -> None:
    made = (ready.notes / "whole").stat().st_mtime_ns
    ran = ready.bootstrap("server", env={"BUILDERS_PYTHON": "/no/python/is/asked"})
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert (ready.notes / "whole").stat().st_mtime_ns == made


@pytest.mark.system
def test_new_pins_are_installed_into_the_environment(ready: Ready) -> None:
    kept = ready.root / ".venv" / "kept"
    kept.touch()
    ready.pin("# other\n")
    said = ready.bootstrap("test").stderr
    assert [line.split()[1] for line in said.splitlines()] == ["installing"]
    assert kept.exists()
    assert ready.bootstrap("server", env={"BUILDERS_PYTHON": "/no/python/is/asked"}).stderr == ""


@pytest.mark.system
def test_a_failed_install_is_reported_and_the_next_run_starts_over(ready: Ready) -> None:
    left = ready.root / ".venv" / "left"
    left.touch()
    ready.pin(MISSING)
    failed = ready.bootstrap("server", "echo", "never")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "No matching distribution found for nowhere==1" in failed.stderr
    ready.pin("# nothing\n")
    assert ready.bootstrap("server", "echo", "ok").stdout == "ok\n"
    assert not left.exists()


@pytest.mark.system
def test_a_moved_checkout_recreates_its_environment(ready: Ready, tmp_path: Path) -> None:
    moved = Checkout(root=shutil.copytree(ready.root, tmp_path / "moved", symlinks=True))
    ran = moved.bootstrap("server", "python", "-c", "import builders; print(builders.WHERE)")
    assert ran.stdout == f"{moved.root}/src/builders/__init__.py\n"


def test_a_folder_with_foreign_files_is_refused(checkout: Checkout, tmp_path: Path) -> None:
    precious = tmp_path / "home" / "precious"
    precious.parent.mkdir()
    precious.touch()
    ran = checkout.bootstrap(env={"BUILDERS_VENV": str(precious.parent)})
    assert ran.returncode == 1
    assert "holds files that this script did not make" in ran.stderr
    assert list(precious.parent.iterdir()) == [precious]


def test_an_old_python_is_refused(checkout: Checkout) -> None:
    ran = checkout.bootstrap(env={"BUILDERS_PYTHON": str(checkout.python("other 3.9"))})
    assert ran.returncode == 1
    assert "is 3.9;" in ran.stderr
    assert "apt install python3 python3-venv" in ran.stderr
    assert not checkout.notes.exists()
