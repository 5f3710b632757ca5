"""The events of a portfolio: topic, severity, and the members that are notified by default."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from builders.kit.events import outbox
from builders.portfolio.notifications.records import Severity, Topic
from builders.webhooks import catalog
from builders.webhooks.records import CatalogEvent

# By the part of the name before the first dot, so that the events of a new package are in the catalog.
PORTFOLIO = ("portfolio_domain", "registrar", "renewal", "parking", "transfer", "billing", "team", "portfolio")
# Events that a domainer's account has like any other account.
ACCOUNT = ("account", "api_key", "email", "invoice", "onboarding", "profile", "session", "webhook")
PREFERRED = tuple(f"{area}.*" for area in PORTFOLIO)
UPCOMING, OVERDUE = "portfolio.renewal.upcoming", "portfolio.renewal.overdue"
COST_EXCEEDED = "portfolio.renewal.cost_exceeded"


@dataclass(frozen=True, slots=True)
class EventKind:
    """The properties of an event that preferences use."""

    topic: Topic
    severity: Severity
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
        "portfolio.registrar.connected": EventKind(Topic.REGISTRARS, _INFO),
        "portfolio.registrar.disconnected": EventKind(Topic.REGISTRARS, _WARN),
        "portfolio.registrar.credentials_invalid": EventKind(Topic.REGISTRARS, _HIGH, is_on=True),
        "portfolio.registrar.restricted": EventKind(Topic.REGISTRARS, _WARN, is_on=True),
        "portfolio.sync.completed": EventKind(Topic.REGISTRARS, _INFO),
        "portfolio.sync.failed": EventKind(Topic.REGISTRARS, _WARN, is_on=True),
        "portfolio.reconcile.drift_detected": EventKind(Topic.RECONCILE, _WARN, is_on=True),
        "portfolio.billing.synced": EventKind(Topic.CHARGES, _INFO),
        "portfolio.billing.charge_matched": EventKind(Topic.CHARGES, _INFO, in_digest=True),
        "portfolio.billing.charge_unmatched": EventKind(Topic.CHARGES, _INFO, in_digest=True),
        "portfolio.billing.refund_detected": EventKind(Topic.CHARGES, _WARN, is_on=True),
        "portfolio.billing.imported": EventKind(Topic.CHARGES, _INFO),
        "portfolio.parking.revenue_recorded": EventKind(Topic.PARKING, _INFO, in_digest=True),
        "portfolio.import.completed": EventKind(Topic.IMPORTS, _INFO),
        "portfolio.team.invited": EventKind(Topic.TEAM, _INFO),
        "portfolio.team.invite_revoked": EventKind(Topic.TEAM, _INFO),
        "portfolio.team.joined": EventKind(Topic.TEAM, _INFO, is_on=True),
        "portfolio.team.role_changed": EventKind(Topic.TEAM, _INFO),
        "portfolio.team.member_removed": EventKind(Topic.TEAM, _INFO),
        "portfolio.auth_code.requested": EventKind(Topic.TRANSFERS, _HIGH, is_on=True, owners_only=True),
        "portfolio.auth_code.delivered": EventKind(Topic.TRANSFERS, _INFO),
        "portfolio.transfer.eligible": EventKind(Topic.TRANSFERS, _INFO),
        "portfolio.transfer.started": EventKind(Topic.TRANSFERS, _WARN, is_on=True),  # unexpected: critical
        "portfolio.transfer.status_changed": EventKind(Topic.TRANSFERS, _INFO),
        "portfolio.transfer.completed": EventKind(Topic.TRANSFERS, _WARN, is_on=True),
        "portfolio.transfer.failed": EventKind(Topic.TRANSFERS, _HIGH, is_on=True),
    }
)
EVENT_KINDS: Mapping[str, EventKind] = MappingProxyType({**OWN_EVENTS, **PUBLISHED})


def list_kinds() -> Mapping[str, EventKind]:
    """Return the kinds of the events that packages declare, by name."""
    declared = {each.name for each in outbox.list_events()}
    return {name: kind for name, kind in sorted(EVENT_KINDS.items()) if name in declared}


def list_catalog() -> Sequence[CatalogEvent]:
    """Return the events that the owner of a portfolio may want, by name."""
    return [event for event in catalog.list_catalog() if event.area in (*PORTFOLIO, *ACCOUNT)]
