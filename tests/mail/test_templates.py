"""Rendered emails: each template in both parts, and untrusted text in the fields."""

import dataclasses
import re
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import SMTPUTF8
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings as limits, strategies as st

from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.values import clock, ids
from builders.mail import links, renderer
from builders.mail.sender import Sender
from builders.mail.store import Claimed
from builders.mail.templates import TEMPLATES, EmailTemplate, RenewalNotice, TeamInvite, WebhookDisabled
from tests.mail.make import CODE, DAY, EMAILS, LINK, RENEWALS, SIGN_IN

SENDER = Sender(name="Builders", address="no-reply@builders.example", domain="builders.example")
STOP = "https://builders.test/v1/mail/unsubscribe/token"
HOSTILE = [
    "<script>alert(1)</script>",
    "{{ link }}{% raw %}",
    "Ada\r\nBcc: victim@mail.example\r\n\r\nBuy now",
    "Ada\u2028Bcc: x\u2029\x85\x0b\x0c\x00",
    "x" * 1024,
    "\u202eevil\u202c\u2066name",
    "فريق الميناء",
    '"><img src=x onerror=alert(1)>',
    "%(link)s {link} {0} $link",
    "=?utf-8?q?hello?=",
    "\ud800 lone",
    "😀" * 300,
]


