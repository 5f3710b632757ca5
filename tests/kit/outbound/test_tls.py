"""Certificates are verified for the requested name, and errors say what the owner can fix."""

import asyncio
import ssl
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
import uvloop

from builders.kit.outbound.client import Failure, OutboundFailed
from tests.kit.outbound.receivers import OK, Reader, Writer, calling, deafen, receiving, resolving, saying

NAME = "hook.example"
NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def ca(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The authority's own certificate, as a file."""
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


@pytest.fixture(autouse=True)
def _authorities() -> None:
    """The system's are trusted, as in service."""


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with resolving(monkeypatch, hook_example=["127.0.0.1"]):
        yield


def server(
    authority: trustme.CA, *names: str, not_before: datetime | None = None, not_after: datetime | None = None
) -> ssl.SSLContext:
    """A server's side, with a certificate for the names."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names, not_before=not_before, not_after=not_after).configure_cert(context)
    return context


async def test_the_host_name_is_sent_and_verified(authority: trustme.CA, ca: Path) -> None:
    asked: list[str] = []
    context = server(authority, NAME)
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    context.set_alpn_protocols(["h2", "http/1.1"])
    async with receiving(saying(OK), tls=context) as receiver, calling(receiver, names=(NAME,), ca=ca) as outbound:
        for url in (f"https://{NAME}:{receiver.port}/", f"https://HOOK.example.:{receiver.port}/"):
            assert (await outbound.request("POST", url, body=b"{}")).body == b"ok"
    assert asked == [NAME, NAME]
    assert receiver.head["host"] == f"{NAME}:{receiver.port}"


async def test_an_ip_address_is_verified(authority: trustme.CA, ca: Path) -> None:
    context = server(authority, "127.0.0.1")
    async with receiving(saying(OK), tls=context) as receiver, calling(receiver, ca=ca) as outbound:
        assert (await outbound.request("GET", f"https://127.0.0.1:{receiver.port}/")).status == 200


async def refused(context: ssl.SSLContext, ca: Path | None) -> OutboundFailed:
    """How a request to the server fails, which it must without having been sent."""
    tls = receiving(saying(OK), tls=context)
    async with tls as receiver, calling(receiver, names=(NAME,), ca=ca) as outbound:
        with pytest.raises(OutboundFailed) as failed:
            await outbound.request("GET", f"https://{NAME}:{receiver.port}/")
    assert receiver.requests == []
    assert failed.value.kind is Failure.TLS
    return failed.value


async def test_a_certificate_for_another_host_is_refused(authority: trustme.CA, ca: Path) -> None:
    for name in ("other.example", "127.0.0.1", "*.hook.example"):
        assert str(await refused(server(authority, name), ca)) == "The certificate is for another host name."


async def test_an_expired_or_future_certificate_is_refused(authority: trustme.CA, ca: Path) -> None:
    day = timedelta(days=1)
    late, early = server(authority, NAME, not_after=NOW - day), server(authority, NAME, not_before=NOW + day)
    assert str(await refused(late, ca)) == "The certificate has expired."
    assert str(await refused(early, ca)) == "The certificate is not valid yet."


async def test_another_authority_is_not_trusted(authority: trustme.CA, ca: Path) -> None:
    for context, trusted in ((server(authority, NAME), None), (server(trustme.CA(), NAME), ca)):
        assert "authority is unknown" in str(await refused(context, trusted))


async def test_older_tls_than_1_2_is_refused(authority: trustme.CA, ca: Path) -> None:
    context = server(authority, NAME)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    assert str(await refused(context, ca)) == "The TLS handshake failed."


async def test_a_server_without_tls_is_reported(ca: Path) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver, names=(NAME,), ca=ca) as outbound:
        receiver.greeting = OK
        with pytest.raises(OutboundFailed) as failed:
            await outbound.request("GET", f"https://{NAME}:{receiver.port}/")
    assert failed.value.kind is Failure.TLS


async def test_a_server_without_close_notify_holds_no_connection(authority: trustme.CA, ca: Path) -> None:
    async def answer(_: Reader, writer: Writer) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await writer.drain()
        deafen(writer)  # so that no close_notify is ever answered

    tls = receiving(answer, tls=server(authority, NAME))
    async with tls as receiver, calling(receiver, names=(NAME,), ca=ca) as outbound:
        for _ in range(5):
            assert (await outbound.request("GET", f"https://{NAME}:{receiver.port}/")).status == 200
        assert await receiver.is_left_alone()


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_the_tls_overhead_of_a_response_is_bounded(
    new_loop: Callable[[], asyncio.AbstractEventLoop], authority: trustme.CA, ca: Path
) -> None:
    async def answer(reader: Reader, writer: Writer) -> None:
        del reader
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n")
        for _ in range(60_000):  # records of one byte, each of 23 on the wire
            writer.write(b"a")
        await writer.drain()

    async def ask() -> None:
        async with (
            receiving(answer, tls=server(authority, NAME)) as receiver,
            calling(receiver, names=(NAME,), ca=ca) as outbound,
        ):
            with pytest.raises(OutboundFailed) as failed:
                await outbound.request("GET", f"https://{NAME}:{receiver.port}/")
            assert failed.value.kind is Failure.PROTOCOL

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(ask())
