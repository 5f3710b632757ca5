"""The events of a portfolio in one table: topic, severity, the sentence of a notice, and who is notified.

The events are those of other packages, so a sentence omits an absent member. No sentence contains money, which
some roles must not see.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from builders.kit.events import outbox
from builders.portfolio.notifications.records import COST_EXCEEDED, Severity, Topic
from builders.webhooks import catalog
from builders.webhooks.records import CatalogEvent

Data = Mapping[str, Any]  # of an event
MAX_TITLE = 300  # characters
MAX_NAMED = 3  # domains or findings that a sentence names
# By the part of the name before the first dot, so that the events of a new package are in the catalog.
PORTFOLIO = ("portfolio_domain", "registrar", "renewal", "parking", "transfer", "billing", "team", "portfolio")
# Events that a domainer's account has like any other account.
ACCOUNT = ("account", "api_key", "email", "invoice", "onboarding", "profile", "session", "webhook")
PREFERRED = tuple(f"{area}.*" for area in PORTFOLIO)
UPCOMING, OVERDUE = "portfolio.renewal.upcoming", "portfolio.renewal.overdue"
PART_READ = "provider_list_incomplete"  # the code of a sync that could read a list in part only
TRANSFER_STARTED = "portfolio.transfer.started"


def domains_of(data: Data) -> Sequence[str]:
    """Return the domains that an event names."""
    if isinstance(data.get("domain"), str):
        return [data["domain"]]
    return [each for each in data.get("domains") or () if isinstance(each, str)]


def _registrar(data: Data) -> str:
    name = data.get("label") or data.get("connection") or "default"
    provider = data.get("provider") or "a registrar"
    return str(provider) if name in {"default", provider} else f"{provider} ({name})"


def _list(names: Sequence[str], count: int | None = None) -> str:
    total = len(names) if count is None else max(count, len(names))
    shown = [*names[:MAX_NAMED]]
    if total > len(shown):
        shown.append(f"{total - len(shown)} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def sync_failed(data: Data) -> str:
    """Return the sentence about a sync of domains or charges that failed."""
    what = f"The charges of {_registrar(data)}" if data.get("kind") == "billing" else _registrar(data)
    done = "could be read in part only" if data.get("code") == PART_READ else "could not be synced"
    return f"{what} {done}. {data.get('message') or ''} {data.get('hint') or ''}"


def drift(data: Data) -> str:
    """Return the sentence about new differences between the portfolio and its registrars."""
    findings, count = data.get("findings") or (), data.get("new", 1)
    named = [
        f"{each.get('domain') or each.get('provider')} ({str(each.get('category')).replace('_', ' ')})"
        for each in findings
    ]
    providers = sorted({str(each["provider"]) for each in findings if each.get("provider")})
    what = "1 urgent difference" if count == 1 else f"{count} urgent differences"
    return (
        f"{what} between the portfolio and {_list(providers) if providers else 'its registrars'}"
        f"{': ' + _list(named, count) if named else ''}. See GET /v1/portfolio/registrars/reconcile."
    )


def transfer_started(data: Data) -> str:
    """Return the sentence about a transfer; one that is not expected may be theft."""
    domain = data.get("domain")
    if data.get("expected") is False:
        return (
            f"{domain} is being transferred to another registrar, and its auth code was not requested here. "
            "If you did not start the transfer, reject it at the registrar now."
        )
    where = {"in": " to your registrar", "out": " to another registrar"}.get(str(data.get("direction")), "")
    return f"The transfer of {domain}{where} has started."


@dataclass(frozen=True, slots=True)
class EventKind:
    """The properties of an event that preferences and notices use."""

    topic: Topic
    severity: Severity
    title: str | Callable[[Data], str] | None = None  # with fields; None: the event's description
    is_on: bool = False  # whether members are notified unless they say otherwise
    in_digest: bool = False  # the same, for members with a digest that includes the topic
    owners_only: bool = False


_INFO, _WARN, _HIGH, _CRITICAL = Severity
# Of these three the job that reads the domains makes the notices, and publishes the events.
OWN_EVENTS: Mapping[str, EventKind] = MappingProxyType(
    {
        UPCOMING: EventKind(Topic.RENEWALS, _INFO, is_on=True),
        OVERDUE: EventKind(Topic.RENEWALS, _CRITICAL, is_on=True),
        COST_EXCEEDED: EventKind(Topic.RENEWALS, _WARN, is_on=True),
    }
)
# A notice of these is made when the event is published.
PUBLISHED: Mapping[str, EventKind] = MappingProxyType(
    {
        "portfolio.domain.added": EventKind(Topic.DOMAINS, _INFO),
        "portfolio.domain.updated": EventKind(Topic.DOMAINS, _INFO),
        "portfolio.domain.removed": EventKind(Topic.DOMAINS, _WARN),
        "portfolio.domain.sold": EventKind(Topic.DOMAINS, _INFO),
        "portfolio.domain.dropped": EventKind(Topic.DOMAINS, _WARN),
        "portfolio.domain.expired": EventKind(Topic.DOMAINS, _HIGH, is_on=True),
        "portfolio.expiry.changed": EventKind(Topic.DOMAINS, _INFO),
        "portfolio.auto_renew.changed": EventKind(Topic.DOMAINS, _WARN),
        "portfolio.lock.changed": EventKind(Topic.DOMAINS, _WARN),
        "portfolio.lifecycle.changed": EventKind(Topic.DOMAINS, _WARN),
        "portfolio.renewal.recorded": EventKind(Topic.RENEWALS, _INFO, in_digest=True),
        "portfolio.renewal.decision_changed": EventKind(Topic.RENEWALS, _INFO),
        "portfolio.renewal.failed": EventKind(Topic.RENEWALS, _CRITICAL, is_on=True),
        "portfolio.registrar.connected": EventKind(Topic.REGISTRARS, _INFO, "{registrar} was connected."),
        "portfolio.registrar.disconnected": EventKind(Topic.REGISTRARS, _WARN, "{registrar} was disconnected."),
        "portfolio.registrar.credentials_invalid": EventKind(
            Topic.REGISTRARS,
            _HIGH,
            "{registrar} no longer accepts the credentials of its connection. Send new ones: PUT "
            "/v1/portfolio/registrars/{provider}.",
            is_on=True,
        ),
        "portfolio.registrar.restricted": EventKind(
            Topic.REGISTRARS,
            _WARN,
            "{registrar} no longer allows the use of its API. {status_detail}",
            is_on=True,
        ),
        "portfolio.sync.completed": EventKind(Topic.REGISTRARS, _INFO),
        "portfolio.sync.failed": EventKind(Topic.REGISTRARS, _WARN, sync_failed, is_on=True),
        "portfolio.reconcile.drift_detected": EventKind(Topic.RECONCILE, _WARN, drift, is_on=True),
        "portfolio.billing.synced": EventKind(Topic.CHARGES, _INFO, "The charges of {registrar} were fetched."),
        "portfolio.billing.charge_matched": EventKind(
            Topic.CHARGES, _INFO, "{charges}{of_domains} found their domains.", in_digest=True
        ),
        "portfolio.billing.charge_unmatched": EventKind(
            Topic.CHARGES,
            _INFO,
            "{charges}{of_domains} by {registrars} could not be matched to a domain of the portfolio.",
            in_digest=True,
        ),
        "portfolio.billing.refund_detected": EventKind(
            Topic.CHARGES, _WARN, "{registrars} refunded {charges}{of_domains}.", is_on=True
        ),
        "portfolio.billing.imported": EventKind(
            Topic.CHARGES, _INFO, "A file with charges of {registrar} was imported."
        ),
        "portfolio.parking.revenue_recorded": EventKind(
            Topic.PARKING,
            _INFO,
            "Parking revenue{of_domains} was recorded for {since} to {until}.",
            in_digest=True,
        ),
        "portfolio.import.completed": EventKind(Topic.IMPORTS, _INFO),
        "portfolio.team.invited": EventKind(Topic.TEAM, _INFO),
        "portfolio.team.invite_revoked": EventKind(Topic.TEAM, _INFO),
        "portfolio.team.joined": EventKind(Topic.TEAM, _INFO, is_on=True),
        "portfolio.team.role_changed": EventKind(Topic.TEAM, _INFO),
        "portfolio.team.member_removed": EventKind(Topic.TEAM, _INFO),
        "portfolio.auth_code.requested": EventKind(
            Topic.TRANSFERS,
            _HIGH,
            "The auth code of {domain} was requested. It authorizes a transfer of the domain.",
            is_on=True,
            owners_only=True,
        ),
        "portfolio.auth_code.delivered": EventKind(Topic.TRANSFERS, _INFO),
        "portfolio.transfer.eligible": EventKind(Topic.TRANSFERS, _INFO),
        TRANSFER_STARTED: EventKind(Topic.TRANSFERS, _WARN, transfer_started, is_on=True),
        "portfolio.transfer.status_changed": EventKind(Topic.TRANSFERS, _INFO),
        "portfolio.transfer.completed": EventKind(
            Topic.TRANSFERS, _WARN, "The transfer of {domain} is complete.", is_on=True
        ),
        "portfolio.transfer.failed": EventKind(
            Topic.TRANSFERS, _HIGH, "The transfer of {domain} has failed. {message}", is_on=True
        ),
    }
)
EVENT_KINDS: Mapping[str, EventKind] = MappingProxyType(dict(sorted({**OWN_EVENTS, **PUBLISHED}.items())))


def severity_of(event: str, data: Data) -> Severity:
    """Return the severity of a published event: of its kind, or of its data if that is higher."""
    kind, own = PUBLISHED[event].severity, data.get("severity")
    if event == TRANSFER_STARTED and data.get("expected") is False:
        return Severity.CRITICAL
    return max(kind, Severity(own), key=lambda each: each.rank) if own in set(Severity) else kind


def list_catalog() -> Sequence[CatalogEvent]:
    """Return the events that the owner of a portfolio may want, by name."""
    return [event for event in catalog.list_catalog() if event.area in (*PORTFOLIO, *ACCOUNT)]


def title_of(event: str, data: Data) -> str:
    """Return the sentence of a notice about a published event."""
    title, domain, charges, names = (
        PUBLISHED[event].title,
        data.get("domain"),
        data.get("charges", 1),
        domains_of(data),
    )
    if title is None:
        described = next((each.description for each in outbox.list_events() if each.name == event), event)
        return f"{domain}: {described}" if isinstance(domain, str) else described
    if callable(title):
        text = title(data)
    else:
        fields = defaultdict(str, {name: value for name, value in data.items() if value is not None})
        fields["registrar"] = _registrar(data)
        fields["registrars"] = _list(data.get("providers") or ["a registrar"])
        fields["charges"] = "1 charge" if charges == 1 else f"{charges} charges"
        fields["of_domains"] = f" of {_list(names, data.get('domain_count'))}" if names else ""
        text = title.format_map(fields)
    text = " ".join(text.split())
    return text if len(text) <= MAX_TITLE else f"{text[: MAX_TITLE - 1]}…"
