"""Headers are sent unchanged or refused; nothing can be injected."""

import pytest
from structlog.contextvars import bound_contextvars

from builders.kit.outbound.client import OutboundFailed
from tests.kit.outbound.receivers import OK, calling, receiving, saying

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "a\r\nX-B: b"),
        ("X-A", "a\nX-B: b"),
        ("X-A", "a\rb"),
        ("X-A", "a\0b"),
        ("X-A", "a\x7fb"),
        ("X-A", "a\x1fb"),
        ("X-A", " a"),
        ("X-A", "a "),
        ("X-A", "é"),
        ("X-A", "\u010d\u010a"),  # whose low bytes are CR and LF
    ],
)
async def test_a_harmful_value_is_refused(name: str, value: str) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as outbound:
        with pytest.raises(ValueError, match="header") as refused:
            await outbound.request("GET", receiver.url, headers={name: value})
    assert receiver.connections == 0
    assert len(value) < 3 or value not in str(refused.value)


@pytest.mark.parametrize("value", ["", "a", "a b", "a\tb", "Bearer a.b-c_d=", '"quoted, list";q=1'])
async def test_other_values_are_sent_as_they_are(value: str) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as outbound:
        await outbound.request("GET", receiver.url, headers={"X-A": value, "User-Agent": "Other/1"})
    assert (receiver.head["x-a"], receiver.head["user-agent"]) == (value, "Other/1")


@pytest.mark.parametrize("path", ["a b", "a\r\nX-B: b", "a HTTP/1.1\r\n\r\n"])
async def test_a_path_cannot_break_the_request_line(path: str) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as outbound:
        with pytest.raises(OutboundFailed):
            await outbound.request("GET", receiver.url + path)
    assert receiver.connections == 0


async def test_the_trace_of_the_request_under_way_is_passed_on() -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as outbound:
        parents = set()
        for _ in range(2):
            with bound_contextvars(traceparent=TRACE):
                await outbound.request("GET", receiver.url)
            version, trace_id, parent, flags = receiver.head["traceparent"].split("-")
            assert (version, trace_id, flags) == ("00", "0af7651916cd43dd8448eb211c80319c", "01")
            parents.add(parent)
        assert len(parents | {"b7ad6b7169203331"}) == 3
        await outbound.request("GET", receiver.url)
    assert "traceparent" not in receiver.head
