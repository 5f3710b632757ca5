"""Untrusted text, encoded or not, never becomes a header or a body."""

import dataclasses
import re
from base64 import b64encode
from quopri import encodestring

import pytest
from hypothesis import given, settings as limits, strategies as st

from builders.kit.db.connections import Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.mail import addresses, renderer
from builders.mail.records import Status
from builders.mail.sender import Signer
from builders.mail.templates import TeamInvite, WebhookDisabled
from tests.cast import Person
from tests.mail.conftest import FindMessage, Send
from tests.mail.make import DAY, LINK, SIGN_IN, WEBHOOK
from tests.mail.smtp_server import MailServer
from tests.mail.test_templates import SENDER, pack, packed

FORGED = "\r\nBcc: evil@x.test\r\nSubject: pay\r\n\r\npay here"
NAMES = [
    *("Subject", "From", "To", "Date", "Message-ID", "Auto-Submitted", "X-Auto-Response-Suppress"),
    *("MIME-Version", "Content-Type"),
]


def word(text: str, *, code: str = "b", charset: str = "utf-8") -> str:
    """Return the text as an encoded word (RFC 2047)."""
    raw = text.encode(charset)
    if code == "b":
        return f"=?{charset}?b?{b64encode(raw).decode()}?="
    quoted = encodestring(raw, quotetabs=True).replace(b"=\n", b"").replace(b"=20", b"_").replace(b"?", b"=3F")
    return f"=?{charset}?q?{quoted.decode().replace(chr(13), '=0D').replace(chr(10), '=0A')}?="


WORDS = [
    word(FORGED),
    word(FORGED, code="q"),
    word(FORGED).upper(),
    word(FORGED, charset="utf-16"),
    f"a {word(FORGED)} b {word('c')}",
    f"{word('a')} {word('b')}",
    f'"{word(FORGED)}"',
    f"({word(FORGED)})",
    word("\N{RIGHT-TO-LEFT OVERRIDE}evil"),
    "=?utf-8?b?DQpCY2M6IGV2aWxAeC50ZXN0DQoNCmJvZHk=?=",
    "=?utf-8?q?=0d=0asubject=3a_pay=0d=0a=0d=0apay_here?=",
    f"{'x' * 70} {word(FORGED)}",
    "x" * 119,
    "=?",
    "?=",
    "=?utf-8?b?",
]


def check_only_in_subject(text: str) -> None:
    """Assert that the text is unchanged in the subject, and in no other header."""
    written = renderer.render(TeamInvite(team=text, inviter=text, role="viewer", link=LINK, expires_on=DAY))
    raw, message = packed(written), pack(written)
    assert list(message.keys()) == NAMES
    assert str(message["Subject"]) == " ".join(written.subject.split())
    assert not message.defects
    assert not message["Subject"].defects
    head = raw.partition(b"\r\n\r\n")[0]
    assert all(len(line) < 120 for line in head.split(b"\r\n"))


@pytest.mark.parametrize("text", WORDS)
def test_an_encoded_word_is_shown_unchanged(text: str) -> None:
    check_only_in_subject(text)


parts = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["=?", "?=", "=?utf-8?q?", "=0D=0A", "\r\n", " ", "Bcc: x@y.example"]),
    st.builds(word, st.text(max_size=20, alphabet=st.characters(codec="utf-8")), code=st.sampled_from("bq")),
)


@limits(deadline=None)  # other tests share the processor
@given(st.lists(parts, max_size=6).map("".join))
def test_any_text_is_only_in_the_subject(text: str) -> None:
    check_only_in_subject(text)


@pytest.mark.parametrize("text", WORDS[:4])
async def test_a_label_adds_no_recipient(
    send: Send, database: Database, smtp_settings: Settings, smtp: MailServer, text: str
) -> None:
    await send(WebhookDisabled(label=text, url=WEBHOOK.url, reason=WEBHOOK.reason))
    await queue.run_pending(database, smtp_settings)

    (received,) = smtp.received
    assert received.message["Bcc"] is None
    assert str(received.message["Subject"]).startswith(f"Your webhook {text[:119]}")
    assert received.message.keys().count("Subject") == 1


@pytest.mark.parametrize("text", WORDS)
def test_an_address_with_an_encoded_word_is_refused(text: str) -> None:
    if "=?" in text:
        assert addresses.find_route(f"{text}@evil.example") is None


@pytest.mark.parametrize("word", ["=?utf-8?q?=0d=0aBcc=3a_evil?=", "=?utf-8?b?DQpCY2M6IGV2aWxAeC50ZXN0?=", "=?x"])
async def test_mail_to_an_address_with_an_encoded_word_bounces(
    send: Send, find_message: FindMessage, database: Database, smtp_settings: Settings, smtp: MailServer, word: str
) -> None:
    message_id = await send(to=f"{word}@evil.example")
    await queue.run_pending(database, smtp_settings)

    found = await find_message(message_id)
    assert (found.status, found.last_error) == (Status.BOUNCED, "No mail server accepts this address.")
    assert smtp.connections == 0


async def test_an_account_cannot_have_an_encoded_address(alice: Person) -> None:
    bad = "=?utf-8?q?=0d=0asubject=3a_pay=0d=0a=0d=0apay_here?=@evil.example"
    answer = await alice.patch("/v1/me", json={"email": bad})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "email"])


@pytest.mark.parametrize("name", [word(FORGED), word("\r\n\r\nbody"), word("\r\nReply-To: x@y.example")])
def test_a_message_with_other_headers_is_never_signed(name: str) -> None:
    signed: list[bytes] = []

    class _Recorder(Signer):
        def __init__(self) -> None:
            pass

        def sign(self, message: bytes, *, at: object) -> bytes:
            del at
            signed.append(message)
            return message

    sender = dataclasses.replace(SENDER, name=name, signer=_Recorder())
    with pytest.raises(ValueError, match="differs from the headers"):
        packed(renderer.render(SIGN_IN), sender=sender)
    assert signed == []


def test_a_short_plain_subject_is_not_encoded() -> None:
    assert re.search(rb"^Subject: Your sign-in code is 481516\r\n", packed(renderer.render(SIGN_IN)), re.MULTILINE)
