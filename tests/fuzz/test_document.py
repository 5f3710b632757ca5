"""The running service against its OpenAPI document, by schemathesis, for a configurable time."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from tests.contract.document import operations
from tests.fuzz.served import Served
from tests.published import published

CONFIG = Path(__file__).with_name("schemathesis.toml")
ROOT = CONFIG.parents[2]
LONG = "BUILDERS_FUZZ_EXAMPLES" in os.environ
EXAMPLES = os.environ.get("BUILDERS_FUZZ_EXAMPLES", "1")  # of each operation and phase; script/fuzz takes more
PATHS = os.environ.get("BUILDERS_FUZZ_PATHS", "")  # pattern of the paths that are asked; by default all
SEED = os.environ.get("BUILDERS_FUZZ_SEED", "1")

CALLERS = {
    "a live developer": ("developer_full", "live"),
    "a domainer": ("domainer_full", "live"),
    **({"a test developer": ("developer_full", "test")} if LONG else {}),
}


def schemathesis(
    served: Served, folder: Path, *, key: str | None, key_id: str | None, only: Sequence[str] = ()
) -> None:
    """Run schemathesis in a folder for all or some operations; its findings, with curl commands, fail the test.

    script/fuzz also asks with a test key, asks every operation without a key, follows links between operations and
    tries every rule of each schema.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "FUZZ_OWN_KEY_ID": key_id or "",
    }
    caller = ["--header", f"X-API-Key: {key}"] if key else []
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG), "run", *caller]
    phases = "examples,fuzzing" + (",stateful,coverage" if LONG else "")
    options = ["--max-examples", EXAMPLES, "--seed", SEED, "--no-color", "--phases", phases]
    included = [f"--include-operation-id={each}" for each in only]
    included += ["--include-path-regex", PATHS] if PATHS else []
    command += [*options, *included, f"{served.url}/openapi.json"]
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.system
@pytest.mark.parametrize("caller", CALLERS)
def test_the_service_fits_its_document(unharmed: Served, caller: str, tmp_path: Path) -> None:
    """In the short form a domainer asks the portfolio, a developer the rest: tests/access tests other scopes."""
    preset, kind = CALLERS[caller]
    asked = [
        operation["operationId"]
        for name, operation in operations(published().document).items()
        if (" /v1/portfolio/" in name) == (preset == "domainer_full")
    ]
    assert len(asked) > 50
    wanted = {"label": "fuzz", "key_kind": kind, "preset": preset}
    minter = {"X-API-Key": unharmed.keys[preset, "live"]}
    made = httpx.post(f"{unharmed.url}/v1/api-keys", json=wanted, headers=minter).raise_for_status().json()
    schemathesis(unharmed, tmp_path, key=made["secret"], key_id=made["id"], only=[] if LONG else asked)
    asking = {"X-API-Key": made["secret"]}
    httpx.get(f"{unharmed.url}/v1/api-keys/scopes", headers=asking).raise_for_status()  # it asked to the end


def test_the_service_fits_its_document_without_a_key(unharmed: Served, tmp_path: Path) -> None:
    """In the short form, public operations only: tests/access asks the others without credentials."""
    public = [
        operation["operationId"]
        for operation in operations(published().document).values()
        if not operation["security"] or {} in operation["security"]
    ]
    assert len(public) > 25
    schemathesis(unharmed, tmp_path, key=None, key_id=None, only=[] if LONG else public)
