"""The sentence of a notice."""

from collections.abc import Callable, Mapping

from builders.kit.events import outbox
from builders.portfolio.notifications.event_kinds import COST_EXCEEDED, OVERDUE, UPCOMING
from builders.portfolio.notifications.records import SAMPLE_EVENT, Notice


def title_of(notice: Notice) -> str:
    """Return what a notice says as of the day that it was made. It holds no money."""
    return _TITLES.get(notice.event, _other)(notice)


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


_TITLES: Mapping[str, Callable[[Notice], str]] = {
    UPCOMING: _upcoming,
    OVERDUE: _overdue,
    COST_EXCEEDED: _cost_exceeded,
    SAMPLE_EVENT: _sample,
}
