"""How the mail filter changes messages."""

import re

import dkim  # type: ignore[import-untyped] # it has no types
import pytest
from hypothesis import given, strategies as st

from builders.forwarding import messages
from builders.forwarding.messages import Author, MalformedMessage
from builders.mail.addresses import one_line
from tests.forwarding.heads import head_of, message
from tests.random_cases import cases

AUTHOR = Author(name="Ada Lovelace", address="ada@author.example")
OWNER, ALIAS = "owner@home.example", "sales@harbour.example"
# Header values as strangers write them: no line ends, which end a header, and no NUL, which some programs end at.
HOSTILE = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), max_size=60)


def test_the_author_is_the_one_address_of_from() -> None:
    read = messages.read(message(From="=?utf-8?q?Ada_L=C3=B6v?= <ada@author.example>"))
    assert messages.read_author(read) == Author(name="Ada Löv", address="ada@author.example")


@pytest.mark.parametrize("head", [{}, {"From": "a@one.example, b@two.example"}, {"From": "nobody"}])
def test_a_message_without_a_single_author_has_none(head: dict[str, str]) -> None:
    with pytest.raises(MalformedMessage):
        messages.read_author(messages.read(message(**head)))


def test_two_from_headers_are_no_author() -> None:
    twice = b"From: a@one.example\r\nfrom: b@two.example\r\n\r\n"
    with pytest.raises(MalformedMessage):
        messages.read_author(messages.read(twice))


@pytest.mark.parametrize(
    "head",
    [
        " From: a@one.example\r\n",  # starts with the second line of a header
        "From : a@one.example\r\n",
        "From: a@one.example\0\r\n",
        "From: a@one.example\r\nNo header\r\n",
        "X: a\r\n" + " a\r\n" * 300_000 + "From: a@one.example\r\n",
        f"From: {'(' * 5_000}\r\n",
        f"From: {'a@one.example,' * 5_000}\r\n",
    ],
)
def test_a_hostile_head_has_no_author(head: str) -> None:
    with pytest.raises(MalformedMessage):
        messages.read_author(messages.read(f"{head}\r\n".encode()))


def test_a_part_of_a_line_becomes_no_header() -> None:
    sent = b"X: a\rFrom: a@one.example\nFrom: b@one.example\r\n\r\n.\r\n"
    expected = b"X: a From: a@one.example From: b@one.example\r\n\r\n.\r\n"
    assert messages.with_whole_ends(sent) == expected


@cases(100)
@given(content=st.text("xy.", max_size=12).map(str.encode), at=st.integers(-3, 3))
def test_line_ends_are_mended_at_each_place_of_a_long_message(content: bytes, at: int) -> None:
    ends = content.replace(b"x", b"\r").replace(b"y", b"\n")
    before = b"." * (64 * 1024 - len(ends) + at)
    whole = before + ends + b"."

    assert messages.with_whole_ends(whole) == re.sub(rb"\r(?!\n)|(?<!\r)\n", b" ", whole)


def test_a_name_in_a_slow_encoding_is_not_shown() -> None:
    read = messages.read(message(From=f"=?punycode?q?a-{'b' * 10_000}?= <ada@author.example>"))
    assert messages.read_author(read).name == ""


def test_replies_go_to_reply_to() -> None:
    read = messages.read(message(From="ada@author.example", **{"Reply-To": "Desk <desk@author.example>"}))
    assert messages.read_reply_address(read, messages.read_author(read)) == "desk@author.example"


def test_a_reverse_address_takes_the_place_of_the_author() -> None:
    read = messages.read(
        message(
            From="Ada Lovelace <ada@author.example>",
            **{"Reply-To": "x@y.example", "DKIM-Signature": "v=1", "Disposition-Notification-To": "x@y.example"},
        )
    )
    head = head_of(
        messages.with_reverse(read, author=AUTHOR, reverse="r-1@harbour.example", domain="harbour.example")
    )
    assert head["From"] == '"Ada Lovelace (ada at author.example) via harbour.example" <r-1@harbour.example>'
    assert head["Reply-To"] is None
    assert head["Disposition-Notification-To"] is None  # a receipt would show the owner's address
    assert head["DKIM-Signature"] is None


