"""A request is sent as given, and the response is returned whatever its status."""

import pytest

from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from tests.kit.outbound.receivers import OK, calling, receiving, saying


async def test_the_response_has_status_headers_and_body() -> None:
    said = b"HTTP/1.1 201 Created\r\nX-Kind: Shell\r\nContent-Length: 5\r\n\r\nhello"
    async with receiving(saying(said)) as receiver, calling(receiver) as outbound:
        answer = await outbound.request("GET", receiver.url)
    assert (answer.status, answer.body, answer.truncated) == (201, b"hello", False)
    assert answer.headers["x-kind"] == "Shell"
    assert answer.elapsed_ms >= 0


async def test_a_body_is_sent_byte_for_byte() -> None:
    body = bytes(range(256)) * 100
    async with receiving(saying(OK)) as receiver, calling(receiver) as outbound:
        await outbound.request(
            "POST", f"{receiver.url}in?a=%2F&b=c;d", headers={"Content-Type": "application/json"}, body=body
        )
    assert receiver.requests[0].startswith(b"POST /in?a=%2F&b=c;d HTTP/1.1\r\n")
    assert receiver.body == body
    assert receiver.head["content-type"] == "application/json"


async def test_only_necessary_headers_are_sent() -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as outbound:
        await outbound.request("POST", receiver.url)
    assert receiver.head == {
        "host": f"127.0.0.1:{receiver.port}",
        "user-agent": "Builders/1.1.0.dev0 (+https://builders.test)",
        "accept": "*/*",
        "accept-encoding": "identity",
        "content-length": "0",
        "connection": "close",
    }


async def test_a_body_without_length_ends_with_the_connection() -> None:
    said = b"HTTP/1.0 200 OK\r\n\r\nall of it"
    async with receiving(saying(said)) as receiver, calling(receiver) as outbound:
        assert (await outbound.request("GET", receiver.url)).body == b"all of it"


async def test_a_head_response_has_a_length_and_no_body() -> None:
    said = b"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n"
    async with receiving(saying(said)) as receiver, calling(receiver) as outbound:
        assert (await outbound.request("HEAD", receiver.url)).body == b""


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("place", ["http://169.254.169.254/latest/meta-data/", "/again", "file:///etc/passwd"])
async def test_a_redirect_is_not_followed(status: int, place: str) -> None:
    said = f"HTTP/1.1 {status} Elsewhere\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode()
    async with receiving(saying(said)) as receiver, calling(receiver) as outbound:
        answer = await outbound.request("POST", receiver.url, body=b"x")
    assert (answer.status, answer.headers["location"]) == (status, place)
    assert receiver.connections == len(receiver.requests) == 1


async def test_cookies_are_neither_stored_nor_sent() -> None:
    said = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 0\r\n\r\n"
    async with receiving(saying(said)) as receiver, calling(receiver) as outbound:
        for _ in range(2):
            await outbound.request("GET", receiver.url)
    assert "cookie" not in receiver.head


async def test_proxies_and_netrc_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving(saying(OK)) as proxy, receiving(saying(OK)) as receiver, calling(receiver) as outbound:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
            monkeypatch.setenv(name, proxy.url)
        await outbound.request("GET", receiver.url)
    assert (proxy.connections, receiver.connections) == (0, 1)


async def test_headers_and_body_are_not_in_the_repr() -> None:
    said = b"HTTP/1.1 200 OK\r\nX-Secret: hidden\r\nContent-Length: 6\r\n\r\nhidden"
    async with receiving(saying(said)) as receiver, calling(receiver) as outbound:
        assert "hidden" not in repr(await outbound.request("GET", receiver.url))


async def test_a_closed_client_raises_an_error() -> None:
    with pytest.raises(RuntimeError, match="not open"):
        await Outbound(Settings()).request("GET", "https://a.example/")


async def test_a_malformed_setting_prevents_the_start() -> None:
    for wrong in ("127.0.0.1", "a b:80", "::1:9000", "127.1:9000", "localhost:0"):
        with pytest.raises(ValueError, match=r"not a host and a port|has no port"):
            Outbound(Settings(outbound_allow=(wrong,)))


async def test_an_ipv6_address_can_be_called() -> None:
    try:
        async with receiving(saying(OK), host="::1") as receiver, calling(receiver, names=("[::1]",)) as outbound:
            assert (await outbound.request("GET", f"http://[0:0::1]:{receiver.port}/")).status == 200
    except OSError:
        pytest.skip("this machine has no IPv6")
    assert receiver.head["host"] == f"[::1]:{receiver.port}"
