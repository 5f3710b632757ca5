"""The log of a terminal: for people, in colour, and as safe as the JSON lines."""

import logging
from io import StringIO

import pytest

from builders.kit.http import access_log
from builders.kit.process import log

KEY = "svc_live_Zx81kQm4vR7tYb2nWc5dLh9s"


class Terminal(StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    log.configure(stream=stream)
    return stream


def test_a_terminal_gets_readable_coloured_lines(terminal: Terminal) -> None:
    log.get_logger().warning("mail_deferred", to="example.net", tries=3)
    logging.getLogger("uvicorn.error").info("Started")
    text = terminal.getvalue()

    assert "{" not in text
    assert "\x1b[" in text
    assert text.count("\n") == 2
    assert all(each in text for each in ("warning", "mail_deferred", "example.net", "Started", "uvicorn.error"))


def test_a_request_is_one_short_line(terminal: Terminal) -> None:
    log.lines.write(access_log._line((0.0, "a1b2", "GET", "/v1/me", 200, 3.14, {}, "127.0.0.1", None, None)))

    assert "GET /v1/me 200" in terminal.getvalue()
    assert "{" not in terminal.getvalue()


def test_secrets_and_control_characters_are_removed(terminal: Terminal) -> None:
    hostile = f"x\x1b[2J\r\nforged {KEY} \u202e"
    log.get_logger().info(hostile, token="s3cret", about=hostile, nested={"password": "p", "a": hostile})
    text = terminal.getvalue()

    assert KEY not in text
    assert "s3cret" not in text
    assert "\x1b[2J" not in text
    assert "\u202e" not in text
    assert "\r" not in text
    assert text.count("\n") == 1


def test_an_exception_keeps_its_lines_and_nothing_else(terminal: Terminal) -> None:
    error = ValueError(f"\x1b[2J {KEY}")
    log.get_logger().error("request_failed", exc_info=error)
    text = terminal.getvalue()

    assert "ValueError: " in text
    assert KEY not in text
    assert "\x1b[2J" not in text


def test_a_long_value_is_cut(terminal: Terminal) -> None:
    log.get_logger().info("worker_started", jobs=[f"package.job_{n}" for n in range(49)])

    assert len(terminal.getvalue()) < 500


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_disabled(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    stream = Terminal()
    log.configure(stream=stream)
    log.get_logger().info("plan_made", actions=3)

    assert "\x1b" not in stream.getvalue()
    assert "actions=3" in stream.getvalue()


@pytest.mark.parametrize(
    ("stream", "style", "is_json"),
    [
        (Terminal(), "json", True),
        (Terminal(), "auto", False),
        (StringIO(), "auto", True),
        (StringIO(), "console", False),
    ],
)
def test_the_setting_decides_before_the_stream(stream: StringIO, style: log.Style, is_json: bool) -> None:
    log.configure(stream=stream, style=style)
    log.get_logger().info("plan_made")

    assert stream.getvalue().startswith("{") is is_json
