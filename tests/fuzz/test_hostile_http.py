"""Malformed, oversized and endless HTTP."""

import socket
import struct
from collections.abc import Iterator

import pytest

from tests.fuzz.served import Served
from tests.fuzz.wire import CLOSE, TIMEOUT_S, answers, send, talk

MB = 1024 * 1024
HOST = b"Host: builders.test\r\n"
GET = b"GET /livez HTTP/1.1\r\n" + HOST
POST = b"POST /v1/api-keys HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n"

MALFORMED = {
    "both lengths": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "both, turned": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    "an unknown coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunked not last": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "two codings": CHUNKED + b"Transfer-Encoding: cow\r\n\r\n0\r\n\r\n",
    "space before the colon": POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "one length twice": POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "two lengths": POST + b"Content-Length: 2\r\nContent-Length: 0\r\n\r\n{}",
    "a list of lengths": POST + b"Content-Length: 2, 2\r\n\r\n{}",
    "length -1": POST + b"Content-Length: -1\r\n\r\n{}",
    "length +2": POST + b"Content-Length: +2\r\n\r\n{}",
    "length 0x2": POST + b"Content-Length: 0x2\r\n\r\n{}",
    "length 1_0": POST + b"Content-Length: 1_0\r\n\r\n{}",
    "length in another script": POST + "Content-Length: ٢\r\n\r\n{}".encode(),
    "no length": POST + b"Content-Length: \r\n\r\n{}",
    "endless length": POST + b"Content-Length: 99999999999999999999999\r\n\r\n{}",
    "chunk size zz": CHUNKED + b"\r\nzz\r\n{}\r\n0\r\n\r\n",
    "chunk size -2": CHUNKED + b"\r\n-2\r\n{}\r\n0\r\n\r\n",
    "chunk size 0x2": CHUNKED + b"\r\n0x2\r\n{}\r\n0\r\n\r\n",
    "chunk size over 64 bits": CHUNKED + b"\r\nffffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
    "a chunk longer than its size": CHUNKED + b"\r\n1\r\n{}\r\n0\r\n\r\n",
    "chunks with bare line feeds": CHUNKED + b"\r\n2\n{}\n0\n\n",
    "a length among the trailers": CHUNKED + b"\r\n2\r\n{}\r\n0\r\nContent-Length: 7\r\n\r\n",
    "bare line feeds": b"GET /livez HTTP/1.1\nHost: builders.test\n\n",
    "a folded header": GET + b"X-Request-ID: abcdefgh\r\n Set-Cookie: a=b\r\n\r\n",
    "a line feed in a header": GET + b"X-Request-ID: abcdefgh\nSet-Cookie: a=b\r\n\r\n",
    "a carriage return in a header": GET + b"X-Request-ID: abcdefgh\rSet-Cookie: a=b\r\n\r\n",
    "a NUL in a header": GET + b"X-API-Key: a\0b\r\n\r\n",
    "a control character in a header": GET + b"Idempotency-Key: \x01\r\n\r\n",
    "a header that begins with space": GET + b" X: a\r\n\r\n",
    "a header without a colon": GET + b"Xfoo\r\n\r\n",
    "a NUL in the path": b"GET /livez\0 HTTP/1.1\r\n" + HOST + b"\r\n",
    "bytes in the path": b"GET /v1/catalog/domains/\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n",
    "bytes in the query": b"GET /v1/catalog/domains?q=\xff HTTP/1.1\r\n" + HOST + b"\r\n",
    "no path": b"GET livez HTTP/1.1\r\n" + HOST + b"\r\n",
    "an address without a path": b"GET http://other.example HTTP/1.1\r\n" + HOST + b"\r\n",
    "half an address": b"GET http://[::1 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a tunnel": b"CONNECT other.example:443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a method nobody knows": b"STEAL /livez HTTP/1.1\r\n" + HOST + b"\r\n",
    "a method in small letters": b"get /livez HTTP/1.1\r\n" + HOST + b"\r\n",
    "HTTP/9.9": b"GET /livez HTTP/9.9\r\n" + HOST + b"\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
    "every byte": bytes(range(256)) * 4,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_request_is_refused_and_ends_the_connection(unharmed: Served, name: str) -> None:
    (answer,) = talk(unharmed.port, MALFORMED[name] + GET + b"\r\n")
    assert answer.status == 400
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "bad_request"
    assert answer.headers["Set-Cookie"] is None


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_request_does_not_answer_an_earlier_one(unharmed: Served, name: str) -> None:
    given = talk(unharmed.port, GET + b"\r\n" + GET + b"\r\n" + MALFORMED[name] + GET + b"\r\n")
    assert [answer.status for answer in given] in ([], [200, 200], [200, 200, 400])


def test_a_body_beyond_its_length_is_not_a_second_request(unharmed: Served) -> None:
    said = b"Content-Length: 2\r\n\r\n"
    given = talk(unharmed.port, POST + unharmed.header() + said + b'{}"label": "x"}' + GET + b"\r\n")
    assert [answer.status for answer in given] in ([422], [422, 400])


def test_a_request_gets_one_response(unharmed: Served) -> None:
    given = talk(unharmed.port, POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{", b"}\r\nzz\r\n")
    assert [answer.status for answer in given] in ([401], [400])


def test_a_trailer_is_not_a_header(unharmed: Served) -> None:
    (answer,) = talk(unharmed.port, CHUNKED + CLOSE + b"\r\n2\r\n{}\r\n0\r\n" + unharmed.header() + b"\r\n")
    assert answer.status == 401


HEADS = {
    "a header": b"GET /livez HTTP/1.1\r\nX: ",
    "a path": b"GET /v1/catalog/domains/",
    "a query": b"GET /v1/catalog/suggest?q=",
}


def _without_end(beginning: bytes, more: bytes) -> Iterator[bytes]:
    yield beginning
    for _ in range(64 * MB // len(more)):
        yield more


@pytest.mark.parametrize("name", HEADS)
def test_an_endless_head_is_refused(unharmed: Served, name: str) -> None:
    (answer,) = talk(unharmed.port, *_without_end(HEADS[name], b"a" * 65536))
    assert answer.status == 431
    assert answer.json()["code"] == "head_too_large"


def test_endless_headers_are_refused(unharmed: Served) -> None:
    (answer,) = talk(unharmed.port, *_without_end(GET, b"X: a\r\n" * 10_000))
    assert answer.status == 431


def test_endless_trailers_are_refused(unharmed: Served) -> None:
    with socket.create_connection(("127.0.0.1", unharmed.port), timeout=TIMEOUT_S) as connection:
        beginning = CHUNKED + unharmed.header() + b"\r\n2\r\n{}\r\n0\r\nX: "
        sent = send(connection, _without_end(beginning, b"a" * 65536))
    assert sent < 48 * MB  # of 64; the buffers of the kernel take some after the server has closed


LIMIT = 64 * 1024


@pytest.mark.parametrize("pieces", [1, 2, 7])
@pytest.mark.parametrize("name", HEADS)
def test_a_head_is_as_large_as_documented_however_it_arrives(unharmed: Served, name: str, pieces: int) -> None:
    end = b"\r\n" + HOST if name == "a header" else b" HTTP/1.1\r\n" + HOST
    found = []
    for size in (LIMIT, LIMIT + 1, 66_000, 140_000):
        tail = end + CLOSE + b"\r\n"
        head = HEADS[name] + b"a" * (size - len(HEADS[name] + tail)) + tail
        step = size // pieces + 1
        (answer,) = talk(unharmed.port, *(head[at : at + step] for at in range(0, size, step)))
        found.append(answer.status)
    assert found[0] != 431
    assert found[1:] == [431, 431, 431]


def test_a_large_head_after_another_request_is_refused(unharmed: Served) -> None:
    given = talk(unharmed.port, GET + b"\r\n" + GET + b"X: " + b"a" * LIMIT + b"\r\n\r\n")
    assert [answer.status for answer in given] in ([200], [200, 431])


def test_a_large_body_is_refused_before_it_is_sent(unharmed: Served) -> None:
    with socket.create_connection(("127.0.0.1", unharmed.port), timeout=TIMEOUT_S) as connection:
        connection.sendall(POST + CLOSE + unharmed.header() + b"Content-Length: %d\r\n\r\n" % (10 * MB))
        (answer,) = answers(connection)
    assert answer.status == 413
    assert answer.json()["code"] == "body_too_large"


def test_a_large_body_is_refused_while_it_is_sent(unharmed: Served) -> None:
    length = b"Content-Length: %d\r\n\r\n" % (10 * MB)
    (answer,) = talk(unharmed.port, POST + CLOSE + unharmed.header() + length, *[b" " * MB] * 10)
    assert answer.status == 413


@pytest.mark.parametrize(("has_key", "status"), [(True, 413), (False, 401)])
def test_an_endless_body_is_refused(unharmed: Served, has_key: bool, status: int) -> None:
    head = CHUNKED + (unharmed.header() if has_key else b"") + b"\r\n"
    (answer,) = talk(unharmed.port, *_without_end(head, b"10000\r\n" + b" " * 65536 + b"\r\n"), method="POST")
    assert answer.status == status


def test_a_client_that_disconnects_is_released(unharmed: Served) -> None:
    heads = [
        POST + unharmed.header() + b"Content-Length: 1000\r\n\r\n{",
        CHUNKED + unharmed.header() + b"\r\n2\r\n{",
    ]
    for head in [*heads, GET, b"G"] * 10:
        with socket.create_connection(("127.0.0.1", unharmed.port)) as connection:
            connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )  # reset, no goodbye
            connection.sendall(head)


def test_pipelined_requests_are_answered_in_order(unharmed: Served) -> None:
    paths = ["/livez", "/v1/catalog/categories", "/nowhere"] * 50
    requests = [b"GET %s HTTP/1.1\r\n" % path.encode() + HOST + b"\r\n" for path in paths]
    given = talk(unharmed.port, b"".join(requests), GET + CLOSE + b"\r\n")
    assert [answer.status for answer in given] == [200, 200, 404] * 50 + [200]


@pytest.mark.parametrize("headers", [b"", b"Connection: keep-alive\r\n", b"Upgrade: websocket\r\n"])
def test_http_1_0_is_answered_and_closed(unharmed: Served, headers: bytes) -> None:
    (answer,) = talk(unharmed.port, b"GET /livez HTTP/1.0\r\n" + headers + b"\r\n")
    assert answer.status == 200


@pytest.mark.parametrize("wanted", [b"websocket", b"h2c"])
def test_an_upgrade_is_ignored(unharmed: Served, wanted: bytes) -> None:
    (answer,) = talk(unharmed.port, GET + b"Connection: Upgrade, close\r\nUpgrade: " + wanted + b"\r\n\r\n")
    assert answer.status == 200
    assert answer.headers["Upgrade"] is None
