"""The running service against its own OpenAPI document, by schemathesis: as short as a test, or as long as you like."""

import os
import random
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.fuzz.served import Served

ROOT = Path(__file__).parents[2]
EXAMPLES = int(os.environ.get("BUILDERS_FUZZ_EXAMPLES", "5"))  # of each operation and phase
SEED = int(os.environ.get("BUILDERS_FUZZ_SEED", "1"))

CALLERS = {
    "nobody": None,
    "a live developer": ("developer_full", "live"),
    "a test developer": ("developer_full", "test"),
    "a domainer": ("domainer_full", "live"),
}


def _own_id(served: Served, key: str) -> str:
    """The id of the key that asks."""
    answer = httpx.get(f"{served.url}/v1/api-keys", params={"limit": 500}, headers={"X-API-Key": key})
    found = [item["id"] for item in answer.json()["items"] if key.startswith(item["prefix"])]
    assert len(found) == 1
    return str(found[0])


@pytest.mark.parametrize("caller", CALLERS)
def test_the_service_is_as_its_document_says(served: Served, caller: str, tmp_path: Path) -> None:
    key = served.keys[CALLERS[caller]] if CALLERS[caller] else None
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(Path(__file__).with_name("schemathesis.toml"))]
    options = ["--max-examples", str(EXAMPLES), "--seed", str(SEED), "--no-color"]
    if key:
        options += ["--header", f"X-API-Key: {key}"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "FUZZ_OWN_KEY_ID": _own_id(served, key) if key else "",
    }
    run = subprocess.run(
        [*command, "run", f"{served.url}/openapi.json", *options],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert served.complaints() == []
