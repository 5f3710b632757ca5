"""`builders serve` in a separate process on a free port."""

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import NamedTuple

import psutil

from tests import log_lines

ADDRESS = re.compile(r"responds at http://127\.0\.0\.1:(\d+)")
START_S, STOP_S = 180, 40  # a start takes 15 s alone, and 60 s beside eight programs


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A running service."""

    port: int
    process: psutil.Process  # the one that speaks HTTP
    log: Path
    keys: dict[tuple[str, str], str] = field(repr=False)  # by preset and kind

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def header(self, preset: str = "developer_full", kind: str = "live") -> bytes:
        """Return the header with the key."""
        return b"X-API-Key: %s\r\n" % self.keys[preset, kind].encode()

    def look(self) -> "Health":
        """Return the health of the service."""
        lines = self.log.read_text().splitlines()
        complaints = [line for line in lines if '"level":"error"' in line or "Traceback" in line]
        return Health(self.process.is_running(), int(self.process.memory_info().rss), complaints)


class Health(NamedTuple):
    """The health of a service as seen from outside."""

    lives: bool
    memory: int  # in bytes
    complaints: list[str]  # lines of the log with an error


@contextmanager
def serve(folder: Path, *, conninfo: str) -> Iterator[Served]:
    """Run the service with the demo catalog and accounts."""
    log = folder / "log"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("BUILDERS_")}
    environment = inherited | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "BUILDERS_DATABASE_URL": conninfo,
        "BUILDERS_DATA_DIR": str(folder / "data"),
        "BUILDERS_LOG_LEVEL": "warning",
        "BUILDERS_DNS_RESOLVERS": "127.0.0.1:9",  # where nobody answers: no test asks the world
        "BUILDERS_LIMITS": "off",  # hostile requests by the thousand, all from here
    }
    with log.open("w") as errors:
        command = [sys.executable, "-m", "builders", "serve", "--demo", "--port", "0"]
        process = Popen(command, env=environment, stderr=errors, stdin=DEVNULL)
    try:
        port = _port(process, log)
        rows = json.loads((folder / "data" / "demo-keys.json").read_text())
        keys = {(row["preset"], row["kind"]): row["key"] for row in rows}
        (answering,) = [each for each in psutil.Process(process.pid).children() if "http" in each.cmdline()]
        yield Served(port=port, process=answering, log=log, keys=keys)
    finally:
        process.terminate()
        process.wait(STOP_S)
    assert log_lines.find_wrong_printed(log.read_text()) == []


def _port(process: "Popen[bytes]", log: Path) -> int:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        found = ADDRESS.search(log.read_text())
        if found:
            return int(found[1])
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    raise AssertionError(f"not ready after {START_S} s: {log.read_text()}")
