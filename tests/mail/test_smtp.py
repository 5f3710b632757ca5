"""The SMTP transport: kept and lost connections, TLS, passwords, time limits."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from builders.kit.values import clock, ids
from builders.mail import transports
from builders.mail.records import Status
from builders.mail.transports import Limits, Outcome, OutgoingMessage, SmtpTransport
from tests.kit.scratch import until
from tests.mail.smtp_server import MailServer

QUICK = Limits(connect_s=2, command_s=0.1, data_s=0.1, total_s=5)


def message(**changes: Any) -> OutgoingMessage:
    """Return a message."""
    values: dict[str, Any] = {
        "id": ids.new(),
        "template": "test",
        "created_at": clock.now(),
        "sender": "no-reply@builders.example",
        "recipient": "reader@mail.example",
        "content": b"From: no-reply@builders.example\r\n\r\nHello\r\n.\r\nYou\r\n",
    }
    return OutgoingMessage(**values | changes)


@asynccontextmanager
async def transport(url: str, limits: Limits | None = None) -> AsyncIterator[SmtpTransport]:
    """Open a transport to this server."""
    each = SmtpTransport(transports.parse_url(url), own_name="builders.example", limits=limits)
    try:
        yield each
    finally:
        await each.close()


@pytest.fixture
def certificate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> trustme.CA:
    """Return a trusted certificate authority."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    return authority


