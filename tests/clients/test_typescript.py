"""The TypeScript client without Node; tests/clients/typescript/check builds and runs it."""

import json
import re
from pathlib import Path

from builders_client.version import VERSION
from tests.published import published

CLIENT = Path(__file__).parents[2] / "clients" / "typescript"
_OPERATION = re.compile(r'^  "([A-Z]+ \S+)": \{"id": "(\w+)"', re.MULTILINE)


def test_every_operation_of_the_document_is_reachable() -> None:
    """The compiler compares these operations with the types that the calls accept."""
    reachable = _OPERATION.findall((CLIENT / "src/operations.ts").read_text(encoding="utf-8"))
    paths = published().document["paths"]
    documented = [
        (f"{method.upper()} {path}", told["operationId"])
        for path, methods in paths.items()
        for method, told in methods.items()
    ]
    assert sorted(reachable) == sorted(documented)


def test_only_the_module_for_node_imports_from_node() -> None:
    """Else no browser could load the client."""
    sources = {path.name: path.read_text(encoding="utf-8") for path in (CLIENT / "src").glob("*.ts")}
    sources.pop("schema.ts", None)
    assert [name for name, text in sources.items() if 'from "node:' in text] == ["node.ts"]


def test_the_package_has_one_dependency_and_the_version_of_the_python_client() -> None:
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    assert [*package["dependencies"]] == ["openapi-fetch"]
    version = VERSION.replace(".dev", "-dev.")  # semver.org, of PEP 440
    assert package["version"] == version
    assert f'const VERSION = "{version}";' in (CLIENT / "src/sender.ts").read_text(encoding="utf-8")
