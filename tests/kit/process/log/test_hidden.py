"""Each log line of the suite is looked through; a line with an address, a subject or a token fails its test."""

from email.message import EmailMessage
from pathlib import Path

import pytest

from builders.kit.process import log
from tests import log_lines

ADDRESS = "ada@mail.example"


def line(text: str) -> str:
    return f'{{"timestamp":"2026-11-27T02:26:26.293Z","level":"info","event":"x","value":"{text}"}}'


@pytest.mark.parametrize(
    "text",
    [
        ADDRESS,
        "a***@mail.example",
        "svc_live_Zx81kQm4vR7tYb2nWc5dLh9s",
        "svc_refresh_Zx81",
        "whsec_MfKQ9r8GKYqr",
        "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl",
        "state=xZ0bWmHk3yJ9-q_T7uVn4LrPd6sAfGeC1oKi8tQhRwM",
        "Subject: Your code",
        "{'subject': 'Your code'}",
    ],
)
def test_a_line_with_what_the_suite_looks_for_is_reported(text: str) -> None:
    with pytest.raises(AssertionError, match="2026-11-27"), log_lines.checked():
        log.lines.write(line(text))


@pytest.mark.parametrize(
    "text",
    [
        "01a21af3-9b77-7041-ad73-85d9cbd40a0b",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "svc_live_***",
        "postgresql://***@127.0.0.1:5432/builders",
        "test_the_answer_of_a_long_name_of_a_function",
    ],
)
def test_a_line_with_ids_is_none(text: str) -> None:
    with log_lines.checked():
        log.lines.write(line(text))


def test_the_subject_of_an_email_of_the_test_is_reported(tmp_path: Path) -> None:
    message = EmailMessage()
    message["Subject"] = "Your domain harbour.example has moved, and its names with it"
    (tmp_path / "1.eml").write_bytes(bytes(message))
    with pytest.raises(AssertionError, match="has moved"), log_lines.checked(tmp_path):
        log.get_logger().info("sent", text=f"({message['Subject']})")


def test_no_logger_writes_an_address() -> None:
    with log_lines.checked():
        log.get_logger().info("x", **{ADDRESS: [ADDRESS]}, text=f"of {ADDRESS}")
        log.get_logger().error("failed", exc_info=ValueError(ADDRESS))


def test_each_test_is_checked(request: pytest.FixtureRequest) -> None:
    assert "_logs_hold_ids_only" in request.fixturenames


def test_only_log_lines_of_what_a_process_prints_are_looked_through() -> None:
    printed = f"Demo key: svc_live_1\n{line('x')}\n{line(ADDRESS)}\n"
    assert log_lines.find_wrong_printed(printed) == [line(ADDRESS)]


def test_a_test_whose_processes_print_such_a_line_fails() -> None:
    def report(printed: str) -> pytest.TestReport:
        sections = [("Captured stderr call", printed)]
        return pytest.TestReport("x", ("x", 1, "x"), {}, "passed", None, "call", sections)

    wrong, right = report(line(ADDRESS)), report(line("x"))
    log_lines.check_report(wrong)
    log_lines.check_report(right)
    assert (wrong.outcome, wrong.longrepr, right.outcome) == ("failed", line(ADDRESS), "passed")
