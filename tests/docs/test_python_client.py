"""The program of the page about the Python client, against the demo."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.docs.test_how_tos import ROOT

PAGE = ROOT / "docs" / "how-to" / "use-the-python-client.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_blocks_of_the_page_are_a_program(demo: Mapping[str, str], tmp_path: Path) -> None:
    program = "\n".join(_BLOCK.findall(PAGE.read_text(encoding="utf-8")))
    given = {
        "API": f"{demo['http://127.0.0.1:8000']}/v1",
        "LIVE": demo["svc_live_…"],
        "TEST": demo["svc_test_…"],
        "PYTHONPATH": str(ROOT / "clients" / "python"),
    }
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, env={**os.environ, **given}, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    email, claimed, *rest = done.stdout.splitlines()
    assert (email, claimed) == ("developer@builders.example", "client@harbour.example succeeded")
    assert "client-guide UTC" in rest
    assert rest[-2].startswith("alias_not_found List the names")
    assert rest[-1] == "project.created"
