"""script/bootstrap in a small checkout of its own that pins nothing, so that pip needs no network.

The Python it is given says that it has no ensurepip: such an environment borrows pip and is made at once.
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
case "$*" in *find_spec*) echo "{verdict}" ;; *) exec "{real}" "$@" ;; esac
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

    def python(self, verdict: str) -> Path:
        """A Python that answers `verdict` to the question what it can do."""
        path = self.root / verdict
        if not path.exists():  # else one that is running would change under its reader
            path.write_text(PYTHON.format(verdict=verdict, real=sys.executable))
            path.chmod(0o755)
        return path

    def bootstrap(self, *args: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """What `script/bootstrap ARGS` said, called from another folder."""
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


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout whose path holds a space."""
    root = tmp_path / "a checkout"
    (root / "script").mkdir(parents=True)
    shutil.copy(ROOT / "script" / "bootstrap", root / "script")
    (root / "src" / "builders").mkdir(parents=True)
    (root / "src" / "builders" / "__init__.py").write_text("WHERE = __file__\n")
    made = Checkout(root=root)
    made.pin("# nothing\n")
    made.python("bare 3.11")
    return made


def test_the_command_runs_in_an_environment_that_imports_the_checkout(checkout: Checkout) -> None:
    ran = checkout.bootstrap("server", "python", "-c", "import builders; print(builders.WHERE)")
    assert ran.stdout == f"{checkout.root}/src/builders/__init__.py\n"
    assert [line.split()[1] for line in ran.stderr.splitlines()] == ["making", "installing"]


def test_a_second_run_says_and_changes_nothing(checkout: Checkout) -> None:
    checkout.bootstrap("test")
    made = (checkout.notes / "whole").stat().st_mtime_ns
    ran = checkout.bootstrap("server", env={"BUILDERS_PYTHON": "/no/python/is/asked"})
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert (checkout.notes / "whole").stat().st_mtime_ns == made


def test_new_pins_are_installed_into_the_environment_as_it_is(checkout: Checkout) -> None:
    checkout.bootstrap()
    kept = checkout.root / ".venv" / "kept"
    kept.touch()
    checkout.pin("# other\n")
    assert "installing" in checkout.bootstrap().stderr
    assert kept.exists()


def test_a_failed_install_says_why_and_the_next_run_begins_from_scratch(checkout: Checkout) -> None:
    checkout.bootstrap()
    left = checkout.root / ".venv" / "left"
    left.touch()
    checkout.pin(MISSING)
    failed = checkout.bootstrap("server", "echo", "never")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "No matching distribution found for nowhere==1" in failed.stderr
    checkout.pin("# nothing\n")
    assert checkout.bootstrap("server", "echo", "ok").stdout == "ok\n"
    assert not left.exists()


def test_a_moved_checkout_makes_its_environment_anew(checkout: Checkout) -> None:
    checkout.bootstrap()
    moved = Checkout(root=checkout.root.rename(checkout.root.with_name("moved")))
    ran = moved.bootstrap("server", "python", "-c", "import builders; print(builders.WHERE)")
    assert ran.stdout == f"{moved.root}/src/builders/__init__.py\n"


def test_three_at_once_make_one_environment(checkout: Checkout) -> None:
    with ThreadPoolExecutor() as pool:
        ran = list(pool.map(lambda _: checkout.bootstrap("server", "echo", "ok"), range(3)))
    assert [each.stdout for each in ran] == ["ok\n"] * 3, [each.stderr for each in ran]
    assert sum("installing" in each.stderr for each in ran) == 1


def test_a_folder_with_files_of_others_is_refused_and_left_alone(checkout: Checkout, tmp_path: Path) -> None:
    precious = tmp_path / "home" / "precious"
    precious.parent.mkdir()
    precious.touch()
    ran = checkout.bootstrap(env={"BUILDERS_VENV": str(precious.parent)})
    assert ran.returncode == 1
    assert "holds files that this script did not make" in ran.stderr
    assert list(precious.parent.iterdir()) == [precious]


def test_a_python_that_is_too_old_is_named(checkout: Checkout) -> None:
    ran = checkout.bootstrap(env={"BUILDERS_PYTHON": str(checkout.python("old 3.9"))})
    assert ran.returncode == 1
    assert "is 3.9;" in ran.stderr
    assert "apt install python3 python3-venv" in ran.stderr
    assert not checkout.notes.exists()
