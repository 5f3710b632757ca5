"""Large JSON and the OpenAPI document are compressed for clients that accept it; a secret never is."""

import gzip

import pytest
from starlette.types import Message

from builders.kit.http import bodies, media_types
from builders.kit.http.bodies import RawResponse
from tests.cast import Client

LARGE = b'{"items":["' + b"x" * bodies.MIN_BYTES + b'"]}'


async def send(response: RawResponse, accepted: str) -> tuple[dict[bytes, bytes], bytes]:
    """Return the headers and the body that a client gets."""
    messages: list[Message] = []

    async def receive() -> Message:
        raise AssertionError

    async def note(message: Message) -> None:
        messages.append(message)

    await response({"type": "http", "headers": [(b"accept-encoding", accepted.encode())]}, receive, note)
    return dict(messages[0]["headers"]), messages[1]["body"]


@pytest.mark.parametrize(
    ("sent", "is_accepted"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("*", True),
        ("x-gzip", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000, *", False),
        ("*;q=0", False),
        ("br", False),
        ("", False),
    ],
)
def test_the_weights_of_accept_encoding_count(sent: str, is_accepted: bool) -> None:
    assert media_types.accepts_gzip([(b"accept-encoding", sent.encode())]) is is_accepted


def test_a_client_that_names_no_coding_gets_none() -> None:
    assert not media_types.accepts_gzip([])


async def test_a_large_response_is_compressed() -> None:
    headers, body = await send(RawResponse(LARGE, 200, {"ETag": '"1"'}, is_json=True), "gzip")
    assert gzip.decompress(body) == LARGE
    assert (headers[b"content-encoding"], headers[b"vary"]) == (b"gzip", b"Accept-Encoding")
    assert (headers[b"etag"], headers[b"content-length"]) == (b'W/"1"', b"%d" % len(body))


@pytest.mark.parametrize(
    ("response", "accepted"),
    [
        (RawResponse(LARGE, 201, is_json=True, has_secret=True), "gzip"),
        (RawResponse(LARGE[-100:], 200, is_json=True), "gzip"),
        (RawResponse(LARGE, 200, is_json=True), "identity"),
    ],
    ids=["it shows a secret", "it is small", "the client does not accept it"],
)
async def test_a_response_is_sent_as_it_is(response: RawResponse, accepted: str) -> None:
    headers, body = await send(response, accepted)
    assert body == response.body
    assert b"content-encoding" not in headers


async def test_the_document_is_compressed_and_revalidated(anyone: Client) -> None:
    plain = await anyone.get("/openapi.json", headers={"Accept-Encoding": "identity"})
    smaller = await anyone.get("/openapi.json", headers={"Accept-Encoding": "gzip"})
    again = await anyone.get("/openapi.json", headers={"If-None-Match": smaller.headers["ETag"]})

    assert (smaller.headers["Content-Encoding"], smaller.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert "Content-Encoding" not in plain.headers
    assert smaller.content == plain.content
    assert int(smaller.headers["Content-Length"]) <= 176_000
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", plain.headers["ETag"])


async def test_a_large_list_is_compressed_over_http(dana: Client) -> None:
    rows = [{"domain": f"lamp{number}.com"} for number in range(120)]
    assert (await dana.post("/v1/portfolio/import", json={"rows": rows})).status_code == 200
    answer = await dana.get("/v1/portfolio/domains?limit=500", headers={"Accept-Encoding": "gzip"})
    assert len(answer.json()["items"]) == len(rows)
    assert answer.headers["Content-Encoding"] == "gzip"
    assert int(answer.headers["Content-Length"]) < len(answer.content) / 5
