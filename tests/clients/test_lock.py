"""The lock files for Node name versions and no registry."""

import json
from pathlib import Path
from typing import Any

import pytest

NODE = Path(__file__).with_name("node")
TYPESCRIPT = Path(__file__).parents[2] / "clients" / "typescript"


@pytest.mark.parametrize("folder", [NODE, TYPESCRIPT], ids=["node", "typescript"])
def test_the_lock_has_every_package_and_no_url(folder: Path) -> None:
    package: dict[str, Any] = json.loads((folder / "package.json").read_text())
    packages: dict[str, Any] = json.loads((folder / "package-lock.json").read_text())["packages"]
    assert packages[""]["devDependencies"] == package["devDependencies"]
    wanted = {**package["devDependencies"], **package.get("dependencies", {})}
    for name, version in wanted.items():
        assert packages[f"node_modules/{name}"]["version"] == version
    assert [name for name, each in packages.items() if "resolved" in each] == []
    assert [name for name, each in packages.items() if name and "integrity" not in each] == []
