"""The message of an answer: cleaned HTML, links with their hosts, and headers that are ours."""

from email.message import EmailMessage

import pytest

from builders.forwarding import answer_texts
from builders.forwarding.records import AnswerDraft
from builders.kit.values import clock
from tests.forwarding.heads import head_of
from tests.forwarding.rules import ADA
from tests.loop_time import loop_time

MOST_S = 2  # for the longest HTML, in a thread of the mail filter


def composed(html: str) -> EmailMessage:
    draft = AnswerDraft(to=ADA, subject="A question", in_reply_to="", references=(), text=None, html=html)
    return head_of(answer_texts.compose(draft, alias="inbox@harbour.example", message_id="<1@x>", at=clock.now()))


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("<p>Hi <b>Ada</b></p>", "<p>Hi <b>Ada</b></p>"),
        ("<script>x()</script>a", "a"),
        ("<style>p{}</style>a", "a"),
        ('<img src="https://evil.example/p.gif">a', "a"),
        ('<form action="https://evil.example"><input name=a><button>b</button></form>', "b"),
        ('<p style="background:url(https://evil.example)" onclick="x()">a</p>', "<p>a</p>"),
        ("<iframe src=https://evil.example></iframe><svg onload=x()></svg>a<!-- b -->", "a"),
        ('<a href="javascript:x()">a</a>', "<a>a</a>"),
        ('<a href="https://evil.example/b">Bank</a>', '<a href="https://evil.example/b">Bank</a> [evil.example]'),
        (
            '<a href="https://bank.example@evil.example/">Bank</a>',
            '<a href="https://bank.example@evil.example/">Bank</a> [evil.example]',
        ),
        ('<a href="mailto:a@b.example">a</a>', '<a href="mailto:a@b.example">a</a> [a@b.example]'),
    ],
)
def test_html_is_cleaned_and_links_show_their_host(written: str, left: str) -> None:
    assert answer_texts.clean(written) == left


def test_html_has_a_text_beside_it() -> None:
    sent = composed('<p>Hi</p><a href="https://evil.example/b">Bank</a>')
    text = sent.get_body(("plain",))
    assert text is not None
    assert text.get_content().split("\r\n")[:2] == ["Hi", "Bank [evil.example]"]
    assert sent.get_content_type() == "multipart/alternative"


@pytest.mark.parametrize("subject", ["Re: A question", "RE : A question"])
def test_a_subject_has_one_re(subject: str) -> None:
    draft = AnswerDraft(to=ADA, subject=subject, in_reply_to="", references=(), text="a", html=None)
    sent = head_of(answer_texts.compose(draft, alias="inbox@harbour.example", message_id="<1@x>", at=clock.now()))
    assert sent["Subject"] == subject
    assert sent["In-Reply-To"] is None


@pytest.mark.parametrize(
    "unit",
    ["<b>", "<a href='https://a.b'>", "<a>", "<table><tr>", "<p><b>", "&", "<", '<a href="https://a.b/">x</a>'],
)
def test_hostile_html_of_an_answer_takes_a_bounded_time(unit: str) -> None:
    with loop_time() as taken:
        composed(unit * (50_000 // len(unit)))
    assert taken.seconds < MOST_S


def test_nothing_of_a_subject_becomes_a_header() -> None:
    draft = AnswerDraft(
        to=ADA,
        subject="a" * 200 + "\u00fc",
        in_reply_to="<1@x>",
        references=("<0@x>",) * 20,
        text="\n.\n",
        html=None,
    )
    sent = answer_texts.compose(draft, alias="inbox@harbour.example", message_id="<1@x>", at=clock.now())
    assert head_of(sent)["Subject"] == f"Re: {'a' * 200}\u00fc"
    assert len(head_of(sent)["References"].split()) == 21
