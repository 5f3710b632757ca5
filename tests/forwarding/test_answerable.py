"""Which messages a program can answer: those of a proved author who expects an answer (RFC 3834)."""

from typing import Any

import pytest

from builders.forwarding import messages
from tests.forwarding.rules import ADA, parse

UNANSWERABLE: dict[str, dict[str, Any]] = {
    "not proved": {messages.RESULTS: "spf=fail dkim=fail dmarc=fail author=author.example domains="},
    "of another domain": {
        messages.RESULTS: "spf=pass dkim=pass dmarc=none author=author.example domains=evil.example"
    },
    "no results": {messages.RESULTS: ""},
    "two authors": {"From": f"{ADA}, eve@author.example"},
    "automatic": {"Auto-Submitted": "auto-replied"},
    "generated": {"Auto-Submitted": "auto-generated; x=y"},
    "bulk": {"Precedence": "bulk"},
    "a list": {"Precedence": "List"},
    "a list by its id": {"List-Id": "<l.author.example>"},
    "a newsletter": {"List-Unsubscribe": "<https://author.example/>"},
    "suppressed": {"X-Auto-Response-Suppress": "All"},
    "a report": {"Content-Type": "multipart/report; boundary=b"},
    "outside ASCII": {"From": "\u00fc@author.example"},
}


def find_refusal(*, has_sender: bool = True, **headers: str) -> str | None:
    """Return why a message of Ada cannot be answered."""
    arrival = parse(has_sender=has_sender, **headers)
    assert arrival is not None
    return arrival.summary.refusal


@pytest.mark.parametrize("what", UNANSWERABLE)
def test_mail_that_is_not_answered(what: str) -> None:
    assert find_refusal(**UNANSWERABLE[what]) is not None


@pytest.mark.parametrize("head", [{}, {"Auto-Submitted": "no"}, {"Precedence": "normal"}])
def test_mail_of_a_person_is_answered(head: dict[str, Any]) -> None:
    assert find_refusal(**head) is None


def test_a_report_has_no_sender_in_its_envelope() -> None:
    assert find_refusal(has_sender=False) is not None
