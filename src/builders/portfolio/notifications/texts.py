"""The sentences of a notice: its title and its reason."""

from collections.abc import Callable, Mapping

from builders.kit.events import outbox
from builders.portfolio.notifications.event_kinds import COST_EXCEEDED, EVENT_KINDS, OVERDUE, UPCOMING
from builders.portfolio.notifications.records import SAMPLE_EVENT, Notice, Topic


def title_of(notice: Notice) -> str:
    """Return the title of a notice as of its creation. It contains no money."""
    if notice.title is not None:
        return notice.title
    return _TITLES.get(notice.event, _other)(notice)


def why_of(notice: Notice) -> str:
    """Return why a notice was made, and which preference stops others like it."""
    if notice.event == SAMPLE_EVENT:
        return "A sample was requested with a key of your account."
    if notice.event == COST_EXCEEDED:
        return "`cost_alert.monthly_renewals_above` is set; null stops these notices."
    if notice.threshold_days is not None:
        stop = "`expiry.thresholds`, `muted_domains` and `muted_tags` stop these notices"
        return f"The threshold of {_count(notice.threshold_days)} in your preferences is reached; {stop}."
    return f"You are notified of {notice.event}; `events.{notice.event}.enabled` false stops these notices."


def section_of(notice: Notice) -> str:
    """Return the part of an email that a notice belongs to."""
    kind = EVENT_KINDS.get(notice.event)
    return _SECTIONS[None if kind is None else kind.topic]


def _upcoming(notice: Notice) -> str:
    days = _days(notice)
    what = "renews automatically" if notice.auto_renew else "expires"
    if days < 0:
        return _overdue(notice)
    return f"{notice.domain} {what} {'today' if days == 0 else f'in {_count(days)}'}."


def _overdue(notice: Notice) -> str:
    days = -_days(notice)
    return f"{notice.domain} expired {'today' if days <= 0 else f'{_count(days)} ago'}."


def _cost_exceeded(notice: Notice) -> str:
    month = notice.month or notice.created_at.date()
    return f"The renewals of {month:%B %Y} cost more than your limit."


def _sample(notice: Notice) -> str:
    del notice
    return "This is a sample of a notice."


def _other(notice: Notice) -> str:
    described = {each.name: each.description for each in outbox.list_events()}
    text = described.get(notice.event, notice.event)
    return text if notice.domain is None else f"{notice.domain}: {text}"


def _days(notice: Notice) -> int:
    return 0 if notice.expires_on is None else (notice.expires_on - notice.created_at.date()).days


def _count(days: int) -> str:
    return f"{days} day{'' if days == 1 else 's'}"


# In the order of an email.
_SECTIONS: Mapping[Topic | None, str] = {
    Topic.RENEWALS: "Renewals",
    Topic.TRANSFERS: "Transfers",
    Topic.RECONCILE: "Reconcile",
    Topic.REGISTRARS: "Registrars",
    Topic.CHARGES: "Charges",
    Topic.PARKING: "Parking",
    Topic.DOMAINS: "Domains",
    Topic.IMPORTS: "Imports",
    Topic.TEAM: "Team",
    None: "Other",
}
SECTIONS = tuple(_SECTIONS.values())
_TITLES: Mapping[str, Callable[[Notice], str]] = {
    UPCOMING: _upcoming,
    OVERDUE: _overdue,
    COST_EXCEEDED: _cost_exceeded,
    SAMPLE_EVENT: _sample,
}
