import json
import logging
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from io import StringIO
from pathlib import PurePosixPath
from uuid import UUID

import pytest
from hypothesis import given, strategies as st
from structlog.contextvars import bound_contextvars

from builders.kit.process import log
from builders.kit.values import clock
from tests.kit.process.log.written import Written

KEY = "svc_live_Zx81kQm4vR7tYb2nWc5dLh9s"


class Colour(Enum):
    RED = "red"


class Unreadable:
    def __repr__(self) -> str:
        raise RuntimeError(KEY)


def test_an_event_is_one_json_object_on_one_line(written: Written) -> None:
    with bound_contextvars(request_id="req-1"):
        log.get_logger().info("plan_made", plan_id=UUID(int=7), actions=3)
    assert list(written.one()) == ["timestamp", "level", "event", "request_id", "plan_id", "actions"]
    assert written.one() | {"timestamp": ""} == {
        "timestamp": "",
        "level": "info",
        "event": "plan_made",
        "request_id": "req-1",
        "plan_id": "00000000-0000-0000-0000-000000000007",
        "actions": 3,
    }


def test_the_timestamp_is_the_clocks_time_in_utc(written: Written) -> None:
    with clock.moved(timedelta(days=1000)):
        log.get_logger().info("later")
    text = written.one()["timestamp"]
    assert text.endswith("Z")
    assert datetime.fromisoformat(text) - datetime.now(UTC) > timedelta(days=999)


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        (0.0, "1970-01-01T00:00:00.000Z"),
        (0.0619, "1970-01-01T00:00:00.061Z"),
        (-0.0005, "1969-12-31T23:59:59.999Z"),
        (1798761599.9996, "2026-12-31T23:59:59.999Z"),
        (-62135510400.0, "0001-01-02T00:00:00.000Z"),
    ],
)
def test_a_timestamp_is_truncated_to_milliseconds(at: float, shown: str) -> None:
    assert log.stamp(at) == shown


@pytest.mark.parametrize("name", ["uvicorn", "uvicorn.access", "uvicorn.error", "procrastinate.worker", "psycopg"])
def test_stdlib_records_become_the_same_lines(written: Written, name: str) -> None:
    with bound_contextvars(request_id="req-1"):
        logging.getLogger(name).warning("took %s with %s", 3, KEY, extra={"job": {"token": "t0ps3cret"}})
    event = written.one()
    assert list(event)[:5] == ["timestamp", "level", "logger", "event", "request_id"]
    assert event["event"] == "took 3 with svc_live_***"
    assert (event["level"], event["logger"], event["request_id"]) == ("warning", name, "req-1")
    assert event["job"] == {"token": "***"}


def test_extra_fields_do_not_replace_level_or_time(written: Written) -> None:
    logging.getLogger("stdlib").warning("x", extra={"level": "debug", "timestamp": KEY, "logger": "other"})
    event = written.one()
    assert (event["level"], event["logger"]) == ("warning", "stdlib")
    assert KEY not in written.text


def test_a_logger_with_its_own_handlers_writes_each_record_once() -> None:
    own, raw = logging.getLogger("uvicorn.access"), StringIO()
    own.addHandler(logging.StreamHandler(raw))
    own.propagate = False
    own.setLevel(logging.ERROR)
    written = Written()
    log.configure(stream=written.stream)
    own.warning("GET /")
    assert written.one()["event"] == "GET /"
    assert not raw.getvalue()


def test_levels_below_the_threshold_are_dropped_for_both() -> None:
    written = Written()
    log.configure(level="WARNING", stream=written.stream)
    log.get_logger().info("quiet")
    logging.getLogger("quiet").info("quiet")
    log.get_logger().error("loud")
    logging.getLogger("loud").warning("loud")
    assert [event["event"] for event in written.events()] == ["loud", "loud"]


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="'loud' is not a log level"):
        log.configure(level="loud")


def test_a_logger_follows_the_next_configuration(written: Written) -> None:
    logger, later = log.get_logger(), Written()
    logger.info("first")
    log.configure(stream=later.stream)
    logger.info("second")
    assert (written.one()["event"], later.one()["event"]) == ("first", "second")


def test_logs_go_to_stderr_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure()
    log.get_logger().info("hello")
    said = capsys.readouterr()
    assert json.loads(said.err)["event"] == "hello"
    assert not said.out


@pytest.mark.parametrize(
    "end", ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\x1b[2K", "\0"]
)
def test_no_value_can_forge_a_line(written: Written, end: str) -> None:
    forged = f'x{end}{{"level":"info","event":"all is well"}}'
    log.get_logger().info(forged, value=forged, names={forged: 1})
    logging.getLogger("stdlib").info(forged)
    assert len(written.text.splitlines()) == len(written.events()) == 2
    assert written.text.replace("\n", "").isprintable()
    assert written.text.isascii()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    )
)
def test_any_value_becomes_a_line_of_strict_json(value: object) -> None:
    written = Written()
    log.configure(stream=written.stream)
    log.get_logger().info("x", value=value)
    assert json.loads(written.text, parse_constant=pytest.fail)["event"] == "x"


def test_other_values_are_shown_as_text(written: Written) -> None:
    log.get_logger().info(
        "x",
        values=[
            Decimal("1.50"),
            Colour.RED,
            datetime(2026, 5, 1, tzinfo=UTC),
            PurePosixPath("/a"),
            float("nan"),
        ],
        seen={1: "a"},
        broken=Unreadable(),
        great=10**5000,
    )
    event = written.one()
    assert event["values"] == ["1.50", "red", "2026-05-01T00:00:00+00:00", "/a", "nan"]
    assert event["seen"] == {"1": "a"}
    assert event["broken"] == "<unreadable Unreadable>"
    assert event["great"] == "<integer of 16610 bits>"


def test_a_circular_reference_ends(written: Written) -> None:
    circle: dict[str, object] = {}
    circle["again"] = [circle]
    log.get_logger().info("x", circle=circle)
    assert len(written.text) < 1000


def test_a_huge_event_is_bounded_and_keeps_the_ends_of_a_text(written: Written) -> None:
    long = "begin" + "x" * 10**6 + "end"
    log.get_logger().info("x", long=long, many=[long] * 1000)
    log.get_logger().info("x", wide=dict.fromkeys(range(1000), "y"))
    event, other = written.events()
    assert event["long"].startswith("begin")
    assert event["long"].endswith("end")
    assert len(event["many"]) == 51
    assert len(other["wide"]) == 51
    assert len(written.text) < 50_000


def test_a_record_that_cannot_be_written_out_is_named_without_its_arguments(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    record = logging.LogRecord("stdlib", logging.INFO, "here.py", 1, "%d of %d", (KEY,), None)
    (handler,) = (each for each in logging.getLogger().handlers if isinstance(each, log._Handler))
    handler.handle(record)
    assert written.one() == {"level": "error", "logger": "stdlib", "event": "log_record_unreadable"}
    assert not capsys.readouterr().err


def test_a_closed_stream_raises_no_error(written: Written) -> None:
    written.stream.close()
    log.get_logger().info("x")
    logging.getLogger("stdlib").info("x")
    assert written.stream.closed


def test_uvicorns_coloured_copy_is_left_out(written: Written) -> None:
    logging.getLogger("uvicorn.error").info("started", extra={"color_message": "\x1b[1mstarted"})
    assert "color_message" not in written.one()


def test_the_current_exception_is_logged_without_an_argument(written: Written) -> None:
    try:
        sys.exit(KEY)
    except SystemExit:
        log.get_logger().warning("leaving", exc_info=True)
    assert "SystemExit: svc_live_***" in written.one()["exception"]
