"""A service as `script/server` starts it, for the pages with commands and the examples."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from builders.demo.registrars.fake import FakeServer
from builders.demo.registrars.fakes import make_fakes
from builders.kit.values import clock
from tests import log_lines
from tests.cli.serving import free_port
from tests.shared_servers import shared

ROOT = Path(__file__).parents[1]
SOURCE = str(ROOT / "src")
AHEAD = ROOT / "tests" / "docs" / "ahead"  # a Python process with this folder in its path is a year ahead
READY_WITHIN_S = 180
STOPPED_WITHIN_S = 60
_ADDRESS = re.compile(r"Builders responds at (http://\S+)")
_KEY = re.compile(r"(\w+_full) +(live|test) +(svc_\w+)")


@pytest.fixture(scope="session")
def registrars() -> Iterator[str]:
    """Run what `builders demo registrars` runs, and yield its address."""
    with FakeServer() as server:
        for fake in make_fakes(clock.now().date()):
            server.add(fake)
        yield server.address


@pytest.fixture(scope="module")
def demo(request: pytest.FixtureRequest, registrars: str) -> Iterator[Mapping[str, str]]:
    """Yield what a reader of the pages fills in, by the placeholder in their text."""

    @contextmanager
    def start() -> Iterator[Mapping[str, str]]:
        receiver = f"127.0.0.1:{free_port()}"
        with served({"BUILDERS_OUTBOUND_ALLOW": f"{registrars},{receiver}"}) as filled_in:
            yield {**filled_in, "127.0.0.1:8100": registrars, "receiver": receiver}

    with shared(request, start) as filled_in:
        yield filled_in


@pytest.fixture(scope="module")
def demo_in_a_year(registrars: str) -> Iterator[Mapping[str, str]]:
    """Yield the same of a service whose clock is a year ahead."""
    with served({"BUILDERS_OUTBOUND_ALLOW": registrars}, python_path=f"{AHEAD}{os.pathsep}{SOURCE}") as filled_in:
        yield {**filled_in, "127.0.0.1:8100": registrars}


@contextmanager
def served(own: Mapping[str, str], *, python_path: str = SOURCE) -> Iterator[Mapping[str, str]]:
    """Run a demo with settings of its own; yield what a reader of the pages fills in."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # as root, PostgreSQL's own user must be able to reach its folder in it
        settings = {"BUILDERS_DATA_DIR": f"{folder}/data", "PYTHONPATH": python_path, **own}
        unset = [word for name in ("BUILDERS_DATABASE_URL", "DATABASE_URL") for word in ("-u", name)]
        builders = ["env", *unset, *(f"{name}={value}" for name, value in settings.items()), sys.executable]
        builders += ["-m", "builders"]
        serve = [*builders, "serve", "--demo", "--port", "0"]
        output = Path(folder) / "output"  # not a pipe, which a process that outlives this one would keep open
        with output.open("w") as written:
            process = subprocess.Popen(serve, cwd=folder, stderr=written)
        try:
            filled_in = {"script/builders": shlex.join(builders), ".data": f"{folder}/data"}
            yield {**_announced(process, output), **filled_in}
        finally:
            process.terminate()
            process.wait(STOPPED_WITHIN_S)
        assert log_lines.find_wrong_printed(output.read_text()) == []


def _announced(process: "subprocess.Popen[bytes]", output: Path) -> Mapping[str, str]:
    """Return the address and the keys that the service prints."""
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        printed = output.read_text()
        address = _ADDRESS.search(printed)
        keys = {(preset, kind): key for preset, kind, key in _KEY.findall(printed)}
        if address and len(keys) == 4:
            break
        assert process.poll() is None, printed
        assert time.monotonic() < deadline, f"not ready after {READY_WITHIN_S} s: {printed}"
        time.sleep(0.05)
    return {
        "http://127.0.0.1:8000": address[1],
        "svc_live_…": keys["developer_full", "live"],
        "svc_test_…": keys["developer_full", "test"],
        "DOMAINER_LIVE": keys["domainer_full", "live"],
        "DOMAINER_TEST": keys["domainer_full", "test"],
    }
