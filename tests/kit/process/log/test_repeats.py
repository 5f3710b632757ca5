"""Identical warnings: the first line, then their count once a minute."""

import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest

from builders.kit.process import log
from builders.kit.values import clock

A_MINUTE = timedelta(seconds=60)


@pytest.fixture
def stream() -> Iterator[StringIO]:
    found = StringIO()
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    log.configure(stream=found, style="json")
    yield found
    log.configure()
    root.handlers[:] = before
    root.setLevel(level)


def read(stream: StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def counts(stream: StringIO) -> list[tuple[str, int | None]]:
    return [(line["event"], line.get("repeated")) for line in read(stream)]


@pytest.mark.parametrize("is_stdlib", [False, True])
def test_a_repeated_warning_is_written_once_and_counted_each_minute(stream: StringIO, *, is_stdlib: bool) -> None:
    logger: Any = logging.getLogger("pool") if is_stdlib else log.get_logger()
    for _ in range(100):
        logger.warning("disk_full")
    assert counts(stream) == [("disk_full", None)]
    clock.move(A_MINUTE)
    for _ in range(50):
        logger.warning("disk_full")
    assert counts(stream) == [("disk_full", None), ("disk_full", 99)]
    clock.move(A_MINUTE)
    log.get_logger().info("other")
    assert counts(stream)[2:] == [("disk_full", 50), ("other", None)]
    assert {line["level"] for line in read(stream)[:3]} == {"warning"}
    clock.move(A_MINUTE)
    logger.warning("disk_full")
    assert counts(stream)[4:] == [("disk_full", None)]


def test_repeats_are_counted_across_requests_but_not_across_other_fields(stream: StringIO) -> None:
    logger = log.get_logger()
    for request_id in ("a", "b"):
        logger.warning("refused", request_id=request_id, error="full")
    logger.warning("refused", error="other")
    assert [line["error"] for line in read(stream)] == ["full", "other"]


def test_errors_and_requests_are_all_written(stream: StringIO) -> None:
    logger = log.get_logger()
    for _ in range(3):
        logger.error("failed")
        logger.info("request")
    assert len(read(stream)) == 6


def test_a_count_holds_no_secret(stream: StringIO) -> None:
    for _ in range(2):
        log.get_logger().warning("refused", token="svc_live_abc", error="at postgres://ada:hidden@db/x")
    clock.move(A_MINUTE)
    log.get_logger().info("other")
    assert len(read(stream)) == 3
    assert "hidden" not in stream.getvalue()
    assert "abc" not in stream.getvalue()


def test_memory_is_bounded(stream: StringIO) -> None:
    for n in range(3_000):
        log.get_logger().warning("refused", n=n)
    assert len(log.repeats) <= 1_000
    assert len(read(stream)) == 3_000
