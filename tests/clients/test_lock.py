"""The lock file of tests/clients/node/check names versions and no registry."""

import json
from pathlib import Path
from typing import Any

NODE = Path(__file__).with_name("node")


def test_the_lock_has_every_package_and_no_url() -> None:
    wanted: dict[str, Any] = json.loads((NODE / "package.json").read_text())["devDependencies"]
    packages: dict[str, Any] = json.loads((NODE / "package-lock.json").read_text())["packages"]
    assert packages[""]["devDependencies"] == wanted
    for name, version in wanted.items():
        assert packages[f"node_modules/{name}"]["version"] == version
    assert [name for name, each in packages.items() if "resolved" in each] == []
    assert [name for name, each in packages.items() if name and "integrity" not in each] == []