def context(authority: trustme.CA, name: str = "localhost") -> ssl.SSLContext:
    """Return the TLS context of a server of this name."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(made)
    return made


async def test_ten_messages_use_one_connection(smtp: MailServer) -> None:
    async with transport(smtp.url()) as each:
        outcomes = [await each.send(message()) for _ in range(10)]

    assert {outcome.status for outcome in outcomes} == {Status.SENT}
    assert (len(smtp.received), smtp.connections) == (10, 1)
    assert smtp.received[0].raw.endswith(b"Hello\r\n.\r\nYou\r\n")


async def test_concurrent_messages_use_a_connection_each(smtp: MailServer) -> None:
    async with transport(smtp.url()) as each:
        for _ in range(2):
            await asyncio.gather(*(each.send(message()) for _ in range(4)))

    assert (len(smtp.received), smtp.connections) == (8, 4)


async def test_a_refused_message_keeps_the_connection(smtp: MailServer) -> None:
    smtp.script.rcpt = ["550 no"]
    smtp.script.data = ["554 spam"]
    async with transport(smtp.url()) as each:
        outcomes = [await each.send(message()) for _ in range(3)]

    assert [outcome.status for outcome in outcomes] == [Status.BOUNCED, Status.BOUNCED, Status.SENT]
    assert smtp.connections == 1


async def test_a_restart_of_the_server_between_messages_loses_no_message(smtp: MailServer) -> None:
    async with transport(smtp.url()) as each:
        await each.send(message())
        await smtp.stop()
        await smtp.start()
        assert (await each.send(message())).status is Status.SENT

    assert (len(smtp.received), smtp.connections) == (2, 2)


async def test_a_connection_closed_by_the_server_is_replaced(smtp: MailServer) -> None:
    async with transport(smtp.url()) as each:
        await each.send(message())
        smtp.script.mail = ["421 too many messages"]
        assert (await each.send(message())).status is Status.SENT

    assert smtp.connections == 2


async def test_an_idle_connection_is_closed(smtp: MailServer) -> None:
    async def is_gone() -> bool:
        return not smtp._sessions

    async with transport(smtp.url(), Limits(idle_s=0.02)) as each:
        await each.send(message())
        await until(is_gone)
        assert (await each.send(message())).status is Status.SENT

    assert smtp.connections == 2


async def test_a_connection_lost_during_a_message_defers_it(smtp: MailServer) -> None:
    smtp.script.drops = 2
    async with transport(smtp.url()) as each:
        for _ in range(2):
            assert (await each.send(message())).status is Status.DEFERRED
        assert (await each.send(message())).status is Status.SENT


@pytest.mark.parametrize("stage", ["mail", "rcpt", "data"])
async def test_a_server_that_does_not_reply_times_out(smtp: MailServer, stage: str) -> None:
    smtp.script.hangs = stage
    async with transport(smtp.url(), QUICK) as each:
        outcome = await each.send(message())
        assert (outcome.status, outcome.is_local_error) == (Status.DEFERRED, False)
        assert outcome.text
        smtp.script.hangs, each._limits = "", Limits()
        assert (await each.send(message())).status is Status.SENT


async def test_an_attempt_has_a_time_limit(smtp: MailServer) -> None:
    smtp.script.hangs = "data"
    async with transport(smtp.url(), Limits(total_s=0.1)) as each:
        outcome = await each.send(message())

    assert outcome.status is Status.DEFERRED
    assert "longer than" in outcome.text


async def test_an_unreachable_server_defers_the_message(smtp: MailServer) -> None:
    await smtp.stop()
    async with transport(smtp.url()) as each:
        outcome = await each.send(message())
    await smtp.start()

    assert (outcome.status, outcome.is_local_error) == (Status.DEFERRED, False)
    assert "127.0.0.1" in outcome.text


async def test_an_address_beyond_ascii_requires_smtputf8() -> None:
    async with MailServer() as able, MailServer(enable_SMTPUTF8=False) as unable:
        async with transport(able.url()) as each:
            assert (await each.send(message(recipient="jörg@mail.example"))).status is Status.SENT
        async with transport(unable.url()) as each:
            outcome = await each.send(message(recipient="jörg@mail.example"))

    assert able.received[0].recipients == ["jörg@mail.example"]
    assert "SMTPUTF8" in able.received[0].options
    assert outcome == Outcome(
        status=Status.BOUNCED, text="The mail server does not accept addresses beyond ASCII."
    )
    assert unable.received == []


@pytest.mark.parametrize("implicit", [False, True])
async def test_a_connection_is_encrypted_and_authenticated(certificate: trustme.CA, implicit: bool) -> None:
    # With auth_require_tls aiosmtpd accepts only STARTTLS as encryption.
    options = {"auth_require_tls": not implicit, "require_starttls": not implicit, "takes_logins": True}
    async with MailServer(tls=context(certificate), implicit=implicit, **options) as each:
        query = "" if implicit else "?starttls=required"
        url = each.url(credentials="builders:p%40ss%2Fword@", host="localhost", query=query)
        async with transport(url) as one:
            outcomes = [await one.send(message()) for _ in range(2)]

    assert {outcome.status for outcome in outcomes} == {Status.SENT}, outcomes
    assert each.logins == [(b"builders", b"p@ss/word")]
    assert each.connections == 1


@pytest.mark.parametrize("implicit", [False, True])
async def test_a_certificate_of_another_name_is_refused(certificate: trustme.CA, implicit: bool) -> None:
    async with MailServer(tls=context(certificate, "other.example"), implicit=implicit) as each:
        query = "" if implicit else "?starttls=optional"
        async with transport(each.url(host="localhost", query=query)) as one:
            outcome = await one.send(message())

    assert (outcome.status, outcome.is_local_error) == (Status.DEFERRED, True)
    assert "certificate" in outcome.text.lower()
    assert each.received == []


async def test_an_untrusted_certificate_is_refused() -> None:
    untrusted = context(trustme.CA())
    async with MailServer(tls=untrusted, implicit=True) as each, transport(each.url(host="localhost")) as one:
        outcome = await one.send(message())

    assert (outcome.status, outcome.is_local_error) == (Status.DEFERRED, True)


async def test_required_encryption_is_enforced(smtp: MailServer) -> None:
    async with transport(smtp.url(query="?starttls=required")) as each:
        outcome = await each.send(message())

    assert (outcome.status, outcome.is_local_error) == (Status.DEFERRED, True)
    assert "STARTTLS" in outcome.text
    assert smtp.received == []


async def test_a_password_is_sent_unencrypted_only_to_a_loopback_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with MailServer(takes_logins=True) as each:
        url = each.url(credentials="builders:secret@", query="?starttls=optional")
        async with transport(url) as one:
            assert (await one.send(message())).status is Status.SENT
        monkeypatch.setattr(transports, "_is_loopback", lambda _: False)  # as if the server were remote
        async with transport(url) as one:
            outcome = await one.send(message())

    assert (outcome.status, outcome.is_local_error) == (Status.DEFERRED, True)
    assert len(each.logins) == 1


async def test_a_wrong_password_is_a_configuration_error() -> None:
    async with MailServer(takes_logins=True) as each:
        each.script.auth = ["535 5.7.8 wrong"] * 3
        async with transport(each.url(credentials="builders:secret@")) as one:
            outcome = await one.send(message())

    assert (outcome.status, outcome.code, outcome.is_local_error) == (Status.DEFERRED, 535, True)
    assert outcome.text == "The mail server refused our user and password: 5.7.8 wrong"


async def test_a_password_that_the_server_repeats_is_masked() -> None:
    async with MailServer(takes_logins=True) as each:
        each.script.auth = ["535 5.7.8 not hunter2"] * 3
        async with transport(each.url(credentials="builders:hunter2@")) as one:
            outcome = await one.send(message())

    assert outcome.text == "The mail server refused our user and password: 5.7.8 not ***"


async def test_a_server_without_auth_is_a_configuration_error(smtp: MailServer) -> None:
    async with transport(smtp.url(credentials="builders:secret@")) as each:
        outcome = await each.send(message())

    assert (outcome.status, outcome.is_local_error) == (Status.DEFERRED, True)


@pytest.mark.parametrize(
    ("stage", "reply", "status", "is_local_error"),
    [
        pytest.param("mail", "451 busy", Status.DEFERRED, False, id="temporary about the sender"),
        pytest.param("mail", "550 5.7.1 not you", Status.DEFERRED, True, id="permanent about the sender"),
        pytest.param("rcpt", "450 busy", Status.DEFERRED, False, id="temporary about the recipient"),
        pytest.param("rcpt", "530 5.7.0 sign in first", Status.DEFERRED, True, id="sign-in required"),
        pytest.param("rcpt", "550 5.1.1 nobody", Status.BOUNCED, False, id="no such recipient"),
        pytest.param("data", "452 4.2.2 full", Status.DEFERRED, False, id="temporary about the message"),
        pytest.param("data", "554 5.7.1 spam", Status.BOUNCED, False, id="permanent about the message"),
    ],
)
async def test_a_reply_defers_or_bounces_the_message(
    smtp: MailServer, stage: str, reply: str, status: Status, is_local_error: bool
) -> None:
    setattr(smtp.script, stage, [reply])
    async with transport(smtp.url()) as each:
        outcome = await each.send(message())

    assert (outcome.status, outcome.is_local_error) == (status, is_local_error)
    assert f"{outcome.code} {outcome.text}" == reply


async def test_a_probe_of_a_silent_server_ends_in_time() -> None:
    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    silent = await asyncio.start_server(wait, "127.0.0.1", 0)
    async with silent, transport(f"smtp://127.0.0.1:{silent.sockets[0].getsockname()[1]}", QUICK) as each:
        failure = await each.probe()
    assert failure is not None
    assert (failure.status, failure.is_local_error) == (Status.DEFERRED, False)
