"""Scripts, pinned requirements and the content of the wheel."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
SCRIPTS = [*sorted((ROOT / "script").iterdir()), ROOT / ".ci" / "run"]
PINS = [ROOT / "requirements.txt", ROOT / "requirements-dev.txt"]
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})(?= |$)")
ADDRESS = re.compile(r"://|--(?:extra-)?index-url|--find-links|^-[if]\b", re.MULTILINE)


def _pins(path: Path) -> dict[str, tuple[Requirement, list[str]]]:
    """Return the requirement and the hashes of each pinned package."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    pins: dict[str, tuple[Requirement, list[str]]] = {}
    for line in filter(None, text.splitlines()):
        requirement = Requirement(line.split("--hash")[0])
        pins[canonicalize_name(requirement.name)] = (requirement, HASH.findall(line))
    return pins


def _wanted(path: Path) -> dict[str, Requirement]:
    """Return the requirements of a `.in` file by name."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith(("#", "-"))]
    return {canonicalize_name(Requirement(line).name): Requirement(line) for line in lines}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_executable_and_parses(script: Path) -> None:
    shell = script.read_text().splitlines()[0].removeprefix("#!").split()
    assert shell in (["/bin/sh"], ["/usr/bin/env", "bash"])
    assert os.access(script, os.X_OK)
    subprocess.run([*shell, "-n", script], check=True)


@pytest.mark.parametrize("pins", PINS, ids=lambda path: path.name)
def test_every_package_is_pinned_with_hashes(pins: Path) -> None:
    found = _pins(pins)
    assert len(found) > 30
    for requirement, hashes in found.values():
        assert [clause.operator for clause in requirement.specifier] == ["=="], requirement
        assert requirement.url is None, requirement
        assert hashes, requirement


@pytest.mark.parametrize("path", [*PINS, *ROOT.glob("requirements*.in"), *SCRIPTS], ids=lambda path: path.name)
def test_no_setup_file_names_an_index(path: Path) -> None:
    assert not ADDRESS.findall(path.read_text())


def test_the_tests_use_the_versions_of_the_service() -> None:
    service, tests = (_pins(path) for path in PINS)
    assert {name: tests.get(name) for name in service} == service


@pytest.mark.parametrize("pins", PINS, ids=lambda path: path.name)
def test_every_requirement_is_pinned(pins: Path) -> None:
    assert not _wanted(pins.with_suffix(".in")).keys() - _pins(pins).keys()


def test_the_wheel_has_every_file_of_the_package(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "requirements.in"):
        shutil.copy(ROOT / name, tmp_path)
    litter = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=litter)
    build = "from setuptools import build_meta; build_meta.build_wheel('.')"
    subprocess.run([sys.executable, "-c", build], cwd=tmp_path, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        notes = {Path(name).name: name for name in wheel.namelist() if ".dist-info/" in name}
        metadata = Parser().parsestr(wheel.read(notes["METADATA"]).decode())
        commands = wheel.read(notes["entry_points.txt"]).decode()
    package = tmp_path / "src" / "builders"
    assert names == {str(path.relative_to(tmp_path / "src")) for path in package.rglob("*") if path.is_file()}
    asked = {canonicalize_name(Requirement(line).name) for line in metadata.get_all("Requires-Dist", [])}
    assert asked == _wanted(ROOT / "requirements.in").keys()
    assert "builders = builders.cli.main:main" in commands
