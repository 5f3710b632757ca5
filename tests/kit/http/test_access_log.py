"""The log line of a request equals the logger's, and is written soon."""

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from builders.kit.http import access_log
from builders.kit.http.callers import CALLER
from builders.kit.http.error_pages import ERROR_CODE
from builders.kit.process import log
from builders.kit.process.redaction import MASK
from builders.kit.values import clock, ids
from tests import log_lines
from tests.cast import Client, Person
from tests.identity.make import mint

REQUEST: dict[str, Any] = {"request_id": "request-1", "path": "/v1/catalog/check", "status": 200, "ms": 1.25}
SECRETS = ["svc_live_hidden", "whsec_hidden", "?password=hidden", "Bearer hidden", "eyJhidden.hidden.hidden"]


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    access_log.flush()
    yield
    access_log.flush()


async def note(
    *,
    method: str = "GET",
    client: str | None = "192.0.2.1",
    account_id: UUID | None = None,
    code: str | None = None,
    **changes: object,
) -> None:
    scope: dict[str, Any] = {"method": method, "client": None if client is None else (client, 0), ERROR_CODE: code}
    if account_id is not None:
        scope[CALLER] = SimpleNamespace(live_account_id=account_id)
    access_log.log_request(scope, **{**REQUEST, "waits_ms": {}, **changes})


def events(stream: StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


async def test_lines_are_written_together_within_the_time(logged: StringIO) -> None:
    await note(status=200)
    await note(status=404)
    assert logged.getvalue() == ""

    await asyncio.sleep(2 * access_log.FLUSH_INTERVAL.total_seconds())
    assert [each["status"] for each in events(logged)] == [200, 404]

    await note(status=500)  # the timer is set anew
    await asyncio.sleep(2 * access_log.FLUSH_INTERVAL.total_seconds())
    assert [each["status"] for each in events(logged)] == [200, 404, 500]


@pytest.mark.parametrize("path", ["/v1/me", "/v1/svc_live_hidden"])  # written by the fast path, and by the logger
async def test_a_line_has_the_account_and_the_error_code(logged: StringIO, path: str) -> None:
    account_id = ids.new()
    await note(path=path, status=403, account_id=account_id, code="insufficient_scope")
    await note(path=path)
    access_log.flush()

    refused, answered = events(logged)
    assert (refused["account_id"], refused["code"]) == (str(account_id), "insufficient_scope")
    assert not {"account_id", "code"} & answered.keys()


@pytest.mark.parametrize("path", ["/v1/me", "/v1/svc_live_hidden"])  # written by the fast path, and by the logger
async def test_a_line_says_what_the_request_waited_for(logged: StringIO, path: str) -> None:
    await note(path=path, waits_ms={"connection": 12.5})
    await note(path=path)
    access_log.flush()

    waited, answered = events(logged)
    assert waited["waited_connection_ms"] == 12.5
    assert not [name for name in answered if name.startswith("waited")]


async def test_a_refused_request_of_a_test_key_names_the_real_account_and_the_error(
    alice: Person, anyone: Client, logged: StringIO
) -> None:
    found = await alice.test.get("/v1/invoices/unknown")
    await anyone.get("/v1/me")
    access_log.flush()

    by_alice, by_nobody = [each for each in events(logged) if each["event"] == "request"]
    assert (by_alice["account_id"], by_alice["code"]) == (str(alice.account.id), found.json()["code"])
    assert (by_nobody.get("account_id"), by_nobody["code"]) == (None, "credentials_missing")


async def test_a_key_from_another_address_names_its_account(
    alice: Person, anyone: Client, logged: StringIO
) -> None:
    key = (await mint(alice, allowed_ips=["192.0.2.0/24"]))["secret"]
    await anyone.get("/v1/me", headers={"X-API-Key": key})
    access_log.flush()

    *_, refused = [each for each in events(logged) if each["event"] == "request"]
    assert (refused["account_id"], refused["code"]) == (str(alice.account.id), "address_not_allowed")


async def test_a_line_has_the_time_of_its_request(logged: StringIO) -> None:
    noted = clock.epoch()
    await note()
    clock.move(timedelta(minutes=1))
    access_log.flush()

    [event] = events(logged)
    assert event["timestamp"] == log.stamp(noted) or event["timestamp"] > log.stamp(noted)
    assert event["timestamp"] < log.stamp(clock.epoch())


async def test_the_number_of_buffered_lines_is_bounded(logged: StringIO) -> None:
    for _ in range(2 * access_log._MAX_BUFFERED + 1):
        await note()
    assert len(events(logged)) == 2 * access_log._MAX_BUFFERED


def test_a_line_of_a_closed_event_loop_is_written_with_the_next_one(logged: StringIO) -> None:
    asyncio.run(note(status=1))
    assert logged.getvalue() == ""
    clock.move(3 * access_log.FLUSH_INTERVAL)

    async def later() -> None:
        await note(status=2)
        await asyncio.sleep(2 * access_log.FLUSH_INTERVAL.total_seconds())

    asyncio.run(later())
    assert [each["status"] for each in events(logged)] == [1, 2]


async def test_nothing_is_buffered_at_a_level_that_drops_it(logged: StringIO) -> None:
    log.configure(level="warning", stream=logged)
    await note()
    access_log.flush()
    assert logged.getvalue() == ""


async def test_a_long_path_is_not_kept_in_memory(logged: StringIO) -> None:
    access_log._constant_parts.cache_clear()
    await note(request_id="request1", path="/" + "a" * 60_000)
    access_log.flush()
    assert len(events(logged)) == 1
    assert access_log._constant_parts.cache_info().currsize == 0


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("field", ["request_id", "path", "client", "method"])
async def test_no_text_of_a_client_shows_a_secret(logged: StringIO, field: str, secret: str) -> None:
    changed: dict[str, Any] = {field: f"/{secret}"}
    await note(**changed)
    access_log.flush()
    [event] = events(logged)
    assert "hidden" not in logged.getvalue()
    assert MASK in event[field]


texts = st.text(max_size=300) | st.sampled_from(SECRETS)


@given(
    st.tuples(
        texts,
        texts,
        texts,
        st.integers(0, 599),
        st.floats(0, 1e6).map(lambda ms: round(ms, 2)),
        st.none() | st.text(max_size=60),
    )
)
def test_a_line_is_what_the_logger_would_have_written(values: tuple[object, ...]) -> None:
    names = ("request_id", "method", "path", "status", "ms", "client")
    said: dict[str, Any] = dict(zip(names, values, strict=True))

    async def both() -> tuple[StringIO, StringIO]:
        ours, theirs = StringIO(), StringIO()
        log.configure(stream=ours)
        await note(**said)
        access_log.flush()
        log.configure(stream=theirs)
        log.get_logger().info("request", **said)
        return ours, theirs

    try:
        ours, theirs = asyncio.run(both())
    finally:
        log_lines.write_errors_only()
    [our_line], [their_line] = (stream.getvalue().split("\n")[:-1] for stream in (ours, theirs))
    assert list(json.loads(our_line)) == list(json.loads(their_line))
    assert {**json.loads(our_line), "timestamp": ""} == {**json.loads(their_line), "timestamp": ""}
