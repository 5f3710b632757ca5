"""The checks of `doctor` of servers that a setting names, against servers of the test that answer wrongly."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from builders.cli import listener_checks
from builders.cli.doctor import Finding
from builders.kit.process.parts import Parts, Trouble
from builders.kit.process.settings import Settings

CLOSES = b""


@contextmanager
def answering(reply: bytes | None, path: Path | None = None) -> Iterator[str]:
    """Run a server that sends a reply and closes, or for None is silent; yield its place as a setting."""
    listener = socket.create_server(("127.0.0.1", 0)) if path is None else socket.socket(socket.AF_UNIX)
    if path is not None:
        listener.bind(str(path))
        listener.listen()
    kept: list[socket.socket] = []

    def serve() -> None:
        try:
            while True:
                connection, _ = listener.accept()
                kept.append(connection)
                if reply is not None:
                    connection.sendall(reply)
                    connection.shutdown(socket.SHUT_WR)
        except OSError:
            return

    thread = Thread(target=serve)
    thread.start()
    try:
        yield f"unix:{path}" if path else f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        for each in (listener, *kept):
            each.close()


def check(settings: Settings, running: Parts | None = None, **limits: float) -> Finding:
    checks = listener_checks.run_checks(settings, running or {}, **limits)
    [found] = [each for each in checks if each.check != "processes"]
    return found


@pytest.mark.parametrize("reply", [b"220 mx1.builders.example\r\n", b"220 x ESMTP\n"])
def test_a_filter_that_greets_passes(reply: bytes) -> None:
    with answering(reply) as place:
        found = check(Settings(filter_listen=place))
    assert (found.ok, found.check) == (True, "filter listener")


def test_a_look_up_server_that_answers_passes(tmp_path: Path) -> None:
    with answering(listener_checks.NOT_FOUND, tmp_path / "lookup") as place:
        found = check(Settings(lookup_listen=place))
    assert (found.ok, found.detail) == (True, f"It answers at {tmp_path / 'lookup'}.")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (b"421 not now\r\n", "The answer at {where} is '421 not now'."),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "The answer at {where} is 'SSH-2.0-OpenSSH_9.2'."),
        (b"\xff" * 300 + b"\r\n", "The answer at {where} is '" + "\N{REPLACEMENT CHARACTER}" * 80 + "'."),
        (b"x" * 100_000, "The answer at {where} has no end."),
        (b"220 half", "No answer at {where}: it closes the connection."),
        (CLOSES, "No answer at {where}: it closes the connection."),
    ],
)
def test_a_filter_that_answers_wrongly_is_reported(reply: bytes, said: str) -> None:
    with answering(reply) as place:
        found = check(Settings(filter_listen=place))
    assert not found.ok
    assert found.detail == said.format(where=place.replace(":", " port "))
    assert "BUILDERS_FILTER_LISTEN" in (found.next_action or "")


@pytest.mark.parametrize("setting", ["filter_listen", "lookup_listen"])
def test_a_server_that_accepts_and_never_answers_is_reported(tmp_path: Path, setting: str) -> None:
    with answering(None, tmp_path / "silent") as place:
        found = check(Settings.model_validate({setting: place}), within_s=0.2)
    assert not found.ok
    assert found.detail.startswith(f"{tmp_path / 'silent'} accepts connections and does not answer within 0.2 s")


@pytest.mark.parametrize(("running", "ok"), [({}, True), ({"filter": None}, False)])
def test_a_place_where_nothing_listens_is_wrong_if_the_process_runs(*, running: Parts, ok: bool) -> None:
    with answering(None) as place:
        pass
    found = check(Settings(filter_listen=place), running)
    assert found.ok is ok
    assert found.detail.startswith(f"Nothing listens at {place.replace(':', ' port ')}")


@pytest.mark.parametrize(
    ("reply", "ok"), [(b"HTTP/1.0 200 OK\r\n\r\n", True), (b"HTTP/1.1 404 Not\r\n\r\n", False)]
)
def test_the_metrics_are_asked_for(reply: bytes, *, ok: bool) -> None:
    with answering(reply) as place:
        port = int(place.partition(":")[2])
        found = check(Settings.model_validate({"metrics_port": port, "metrics_host": "0.0.0.0"}))  # noqa: S104 - not bound
    assert (found.check, found.ok) == ("metrics", ok)


def test_a_process_with_trouble_is_named() -> None:
    [found] = listener_checks.run_checks(
        Settings(), {"http-1": None, "worker": Trouble.ENDS, "filter": Trouble.SILENT}
    )
    assert not found.ok
    assert found.detail.startswith("filter ")
    assert "; worker " in found.detail
    assert "http-1" not in found.detail
