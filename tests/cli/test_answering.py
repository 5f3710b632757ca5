"""Whatever an application answers, a client gets it as uvicorn by itself would send it, byte for byte."""

import asyncio
import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from builders.cli import protocol
from builders.cli.answering import joined
from tests.cli.connections import CLOSING, ended, serving

Headers = Sequence[tuple[bytes, bytes]]
DATE = re.compile(rb"date: [^\r]+\r\n")
TWO = (b"content-length", b"2")


def start(*headers: tuple[bytes, bytes], status: int = 200) -> Message:
    return {"type": "http.response.start", "status": status, "headers": headers}


def body(text: bytes, *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": text, "more_body": more}


ANSWERS: dict[str, list[Message]] = {
    "one piece": [start(TWO, (b"content-type", b"text/plain")), body(b"ok")],
    "no body": [start((b"content-length", b"0"), (b"location", b"/"), status=302), body(b"")],
    "in parts": [start(TWO), body(b"o", more=True), body(b"k")],
    "without its length": [start(), body(b"ok")],
    "in parts, without its length": [start(), body(b"o", more=True), body(b"k")],
    "chunked": [start((b"transfer-encoding", b"chunked")), body(b"ok")],
    "the last of the connection": [start(TWO, (b"connection", b"close")), body(b"ok")],
    "no content": [start(status=204), body(b"")],
    "not modified": [start((b"etag", b'"a"'), status=304), body(b"")],
    "not modified, with a length": [start(TWO, status=304), body(b"")],
    "too long a body": [start(TWO), body(b"okay")],
    "too short a body": [start(TWO), body(b"o")],
    "two headers in one": [start(TWO, (b"location", b"/\r\nset-cookie: a=b")), body(b"ok")],
    "a line feed in a header": [start(TWO, (b"location", b"/\nset-cookie: a=b")), body(b"ok")],
    "a NUL in a header": [start(TWO, (b"location", b"/\0")), body(b"ok")],
    "a tab in a header": [start(TWO, (b"x-tab", b"a\tb")), body(b"ok")],
    "a body alone": [body(b"ok")],
    "two answers": [start(TWO), body(b"ok"), start(TWO), body(b"no")],
}


def saying(messages: Sequence[Message]) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        for message in messages:
            await send(dict(message))

    return app


async def said(app: ASGIApp, request: bytes, made_by: type[HttpToolsProtocol]) -> bytes:
    async with serving(app, made_by=made_by) as connect, connect() as (reader, writer):
        writer.write(request)
        return DATE.sub(b"", await ended(reader))


@pytest.mark.parametrize(
    "request_line", [b"GET / HTTP/1.1", b"HEAD / HTTP/1.1", b"GET / HTTP/1.0"], ids=["GET", "HEAD", "HTTP/1.0"]
)
@pytest.mark.parametrize("messages", ANSWERS.values(), ids=ANSWERS.keys())
async def test_an_answer_is_what_uvicorn_sends(messages: list[Message], request_line: bytes) -> None:
    request = request_line + b"\r\nHost: x\r\nConnection: close\r\n\r\n"

    ours = await said(saying(messages), request, protocol.bounded(1024))

    assert ours == await said(saying(messages), request, HttpToolsProtocol)
    assert b"set-cookie" not in ours


async def test_an_answer_in_one_piece_is_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    by_uvicorn: list[Message] = []

    async def send(_: RequestResponseCycle, message: Message) -> None:
        by_uvicorn.append(message)

    monkeypatch.setattr(RequestResponseCycle, "send", send)
    answer = await said(saying(ANSWERS["one piece"]), CLOSING, protocol.bounded(1024))
    assert (answer[-2:], by_uvicorn) == (b"ok", [])


@pytest.mark.parametrize("made_by", [protocol.bounded(1024), HttpToolsProtocol], ids=["ours", "uvicorn's"])
async def test_a_head_alone_is_a_fault(made_by: type[HttpToolsProtocol]) -> None:
    answer = await said(saying([start(TWO)]), CLOSING, made_by)
    assert not answer.endswith(b"ok")
    if made_by is not HttpToolsProtocol:  # which has sent a head with 200 by then
        assert answer.startswith(b"HTTP/1.1 500")


async def test_a_connection_is_kept_for_the_next_request() -> None:
    async with serving(saying(ANSWERS["one piece"])) as connect, connect() as (reader, writer):
        for _ in range(3):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            async with asyncio.timeout(10):
                head = await reader.readuntil(b"\r\n\r\n")
                assert await reader.readexactly(2) == b"ok"
            assert b"connection" not in head
        writer.write(CLOSING)
        assert (await ended(reader)).endswith(b"connection: close\r\n\r\nok")


texts = st.binary(max_size=6) | st.sampled_from([b"a: b", b"\r\n", b"\r", b"\n", b"\t", b"\x7f", b"a\r\nb: c"])


@settings(max_examples=500)
@given(st.lists(st.tuples(st.sampled_from([b"a", b"content-type"]), texts), max_size=5))
def test_headers_are_joined_if_each_is_one_line(headers: list[tuple[bytes, bytes]]) -> None:
    is_bad = any(re.search(rb"[\x00-\x08\x0a-\x1f\x7f]", value) for _, value in headers)
    lines = joined(headers)
    assert (lines is None) == is_bad or not headers
    if lines is not None:
        assert lines == b"\r\n".join(name + b": " + value for name, value in headers)
