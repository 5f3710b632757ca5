"""Any head of a message is passed on or refused by the mail filter; none is a fault of the filter."""

from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from builders.forwarding.filter_addresses import address_of_events, address_of_name
from tests.cast import Person
from tests.changes import changed_bytes, check
from tests.domains.nameserver import Nameserver
from tests.forwarding.lmtp import HandOver, Queue
from tests.plans.make import Json, alias, apply, get_alias
from tests.random_cases import cases

LONG = 70_000
SENT = (
    b"Received: from mail.author.example by mx1.builders.example; Thu, 1 Jan 2026 10:00:00 +0000\r\n"
    b"Authentication-Results: mx1.builders.example; spf=pass smtp.mailfrom=author.example\r\n"
    b"From: =?utf-8?q?Ada_L=C3=B6velace?= <ada@author.example>, Grace <grace@author.example>\r\n"
    b"Sender: ada@author.example\r\nReply-To: Desk <desk@author.example>\r\nTo: name@harbour.example\r\n"
    b"Subject: =?iso-8859-1?b?T2ZmZXI=?=\r\n of today\r\nMessage-ID: <1@author.example>\r\n"
    b"References: <0@author.example>\r\nMIME-Version: 1.0\r\nDKIM-Signature: v=1; a=rsa-sha256; b=x\r\n"
    b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\n'
    b"Content-Transfer-Encoding: quoted-printable\r\n\r\nYour code is 123=\r\n456: https://author.example/x?y=3Dz\r\n"
    b'--b\r\nContent-Type: application/pdf; name="a.pdf"\r\nContent-Disposition: attachment;'
    b" filename*=utf-8''%C3%A4.pdf\r\n"
    b"Content-Transfer-Encoding: base64\r\n\r\nJVBERi0xLjcK\r\n--b--\r\n"
)
HEADERS = st.sampled_from(
    [
        *(
            b"From: \r\n",
            b"From: a@b, c@d\r\n",
            b"From: <>\r\n",
            b'From: "\\"@\\"" <x@[127.0.0.1]>\r\n',
            b": x\r\n",
            b" x\r\n",
        ),
        *(b"From: " + b"(" * 500 + b"\r\n", b"From: =?punycode?q?a-" + b"b" * 2_000 + b"?= <a@b.example>\r\n"),
        *(b"Content-Type: " + b"a/" * 900 + b"\r\n", b"Content-Type: text/plain; charset=unicode_escape\r\n"),
        *(b"Content-Transfer-Encoding: uuencode\r\n", b"X: " + b"y" * LONG + b"\r\n", b"Subject:\r\n\t\r\n \r\n"),
        *(
            b"Content-Type: message/rfc822\r\n",
            b'Content-Type: multipart/mixed; boundary=""\r\n',
            b"\xff\xfe: \x80\r\n",
        ),
    ]
)


@pytest.fixture
async def name(alice: Person, shared: str, signing: Nameserver) -> Json:
    """Return a name of Alice from which she replies."""
    del signing
    return await get_alias(alice, await apply(alice, alias(f"shop@{shared}", alice.account.email, reply=True)))


@pytest.mark.fuzzer
@cases(25)
@given(data=st.data())
async def test_the_filter_passes_on_or_refuses_any_message(
    alice: Person,
    name: Json,
    hand_over: HandOver,
    queue: Queue,
    caplog: pytest.LogCaptureFixture,
    data: st.DataObject,
) -> None:
    put = data.draw(st.lists(HEADERS, max_size=3))
    sent = data.draw(changed_bytes(b"".join(put) + SENT))
    recipient = address_of_name(alice.account.id, UUID(name["id"]))
    before = len(queue.mail)
    status, reply = await hand_over(sent, recipient)
    assert status == 250 or 500 <= status < 600, reply  # 451: a fault of the filter
    assert len(queue.mail) - before == (status == 250)
    assert "mail_filter_failed" not in caplog.text
    queue.mail.clear()
    caplog.clear()


@pytest.mark.fuzzer
@cases(25)
@given(data=st.data())
async def test_any_message_is_an_event_or_forwarded(
    alice: Person, bob: Person, rule: Json, name: Json, hand_over: HandOver, data: st.DataObject
) -> None:
    assert rule
    put = data.draw(st.lists(HEADERS, max_size=3))
    sent = data.draw(changed_bytes(b"".join(put) + SENT))
    status, reply = await hand_over(sent, address_of_events(alice.account.id, UUID(name["id"])))
    assert status == 250 or 500 <= status < 600, reply
    async with alice.browser() as person:
        listed = await person.get(f"/v1/aliases/{name['id']}/mail/messages", params={"limit": 1})
        check(listed)
        for each in listed.json()["items"]:
            check(await person.get(f"/v1/aliases/{name['id']}/mail/{each['id']}"))
    async with bob.browser() as stranger:
        assert (await stranger.get(f"/v1/aliases/{name['id']}/mail/messages")).status_code == 404
