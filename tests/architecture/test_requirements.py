"""What the service imports is what it is installed with: requirements.txt, and no tool of requirements-dev.txt."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions

import pytest
from packaging.utils import canonicalize_name

from tests.architecture.source import ROOT, Source, source

_PIN = re.compile(r"^([\w.-]+)==", re.MULTILINE)


@pytest.fixture(scope="module")
def pinned() -> set[str]:
    pins = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    return {canonicalize_name(name) for name in _PIN.findall(pins)}


def _imported(file: Source) -> Iterator[tuple[ast.stmt, str]]:
    for node in file.nodes:
        if isinstance(node, ast.Import):
            yield from ((node, each.name.partition(".")[0]) for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node, node.module.partition(".")[0]


def unpinned(file: Source, pinned: set[str], owners: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield imports of a package that requirements.txt does not have."""
    for node, name in _imported(file):
        if name in sys.stdlib_module_names or name == "builders":
            continue
        if pinned.isdisjoint(map(canonicalize_name, owners.get(name, [name]))):
            yield f"{file.at(node)}: requirements.in lacks {name}"


def test_every_import_of_the_service_is_in_its_requirements(codebase: list[Source], pinned: set[str]) -> None:
    owners = packages_distributions()
    assert [error for file in codebase for error in unpinned(file, pinned, owners)] == []


@pytest.mark.parametrize("line", ["import pytest", "from hypothesis.strategies import text", "import nowhere"])
def test_an_import_of_a_tool_is_reported(line: str, pinned: set[str]) -> None:
    file = source("builders/leads/service.py", f"import json\n{line}\n")
    [error] = unpinned(file, pinned, packages_distributions())
    assert error.startswith("builders/leads/service.py:2: requirements.in lacks ")
