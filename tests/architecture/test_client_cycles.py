"""The modules of the clients import each other in no cycle, neither in a function nor for types only.

The contract on cycles in .importlinter compares packages. Here modules are compared, since `generated` has modules
of every layer of the client.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.architecture.interfaces import imported
from tests.architecture.source import ROOT, Source, source, sources

CLIENTS = ROOT / "clients"
_TYPESCRIPT = re.compile(r'from "\./(\w+)\.js"')


def imports(files: Iterable[Source]) -> Mapping[str, set[str]]:
    """Return the modules among the files that each of them imports."""
    of = {file.module: file for file in files}
    found = {
        module: {name if name in of else name[:-1] for _, name in imported(file)} for module, file in of.items()
    }
    return {".".join(module): {".".join(each) for each in names & of.keys()} for module, names in found.items()}


def find_cycle(graph: Mapping[str, set[str]]) -> Sequence[str]:
    """Return modules that import each other, each the next one; none without a cycle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_the_python_client_has_no_cycle() -> None:
    graph = imports(sources(CLIENTS / "python", "builders_client", "codegen"))
    assert graph["builders_client.generated.sync.client"] >= {"builders_client.generated.sync.names"}
    assert find_cycle(graph) == []


def test_the_typescript_client_has_no_cycle() -> None:
    files = (CLIENTS / "typescript" / "src").glob("*.ts")
    graph = {file.stem: set(_TYPESCRIPT.findall(file.read_text(encoding="utf-8"))) for file in files}
    assert graph["client"] == {"events", "names", "sender"}
    assert find_cycle(graph) == []


@pytest.mark.parametrize(
    "line",
    [
        "from shop.client import Client",
        "from shop import client",
        "import shop.client",
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from shop.client import Client",
        "def price():\n    from shop.client import Client",
    ],
)
def test_a_cycle_is_reported(line: str) -> None:
    client = source("shop/client.py", "from shop import names")
    assert find_cycle(imports([client, source("shop/names.py", "import json")])) == []
    assert find_cycle(imports([client, source("shop/names.py", line)])) in (
        ["shop.client", "shop.names", "shop.client"],
        ["shop.names", "shop.client", "shop.names"],
    )
