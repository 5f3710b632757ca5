"""SMTP against a real server: connections kept and lost, TLS, passwords, time limits."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme

from builders.kit.values import clock, ids
from builders.mail import server
from builders.mail.carriers import Outcome, Parcel
from builders.mail.postman import Limits, Postman
from builders.mail.records import Status
from tests.kit.scratch import until
from tests.mail.servers import MailServer

QUICK = Limits(connect_s=2, command_s=0.1, data_s=0.1, total_s=5)


def parcel(**changes: Any) -> Parcel:
    """A message to somebody."""
    values: dict[str, Any] = {
        "id": ids.new(),
        "letter": "test",
        "created_at": clock.now(),
        "sender": "no-reply@builders.example",
        "recipient": "reader@mail.example",
        "content": b"From: no-reply@builders.example\r\n\r\nHello\r\n.\r\nYou\r\n",
    }
    return Parcel(**values | changes)


@asynccontextmanager
async def postman(url: str, limits: Limits | None = None) -> AsyncIterator[Postman]:
    """One for this server."""
    each = Postman(server.parse(url), own_name="builders.example", limits=limits)
    try:
        yield each
    finally:
        await each.close()


@pytest.fixture
def certificate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> trustme.CA:
    """An authority that this machine trusts."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    return authority


def context(authority: trustme.CA, name: str = "localhost") -> ssl.SSLContext:
    """What a server of this name shows."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(made)
    return made


async def test_ten_messages_go_over_one_connection(smtp: MailServer) -> None:
    async with postman(smtp.url()) as each:
        outcomes = [await each.carry(parcel()) for _ in range(10)]

    assert {outcome.status for outcome in outcomes} == {Status.SENT}
    assert (len(smtp.received), smtp.connections) == (10, 1)
    assert smtp.received[0].raw.endswith(b"Hello\r\n.\r\nYou\r\n")


async def test_messages_at_once_have_a_connection_each(smtp: MailServer) -> None:
    async with postman(smtp.url()) as each:
        for _ in range(2):
            await asyncio.gather(*(each.carry(parcel()) for _ in range(4)))

    assert (len(smtp.received), smtp.connections) == (8, 4)


async def test_a_refused_message_leaves_the_connection_good(smtp: MailServer) -> None:
    smtp.script.rcpt = ["550 no"]
    smtp.script.data = ["554 spam"]
    async with postman(smtp.url()) as each:
        outcomes = [await each.carry(parcel()) for _ in range(3)]

    assert [outcome.status for outcome in outcomes] == [Status.BOUNCED, Status.BOUNCED, Status.SENT]
    assert smtp.connections == 1


async def test_a_server_that_was_started_again_between_messages_is_not_noticed(smtp: MailServer) -> None:
    async with postman(smtp.url()) as each:
        await each.carry(parcel())
        await smtp.stop()
        await smtp.start()
        assert (await each.carry(parcel())).status is Status.SENT

    assert (len(smtp.received), smtp.connections) == (2, 2)


async def test_a_kept_connection_that_the_server_ends_is_replaced(smtp: MailServer) -> None:
    async with postman(smtp.url()) as each:
        await each.carry(parcel())
        smtp.script.mail = ["421 too many messages"]
        assert (await each.carry(parcel())).status is Status.SENT

    assert smtp.connections == 2


async def test_a_connection_without_work_is_ended(smtp: MailServer) -> None:
    async def is_gone() -> bool:
        return not smtp._sessions

    async with postman(smtp.url(), replace(QUICK, idle_s=0.02)) as each:
        await each.carry(parcel())
        await until(is_gone)
        assert (await each.carry(parcel())).status is Status.SENT

    assert smtp.connections == 2


async def test_a_connection_lost_in_the_middle_of_a_message_is_tried_again_later(smtp: MailServer) -> None:
    smtp.script.drops = 2
    async with postman(smtp.url()) as each:
        for _ in range(2):
            assert (await each.carry(parcel())).status is Status.DEFERRED
        assert (await each.carry(parcel())).status is Status.SENT


@pytest.mark.parametrize("stage", ["mail", "rcpt", "data"])
async def test_a_server_that_hangs_is_left(smtp: MailServer, stage: str) -> None:
    smtp.script.hangs = stage
    async with postman(smtp.url(), QUICK) as each:
        outcome = await each.carry(parcel())
        assert (outcome.status, outcome.is_our_fault) == (Status.DEFERRED, False)
        assert outcome.text
        smtp.script.hangs = ""
        assert (await each.carry(parcel())).status is Status.SENT


async def test_the_whole_of_an_attempt_has_a_limit(smtp: MailServer) -> None:
    smtp.script.hangs = "data"
    async with postman(smtp.url(), Limits(total_s=0.1)) as each:
        outcome = await each.carry(parcel())

    assert outcome.status is Status.DEFERRED
    assert "longer than" in outcome.text


async def test_a_server_that_is_away_is_tried_again_later(smtp: MailServer) -> None:
    await smtp.stop()
    async with postman(smtp.url()) as each:
        outcome = await each.carry(parcel())
    await smtp.start()

    assert (outcome.status, outcome.is_our_fault) == (Status.DEFERRED, False)
    assert "127.0.0.1" in outcome.text


async def test_an_address_beyond_ascii_needs_a_server_that_takes_it() -> None:
    async with MailServer() as able, MailServer(enable_SMTPUTF8=False) as unable:
        async with postman(able.url()) as each:
            assert (await each.carry(parcel(recipient="jörg@mail.example"))).status is Status.SENT
        async with postman(unable.url()) as each:
            outcome = await each.carry(parcel(recipient="jörg@mail.example"))

    assert able.received[0].recipients == ["jörg@mail.example"]
    assert "SMTPUTF8" in able.received[0].options
    assert outcome == Outcome(status=Status.BOUNCED, text="The mail server takes no address beyond ASCII.")
    assert unable.received == []


@pytest.mark.parametrize("implicit", [False, True])
async def test_a_connection_is_encrypted_and_signed_in(certificate: trustme.CA, implicit: bool) -> None:
    # aiosmtpd takes only STARTTLS for encryption when it asks for some before a password.
    options = {"auth_require_tls": not implicit, "require_starttls": not implicit, "takes_logins": True}
    async with MailServer(tls=context(certificate), implicit=implicit, **options) as each:
        query = "" if implicit else "?starttls=required"
        url = each.url(credentials="builders:p%40ss%2Fword@", host="localhost", query=query)
        async with postman(url) as one:
            outcomes = [await one.carry(parcel()) for _ in range(2)]

    assert {outcome.status for outcome in outcomes} == {Status.SENT}, outcomes
    assert each.logins == [(b"builders", b"p@ss/word")]
    assert each.connections == 1


@pytest.mark.parametrize("implicit", [False, True])
async def test_a_certificate_of_another_name_is_refused(certificate: trustme.CA, implicit: bool) -> None:
    async with MailServer(tls=context(certificate, "other.example"), implicit=implicit) as each:
        query = "" if implicit else "?starttls=optional"
        async with postman(each.url(host="localhost", query=query)) as one:
            outcome = await one.carry(parcel())

    assert (outcome.status, outcome.is_our_fault) == (Status.DEFERRED, True)
    assert "certificate" in outcome.text.lower()
    assert each.received == []


async def test_a_certificate_of_a_stranger_is_refused() -> None:
    stranger = context(trustme.CA())
    async with MailServer(tls=stranger, implicit=True) as each, postman(each.url(host="localhost")) as one:
        outcome = await one.carry(parcel())

    assert (outcome.status, outcome.is_our_fault) == (Status.DEFERRED, True)


async def test_where_encryption_is_required_nothing_goes_in_the_clear(smtp: MailServer) -> None:
    async with postman(smtp.url(query="?starttls=required")) as each:
        outcome = await each.carry(parcel())

    assert (outcome.status, outcome.is_our_fault) == (Status.DEFERRED, True)
    assert "STARTTLS" in outcome.text
    assert smtp.received == []


async def test_a_password_never_goes_in_the_clear_but_to_the_machine_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with MailServer(takes_logins=True) as each:
        url = each.url(credentials="builders:secret@", query="?starttls=optional")
        async with postman(url) as one:
            assert (await one.carry(parcel())).status is Status.SENT
        monkeypatch.setattr(server, "_is_loopback", lambda _: False)  # the same server, as if it stood elsewhere
        async with postman(url) as one:
            outcome = await one.carry(parcel())

    assert (outcome.status, outcome.is_our_fault) == (Status.DEFERRED, True)
    assert len(each.logins) == 1


async def test_a_wrong_password_is_our_own_fault() -> None:
    async with MailServer(takes_logins=True) as each:
        each.script.auth = ["535 5.7.8 wrong"] * 3
        async with postman(each.url(credentials="builders:secret@")) as one:
            outcome = await one.carry(parcel())

    assert (outcome.status, outcome.code, outcome.is_our_fault) == (Status.DEFERRED, 535, True)
    assert outcome.text == "The mail server refused our user and password: 5.7.8 wrong"


async def test_a_server_that_takes_no_passwords_is_our_own_fault(smtp: MailServer) -> None:
    async with postman(smtp.url(credentials="builders:secret@")) as each:
        outcome = await each.carry(parcel())

    assert (outcome.status, outcome.is_our_fault) == (Status.DEFERRED, True)


@pytest.mark.parametrize(
    ("stage", "reply", "status", "is_our_fault"),
    [
        ("mail", "451 busy", Status.DEFERRED, False),
        ("mail", "550 5.7.1 not you", Status.DEFERRED, True),
        ("rcpt", "450 busy", Status.DEFERRED, False),
        ("rcpt", "530 5.7.0 sign in first", Status.DEFERRED, True),
        ("rcpt", "550 5.1.1 nobody", Status.BOUNCED, False),
        ("data", "452 4.2.2 full", Status.DEFERRED, False),
        ("data", "554 5.7.1 spam", Status.BOUNCED, False),
    ],
)
async def test_whose_fault_a_reply_is(
    smtp: MailServer, stage: str, reply: str, status: Status, is_our_fault: bool
) -> None:
    setattr(smtp.script, stage, [reply])
    async with postman(smtp.url()) as each:
        outcome = await each.carry(parcel())

    assert (outcome.status, outcome.is_our_fault) == (status, is_our_fault)
    assert f"{outcome.code} {outcome.text}" == reply
