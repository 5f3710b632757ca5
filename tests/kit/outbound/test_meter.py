"""The bytes of a response are counted before they are parsed."""

import asyncio
from contextlib import suppress

import pytest
from aiohttp.client_proto import ResponseHandler

from builders.kit.outbound import meter
from builders.kit.outbound.client import Failure, OutboundFailed, Response
from tests.kit.outbound.receivers import OK, Reader, Writer, calling, receiving, saying
from tests.kit.outbound.test_bounds import ENDLESS, HEAD, failure
from tests.kit.scratch import until

PARSED = 64 * 1024  # bytes that a parser may see of an answer of which 10,000 are wanted
AT_ONCE = 32 * 1024  # bytes, of a head; of a body less


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of what aiohttp's parser was given."""
    sizes: list[int] = []
    received = ResponseHandler.data_received

    def data_received(self: ResponseHandler, data: bytes) -> None:
        sizes.append(len(data))
        received(self, data)

    monkeypatch.setattr(ResponseHandler, "data_received", data_received)
    return sizes


@pytest.mark.parametrize("what", ENDLESS)
@pytest.mark.parametrize("keep_bytes", [None, 100])
async def test_an_endless_response_is_cut_off_by_its_bytes(
    what: str, keep_bytes: int | None, parsed: list[int]
) -> None:
    async with receiving(ENDLESS[what]) as receiver, calling(receiver) as outbound:
        request = outbound.request("GET", receiver.url, max_bytes=10_000, keep_bytes=keep_bytes, total_s=30)
        [ended] = await asyncio.gather(request, return_exceptions=True)
    if isinstance(ended, OutboundFailed):
        assert ended.kind in {Failure.TOO_LARGE, Failure.PROTOCOL}
    else:
        assert isinstance(ended, Response)
        assert ended.truncated
    assert sum(parsed) <= PARSED
    assert max(parsed, default=0) <= AT_ONCE


@pytest.mark.parametrize("reuse", [False, True])
async def test_at_most_three_informational_responses_come_before_the_final_one(reuse: bool) -> None:
    hint = b"HTTP/1.1 103 Early Hints\r\nLink: <a>; rel=preload\r\n\r\n"
    async with receiving(saying(hint * 3 + OK, close=False)) as receiver, calling(receiver) as outbound:
        for _ in range(2):
            assert (await outbound.request("POST", receiver.url, reuse=reuse)).body == b"ok"
    async with receiving(saying(hint * 4 + OK)) as receiver, calling(receiver) as outbound:
        assert await failure(outbound, receiver, reuse=reuse) is Failure.PROTOCOL


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000_000])
async def test_a_response_is_the_same_in_whatever_pieces_it_arrives(size: int) -> None:
    said = (
        b"\r\n\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 \n\n"
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Kind: a\r\n\r\n"
        b"5;ext=1\r\nhello\r\n00003\r\n, b\r\n0\r\nX-Trailer: a\r\n\r\n"
    )
    pieces = [said[start : start + size] for start in range(0, len(said), size)]
    async with receiving(saying(*pieces, close=False)) as receiver, calling(receiver) as outbound:
        for _ in range(2):
            answer = await outbound.request("GET", receiver.url, reuse=True)
            assert (answer.status, answer.body, answer.headers["x-kind"]) == (200, b"hello, b", "a")
    assert receiver.connections == 1


async def test_a_large_body_is_parsed_in_slices(parsed: list[int]) -> None:
    body = bytes(range(256)) * 3_500
    said = HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    for close in (False, True):
        async with receiving(saying(said, close=close)) as receiver, calling(receiver) as outbound:
            assert (await outbound.request("GET", receiver.url, max_bytes=1_000_000)).body == body
    assert max(parsed) <= meter.SLICE_BYTES


async def test_a_kept_connection_with_unexpected_data_is_closed(parsed: list[int]) -> None:
    async def answer(reader: Reader, writer: Writer) -> None:
        del reader
        writer.write(OK)
        await writer.drain()
        await resting.wait()
        with suppress(ConnectionError):
            while True:
                writer.write(b"a" * 65_536)
                await writer.drain()

    resting = asyncio.Event()
    async with receiving(answer) as receiver, calling(receiver) as outbound:
        assert (await outbound.request("GET", receiver.url, reuse=True)).body == b"ok"
        resting.set()
        await until(receiver.is_left_alone)
    assert sum(parsed) <= len(OK)