def test_mail_as_from_the_domain_is_answered_to_its_author() -> None:
    read = messages.read(message(From="Ada Lovelace <ada@author.example>"))
    head = head_of(messages.with_domain(read, author=AUTHOR, domain="xn--hfen-loa.example"))
    assert str(head["From"]) == '"Ada Lovelace via häfen.example" <no-reply@xn--hfen-loa.example>'
    assert head["Reply-To"] == "Ada Lovelace <ada@author.example>"


def test_a_reply_has_no_trace_of_its_owner() -> None:
    sent = message(
        From=f"The Owner <{OWNER}>",
        To=f"x <r-1@harbour.example>, {OWNER}",
        Sender=OWNER,
        Subject="An answer",
        References="<1@mail.home.example> <2@author.example>",
        **{
            "Message-ID": "<3@home.example>",
            "Return-Path": f"<{OWNER}>",
            "Received": f"from [192.0.2.7] by mail.home.example for <{OWNER}>",
            "X-Originating-IP": "192.0.2.7",
            "User-Agent": "Mail of home.example",
            "Autocrypt": f"addr={OWNER}",
            "Disposition-Notification-To": OWNER,
            "Authentication-Results": f"mx; spf=pass smtp.mailfrom={OWNER}",
            "X-Builders-Results": "domains=home.example",
        },
    )
    known = {"r-1@harbour.example": "ada@author.example", OWNER: ALIAS}
    changed = messages.as_reply(
        messages.read(sent),
        alias=ALIAS,
        owner=OWNER,
        message_id="<new@harbour.example>",
        mapped=lambda address: known.get(address, address),
    )
    head = head_of(changed)
    assert b"home.example" not in changed.partition(b"\r\n\r\n")[0]
    assert b"192.0.2.7" not in changed
    assert sorted(head.keys()) == ["From", "Message-ID", "References", "Subject", "To"]
    assert head["To"] == f"ada@author.example, {ALIAS}"
    assert head["References"] == "<2@author.example>"


@pytest.mark.parametrize(
    ("domains", "is_proved"),
    [
        ("home.example", True),
        ("other.example,HOME.example", True),
        ("mail.home.example", False),
        ("ome.example", False),
        ("", False),
    ],
)
def test_only_the_domain_of_an_address_or_one_above_proves_it(domains: str, is_proved: bool) -> None:
    read = messages.read(message(**{messages.RESULTS: f"spf=pass dkim=none dmarc=none domains={domains}"}))
    assert messages.read_results(read).proves(OWNER) is is_proved


def test_a_second_header_of_results_proves_nothing() -> None:
    read = messages.read(b"X-Builders-Results: domains=home.example\r\n" * 2 + b"\r\n")
    assert not messages.read_results(read).proves(OWNER)


def test_a_message_without_results_proves_nothing() -> None:
    assert not messages.read_results(messages.read(message(From=OWNER))).proves(OWNER)


@given(name=HOSTILE, subject=HOSTILE, body=st.binary(max_size=200))
def test_any_name_gives_one_author_and_keeps_subject_and_body(name: str, subject: str, body: bytes) -> None:
    sent = f"From: ada@author.example\r\nSubject: {subject}\r\n\r\n".encode() + body
    read = messages.read(sent)
    author = Author(name=one_line(name), address="ada@author.example")
    changed = messages.with_reverse(read, author=author, reverse="r-1@harbour.example", domain="harbour.example")
    again = messages.read(changed)
    assert messages.read_author(again).address == "r-1@harbour.example"
    assert again.body == read.body
    assert dkim.rfc822_parse(changed)[0][1:] == dkim.rfc822_parse(sent)[0][1:]
