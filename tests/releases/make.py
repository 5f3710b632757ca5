"""Data of a release: the demo, and what requests add to it, as the code on the path stores them.

    script/bootstrap test python -m tests.releases.make

This writes the folder `tests/releases/VERSION` at a release: a dump of the database, its secret keys, and what the
API answered. `test_fixtures.py` migrates the dumps of all releases.
"""

import gzip
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from builders.cli.embedded import directory
from builders.cli.embedded.server import EmbeddedServer
from builders.demo.service import read_keys
from builders.kit.process import secret_keys
from builders.kit.process.version import VERSION
from tests.demo_server import served

DUMP, STATE = "data.sql.gz", "state.json"
ADDRESS = "http://127.0.0.1:8000"  # as the demo names that of the service
# Lists of what is stored, by the preset of the key that reads them.
LISTS: Mapping[str, Sequence[str]] = {
    "developer_full": ["/v1/builders/projects", "/v1/api-keys", "/v1/notifications/webhooks", "/v1/aliases"],
    "domainer_full": [
        "/v1/portfolio/domains",
        "/v1/portfolio/entries",
        "/v1/portfolio/tags",
        "/v1/account/deciders",
    ],
}
ADDED = [
    (
        "/v1/builders/projects",
        {"name": "Harbour", "description": "Made by a release", "metadata": {"made": "yes"}},
    ),
    ("/v1/builders/projects", {"name": "Meadow"}),
    ("/v1/api-keys", {"label": "Of a release", "preset": "developer_full", "key_kind": "live"}),
]


def make(folder: Path) -> None:
    """Write the data of this release to a folder."""
    folder.mkdir(parents=True)
    with served({"BUILDERS_EXCHANGE_RATES": "off"}) as filled_in:  # the worker would load 230,000 rates
        data_dir, address = Path(filled_in[".data"]), filled_in[ADDRESS]
        keys = {each.preset: each.key for each in read_keys(data_dir) if each.kind == "live"}
        for path, body in ADDED:
            made = httpx.post(
                f"{address}{path}", json=body, headers={"X-API-Key": keys["developer_full"]}, timeout=30
            )
            assert made.is_success, made.text
        state = {"keys": keys, "answers": read(address, keys), "secrets": _read_secrets(data_dir)}
        (folder / STATE).write_text(json.dumps(state, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        with EmbeddedServer(data_dir) as embedded:
            dump = _run("pg_dump", "--no-owner", "--no-privileges", f"--dbname={embedded.conninfo}")
    with gzip.GzipFile(folder / DUMP, "wb", mtime=0) as file:  # the same bytes for the same data
        file.write(dump)


def load(fixture: Path, conninfo: str, data_dir: Path) -> None:
    """Load the data into an empty database, and the secret keys into a data folder."""
    _run("psql", "--quiet", "--set=ON_ERROR_STOP=1", conninfo, text=gzip.decompress((fixture / DUMP).read_bytes()))
    file = data_dir / secret_keys.FILE
    file.write_text(read_state(fixture)["secrets"], encoding="utf-8")
    file.chmod(0o600)


def read_state(fixture: Path) -> Mapping[str, Any]:
    """Return the keys and the answers."""
    return dict(json.loads((fixture / STATE).read_text(encoding="utf-8")))


def read(address: str, keys: Mapping[str, str]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return the items of the lists by path."""
    found = dict[str, Sequence[Mapping[str, Any]]]()
    with httpx.Client(base_url=address, timeout=30) as client:
        for preset, paths in LISTS.items():
            for path in paths:
                answer = client.get(path, headers={"X-API-Key": keys[preset]})
                assert answer.status_code == httpx.codes.OK, f"{path}: {answer.text}"
                found[path] = answer.json()["items"]
    return found


def _read_secrets(data_dir: Path) -> str:
    return (data_dir / secret_keys.FILE).read_text(encoding="utf-8")


def _run(program: str, *words: str, text: bytes = b"") -> bytes:
    run = subprocess.run(
        [directory.find() / "bin" / program, *words], input=text, capture_output=True, check=False
    )
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent / VERSION
    make(target)
    print(f"{target}: {(target / DUMP).stat().st_size} bytes")  # noqa: T201 - a program