class _Tags(HTMLParser):
    """The elements and the links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        if tag not in {"meta", "br", "img"}:
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def pack(email: renderer.RenderedEmail, *, to: str = "reader@mail.example", **options: Any) -> EmailMessage:
    """Return the parsed message."""
    raw = packed(email, to=to, **options)
    return BytesParser(EmailMessage, policy=SMTPUTF8).parsebytes(raw)


def packed(email: renderer.RenderedEmail, *, to: str = "reader@mail.example", **options: Any) -> bytes:
    """Return the message."""
    claimed = Claimed(
        template="x",
        content=b"",
        attempts=1,
        header_id="<1@builders.example>",
        created_at=clock.now(),
        expires_at=None,
    )
    values: dict[str, Any] = {"sender": SENDER, "unsubscribe": None, **options}
    return renderer.pack(email, to=to, claimed=claimed, **values)


def with_fields(template: EmailTemplate, text: str) -> EmailTemplate:
    """Return the email with another text in each untrusted field."""
    generated = {"link", "code"}
    changes: dict[str, Any] = {
        each.name: text
        for each in dataclasses.fields(template)
        if isinstance(getattr(template, each.name), str) and each.name not in generated
    }
    if isinstance(template, RenewalNotice):
        names = ("domain", "unicode", "price", "base_price", "registrar")
        texts: dict[str, Any] = dict.fromkeys(names, text)
        changes["domains"] = tuple(dataclasses.replace(each, **texts) for each in template.domains)
        changes["events"] = tuple(dataclasses.replace(each, title=text) for each in template.events)
    return dataclasses.replace(template, **changes)


def test_each_template_has_an_email() -> None:
    assert {type(each) for each in EMAILS} == set(TEMPLATES)


@pytest.mark.parametrize("template", EMAILS, ids=lambda each: each.name)
def test_both_parts_have_the_same_content(template: EmailTemplate) -> None:
    written = renderer.render(template, unsubscribe=STOP if template.topic else None)

    link = getattr(template, "link", None)
    tags = _Tags(written.html)
    if link is not None:
        assert link in tags.links
        assert link in written.text.split()
    assert (STOP in tags.links) == (STOP in written.text) == (template.topic is not None)
    assert tags.open == []
    assert "Builders" in written.text
    assert {"h1", "title"} <= set(tags.found)
    assert not re.search(r"\{[{%#]|undefined|None", written.html + written.text)
    assert all(len(line) <= 76 or "https://" in line for line in written.text.splitlines())
    assert "\n\n\n" not in written.text
    assert "script" not in tags.found


@pytest.mark.parametrize("sandbox", [False, True])
def test_a_sandbox_webhook_is_named_as_such(*, sandbox: bool) -> None:
    template = WebhookDisabled(label="main", url="https://hooks.example/in", reason="It is gone.", sandbox=sandbox)
    written = renderer.render(template, unsubscribe=STOP)
    assert ("of your sandbox" in written.text) == ("of your sandbox" in written.html) == sandbox


def test_the_code_is_in_the_subject_and_in_both_parts() -> None:
    written = renderer.render(SIGN_IN)
    assert all(CODE in each for each in (written.subject, written.text, written.html))


def test_a_renewal_notice_lists_the_outcome_of_each_domain() -> None:
    text = renderer.render(RENEWALS).text
    assert "- harbour.example, 2026-12-01: Auto-renews in 11 days, 12.00 USD" in text
    assert (
        "- bücher.example (xn--bcher-kva.example), 2026-12-02: Auto-renews in 12\n"
        "  days, 12.00 EUR (13.10 USD), at Porkbun\n"
        "  https://porkbun.com/account/domainsSpeedy\n"
    ) in text
    assert "- pier.example, 2026-11-21: Expires in 1 day\n" in text
    assert "- quay.example, 2026-11-20: Expires today\n" in text
    assert "- old.example, 2026-11-19: Expired\n" in text


def test_a_renewal_notice_links_to_the_registrar() -> None:
    html = renderer.render(RENEWALS).html
    assert "https://porkbun.com/account/domainsSpeedy" in _Tags(html).links
    assert "bücher.example" in html
    assert "12.00 EUR (13.10 USD), at <bdi>Porkbun</bdi>" in html


@pytest.mark.parametrize("template", EMAILS, ids=lambda each: each.name)
def test_hostile_text_adds_no_element_link_or_header(template: EmailTemplate) -> None:
    for text in HOSTILE:
        check_adds_nothing(template, text)


@limits(deadline=None)  # other tests share the processor
@given(st.text(min_size=1, max_size=300), st.sampled_from(EMAILS))
def test_any_text_adds_no_element_link_or_header(text: str, template: EmailTemplate) -> None:
    check_adds_nothing(template, text)


def check_adds_nothing(template: EmailTemplate, text: str) -> None:
    """Assert that the text adds no element, link or header."""
    hostile, plain = (renderer.render(with_fields(template, each)) for each in (text, "x"))

    assert _Tags(hostile.html).found == _Tags(plain.html).found
    assert _Tags(hostile.html).links == _Tags(plain.html).links
    assert len(hostile.subject) < 400
    message, harmless = pack(hostile), pack(plain)
    assert message.keys() == harmless.keys()
    assert message.defects == []
    for kind in ("plain", "html"):
        body = message.get_body((kind,))
        assert body is not None
        assert body.get_content().replace("\r\n", "\n").strip()
    assert not re.search("[\u202a-\u202e\u2066\u2067]", hostile.text + hostile.html + hostile.subject)


def test_a_long_name_is_cut() -> None:
    written = renderer.render(
        with_fields(TeamInvite(team="", inviter="", role="", link=LINK, expires_on=DAY), "x" * 1024)
    )
    assert "x" * 119 + "…" in written.html
    assert "x" * 121 not in written.html + written.text + written.subject


def test_right_to_left_text_is_isolated() -> None:
    invite = TeamInvite(team="Harbour", inviter="שרה", role="viewer", link=LINK, expires_on=DAY)
    written = renderer.render(invite)
    assert written.subject == "\u2068שרה\u2069 invites you to the team Harbour"
    assert "<bdi>שרה</bdi>" in written.html


def test_links_of_notices_are_tracked() -> None:
    keyring = Keyring([generate_secret()])
    minted = links.mint_links(keyring, base_url="https://builders.test", message_id=ids.new())
    written = renderer.render(RENEWALS, links=minted, unsubscribe=STOP)

    tags = _Tags(written.html)
    assert minted.pixel in tags.links
    assert minted.click(RENEWALS.link or "") in tags.links
    assert STOP in tags.links  # the unsubscribe link is not tracked
    assert (RENEWALS.link or "") in written.text


@pytest.mark.parametrize(
    "name", ["Builders", "Bäckerei, Söhne & Co <x@y.example>", "بناة", "A\r\nBcc: x@y.example"]
)
def test_the_sender_can_have_any_name(name: str) -> None:
    sender = dataclasses.replace(SENDER, name=name, reply_to="help@builders.example")
    message = pack(renderer.render(SIGN_IN), sender=sender)
    (written,) = message["From"].addresses
    assert (written.display_name, written.addr_spec) == (" ".join(name.split()), "no-reply@builders.example")
    assert str(message["Reply-To"]) == "help@builders.example"
    assert message["Bcc"] is None


@pytest.mark.parametrize(
    "to", ["reader@mail.example", f"{'a' * 64}@{'b' * 60}.example", "jörg@xn--mller-kva.example"]
)
def test_the_recipient_can_have_any_address(to: str) -> None:
    raw = packed(renderer.render(SIGN_IN), to=to)
    (written,) = re.findall(rb"\r\nTo:\s+(\S+)\r\n", raw)
    assert written.decode() == to


def test_a_long_unsubscribe_link_is_not_folded() -> None:
    long = "https://builders.example/" + "x" * 700
    raw = packed(renderer.render(RENEWALS, unsubscribe=long), unsubscribe=long)
    assert raw.startswith(
        f"List-Unsubscribe: <{long}>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n".encode()
    )
    assert all(len(line) <= 998 for line in raw.split(b"\r\n"))


@pytest.mark.parametrize("link", ["https://x.example/\r\nBcc: y", "https://x.example/>", "https://x.example/ä"])
def test_an_unsubscribe_link_that_does_not_fit_a_header_is_refused(link: str) -> None:
    with pytest.raises(ValueError, match="too long for a header"):
        packed(renderer.render(RENEWALS, unsubscribe=link), unsubscribe=link)


@limits(deadline=None)  # other tests share the processor
@given(st.text(max_size=200))
def test_lines_end_with_crlf(text: str) -> None:
    raw = packed(renderer.render(TeamInvite(team=text, inviter=text, role="viewer", link=LINK, expires_on=DAY)))
    assert b"\n" not in raw.replace(b"\r\n", b"")
    assert b"\r" not in raw.replace(b"\r\n", b"")
    assert raw.isascii()
