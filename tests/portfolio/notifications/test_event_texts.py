"""What a notice about an event of another package says: pure, by the name and the data of the event."""

from typing import Any

import pytest

from builders.kit.events import outbox
from builders.portfolio.notifications.event_kinds import EVENT_KINDS, PUBLISHED, domains_of, severity_of, title_of
from builders.portfolio.notifications.records import Severity

PORKBUN = {"provider": "porkbun", "connection": "default", "label": None}
FINDINGS = [
    {"category": "redemption", "severity": "critical", "domain": "harbour.com", "provider": "porkbun"},
    {"category": "missing_at_registrar", "severity": "high", "domain": "lantern.com", "provider": "gandi"},
]
CHARGES = {
    "providers": ["namesilo"],
    "charges": 4,
    "domain": None,
    "domains": ["a.com", "b.com", "c.com", "d.com"],
}


@pytest.mark.parametrize(
    ("event", "data", "severity", "title"),
    [
        (
            "registrar.credentials_invalid",
            PORKBUN | {"label": "Main account"},
            Severity.HIGH,
            (
                "porkbun (Main account) no longer accepts the credentials of its connection. "
                "Send new ones: PUT /v1/portfolio/registrars/porkbun."
            ),
        ),
        (
            "registrar.restricted",
            PORKBUN | {"connection": "second", "status_detail": "Ten domains are needed."},
            Severity.WARN,
            "porkbun (second) no longer allows the use of its API. Ten domains are needed.",
        ),
        (
            "sync.failed",
            PORKBUN | {"message": "The registrar does not respond.", "hint": None},
            Severity.WARN,
            "porkbun could not be synced. The registrar does not respond.",
        ),
        (
            "sync.failed",
            PORKBUN | {"kind": "billing", "message": "The registrar does not respond."},
            Severity.WARN,
            "The charges of porkbun could not be synced. The registrar does not respond.",
        ),
        (
            "sync.failed",
            PORKBUN | {"code": "provider_list_incomplete", "hint": "1 of its items could not be read: pier.net."},
            Severity.WARN,
            "porkbun could be read in part only. 1 of its items could not be read: pier.net.",
        ),
        (
            "reconcile.drift_detected",
            {"severity": "critical", "new": 3, "findings": FINDINGS},
            Severity.CRITICAL,
            (
                "3 urgent differences between the portfolio and gandi and porkbun: harbour.com (redemption), "
                "lantern.com (missing at registrar) and 1 more. See GET /v1/portfolio/registrars/reconcile."
            ),
        ),
        (
            "billing.refund_detected",
            CHARGES | {"charges": 1, "domain": "harbour.com", "domains": ["harbour.com"]},
            Severity.WARN,
            "namesilo refunded 1 charge of harbour.com.",
        ),
        (
            "billing.charge_unmatched",
            CHARGES,
            Severity.INFO,
            (
                "4 charges of a.com, b.com, c.com and 1 more by namesilo could not be matched to a domain of the "
                "portfolio."
            ),
        ),
        (
            "transfer.started",
            {"domain": "harbour.com", "direction": "out", "expected": False},
            Severity.CRITICAL,
            (
                "harbour.com is being transferred to another registrar, and its auth code was not requested "
                "here. If you did not start the transfer, reject it at the registrar now."
            ),
        ),
        (
            "transfer.started",
            {"domain": "harbour.com", "direction": "in", "expected": True},
            Severity.WARN,
            "The transfer of harbour.com to your registrar has started.",
        ),
        ("transfer.completed", {"domain": "a.com"}, Severity.WARN, "The transfer of a.com is complete."),
        ("transfer.failed", {"domain": "a.com"}, Severity.HIGH, "The transfer of a.com has failed."),
        (
            "auth_code.requested",
            {"domain": "harbour.com"},
            Severity.HIGH,
            "The auth code of harbour.com was requested. It authorizes a transfer of the domain.",
        ),
    ],
)
def test_a_notice_names_the_domain_or_the_registrar(
    event: str, data: dict[str, Any], severity: Severity, title: str
) -> None:
    assert title_of(f"portfolio.{event}", data) == title
    assert severity_of(f"portfolio.{event}", data) is severity


@pytest.mark.parametrize("event", PUBLISHED)
def test_each_event_has_a_text_without_the_members_that_it_may_lack(event: str) -> None:
    assert title_of(event, {}) != ""
    assert len(title_of(event, {"message": "x" * 999, "provider": "y" * 999})) <= 300
    assert severity_of(event, {"severity": "none"}) is PUBLISHED[event].severity
    assert domains_of({"domains": ["a.com", None]}) == ["a.com"]


def test_every_kind_is_an_event_that_a_package_declares() -> None:
    assert EVENT_KINDS.keys() <= {each.name for each in outbox.list_events()}


def test_an_event_without_a_sentence_is_described() -> None:
    assert title_of("portfolio.domain.sold", {"domain": "a.com"}) == "a.com: A domain got the status `sold`."
