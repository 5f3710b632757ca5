"""The script of the manifest in git with a service that is busy, unreachable, slow or not ours."""

import importlib.util
import json
import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "manifest-in-git" / "names.py"

Json = dict[str, Any]


class Canned(BaseHTTPRequestHandler):
    """A service that sends prepared responses and records its requests."""

    answers: list[tuple[int, Json, Json]]
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(f"{self.command} {self.path}")
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, headers, body = self.answers.pop(0)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    do_POST = do_GET  # noqa: N815 - a name of the library

    def log_message(self, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the script as a module that records its delays in `waited` instead of sleeping."""
    spec = importlib.util.spec_from_file_location("names", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    waited: list[float] = []
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=waited.append, monotonic=lambda: 0.0))
    monkeypatch.setattr(module, "waited", waited, raising=False)
    monkeypatch.setenv("BUILDERS_KEY", "svc_live_x")
    return module


@pytest.fixture
def service_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Canned]]:
    """Return the class of a service with prepared responses."""
    handler = type("Handler", (Canned,), {"answers": [], "asked": []})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("BUILDERS_URL", f"http://127.0.0.1:{server.server_port}/")
        yield handler
        server.shutdown()
        thread.join()


def command(monkeypatch: pytest.MonkeyPatch, names: ModuleType, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["names.py", *words])
    code: int = names.main()
    return code


STEP = {"status": "succeeded", "action": "create", "address": "alias.sales", "error": None}
RUNNING: Json = {"id": "p1", "status": "running", "steps": [], "next_actions": []}
DONE: Json = {"id": "p1", "status": "succeeded", "steps": [STEP], "next_actions": []}
NAMED = ("promote", "--plan-id", "x", "--digest", "y")


def test_the_script_respects_retry_after(
    monkeypatch: pytest.MonkeyPatch,
    names: ModuleType,
    service_of: type[Canned],
    capsys: pytest.CaptureFixture[str],
) -> None:
    service_of.answers += [
        (503, {"Retry-After": "7"}, {}),
        (429, {"Retry-After": "900"}, {}),
        (409, {}, {"code": "promotion_running"}),
        (200, {}, DONE),
    ]
    assert command(monkeypatch, names, *NAMED) == 0
    assert names.waited == [7, 60, 8]
    assert [line.partition(": ")[2] for line in capsys.readouterr().err.splitlines()] == [
        *("asked again in 7 s.", "asked again in 60 s.", "asked again in 8 s.")
    ]
    assert service_of.asked == ["POST /v1/sandbox/promote"] * 4


def test_an_unreachable_service_is_an_error_after_all_attempts(
    monkeypatch: pytest.MonkeyPatch, names: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BUILDERS_URL", "http://127.0.0.1:9")
    assert command(monkeypatch, names, *NAMED) == 1
    errors = capsys.readouterr().err.splitlines()
    assert errors[0].startswith("No answer from http://127.0.0.1:9 (")
    assert errors[0].endswith(": asked again in 2 s.")
    assert errors[-1].startswith("No answer from http://127.0.0.1:9: ")
    assert len(errors) - 1 == len(names.waited) == names.ATTEMPTS - 1


def test_the_url_may_end_with_v1(
    monkeypatch: pytest.MonkeyPatch, names: ModuleType, service_of: type[Canned]
) -> None:
    monkeypatch.setenv("BUILDERS_URL", f"{os.environ['BUILDERS_URL']}v1")
    service_of.answers += [(200, {}, DONE)]
    assert command(monkeypatch, names, *NAMED) == 0
    assert service_of.asked == ["POST /v1/sandbox/promote"]


@pytest.mark.parametrize("bound", ["100", "100.00", "100 dollars", "-1.00 USD", "USD 100"])
def test_an_invalid_amount_is_refused_without_a_request(
    monkeypatch: pytest.MonkeyPatch,
    names: ModuleType,
    service_of: type[Canned],
    capsys: pytest.CaptureFixture[str],
    bound: str,
) -> None:
    with pytest.raises(SystemExit) as ended:
        command(monkeypatch, names, *NAMED, f"--max-total={bound}")
    assert ended.value.code == 2
    assert 'argument --max-total: write it as "100.00 USD"' in capsys.readouterr().err
    assert service_of.asked == []


def test_the_script_waits_for_a_running_promotion(
    monkeypatch: pytest.MonkeyPatch, names: ModuleType, service_of: type[Canned]
) -> None:
    service_of.answers += [(200, {}, RUNNING), (200, {}, RUNNING), (200, {}, DONE)]
    assert command(monkeypatch, names, *NAMED) == 0
    assert service_of.asked[1:] == ["GET /v1/sandbox/promotions/p1"] * 2


def test_a_failed_step_is_printed(
    monkeypatch: pytest.MonkeyPatch,
    names: ModuleType,
    service_of: type[Canned],
    capsys: pytest.CaptureFixture[str],
) -> None:
    failed = STEP | {"status": "failed", "error": {"code": "taken", "message": "The name is taken."}}
    partial = DONE | {"status": "partial", "steps": [STEP, failed], "next_actions": ["resume", "replan"]}
    service_of.answers += [(200, {}, partial)]

    assert command(monkeypatch, names, *NAMED) == 1
    errors = capsys.readouterr()
    assert "failed    create   alias.sales: The name is taken.\n" in errors.out
    assert errors.err == "What to do now: resume or replan.\n"


def test_another_service_and_a_bad_url_are_errors(
    monkeypatch: pytest.MonkeyPatch,
    names: ModuleType,
    service_of: type[Canned],
    capsys: pytest.CaptureFixture[str],
) -> None:
    service_of.answers += [(404, {}, {"not": "ours"})]
    assert command(monkeypatch, names, *NAMED) == 1
    assert capsys.readouterr().err.startswith("404")
    monkeypatch.setenv("BUILDERS_URL", "file:///etc/passwd")
    assert command(monkeypatch, names, *NAMED) == 1
    assert capsys.readouterr().err == "BUILDERS_URL is to be an http or https address.\n"
    monkeypatch.delenv("BUILDERS_URL")
    assert command(monkeypatch, names, *NAMED) == 1
    assert capsys.readouterr().err == "The environment has no BUILDERS_URL.\n"
