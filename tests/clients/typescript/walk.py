"""Runs the compiled tests and the guide of the TypeScript client against a demo. `check` builds them."""

import os
import re
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from builders_client import Builders
from tests.clients.contract import Stub
from tests.clients.python.far_end import answering
from tests.console.browser.people import BUYER, Demo
from tests.demo_server import served

TEST_S = 300


@pytest.fixture(scope="module")
def given() -> Iterator[Mapping[str, str]]:
    """Return the environment of the tests: a demo, the keys and the session of a person, and a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        receiver = f"127.0.0.1:{free.getsockname()[1]}"
    with served({"BUILDERS_OUTBOUND_ALLOW": receiver}) as filled_in:
        demo = Demo.of(filled_in)
        yield {
            **os.environ,
            "API": demo.origin,
            "LIVE": filled_in["svc_live_…"],
            "TEST": filled_in["svc_test_…"],
            "SESSION": sign_in(demo),
            "RECEIVER": f"http://{receiver}",
        }


def sign_in(demo: Demo) -> str:
    """Return the cookie of a new session."""
    with httpx.Client(base_url=demo.origin) as anyone:
        anyone.post("/v1/auth/login", json={"email": BUYER}).raise_for_status()
        [token] = re.findall(r"token=([\w.~-]+)", demo.find_link(BUYER, "/v1/auth/login"))
        answer = anyone.post("/v1/auth/login/redeem", json={"token": token}).raise_for_status()
        return f"svc_access_token={answer.cookies['svc_access_token']}"


def run(given: Mapping[str, str], *words: str) -> str:
    """Run Node in the folder of the compiled tests; return what it prints."""
    folder = Path(os.environ["BUILDERS_TYPESCRIPT_PROJECT"]) / "compiled"
    command = ["node", "--enable-source-maps", *words]
    done = subprocess.run(
        command, cwd=folder, env=given, capture_output=True, text=True, check=False, timeout=TEST_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_client_against_a_running_service(given: Mapping[str, str]) -> None:
    with Builders(given["LIVE"], base_url=given["API"]) as client:
        client.names.claim("python@harbour.example", to="ada@example.net", max_total="50.00 USD")
    run(given, "--test", "client.test.js")


def test_the_client_keeps_the_contract() -> None:
    with answering(Stub().answer) as far_end:
        run({**os.environ, "STUB": far_end.address}, "--test", "contract.test.js")


def test_the_blocks_of_the_guide_are_a_program(given: Mapping[str, str]) -> None:
    printed = run(given, "use-the-typescript-client.js").splitlines()
    assert printed[:2] == ["developer@builders.example", "typescript@harbour.example succeeded"]
    assert printed[-1] == "project.created"


def test_each_call_of_the_documentation_reaches_its_operation(given: Mapping[str, str]) -> None:
    run(given, "--test", "operations.test.js")
