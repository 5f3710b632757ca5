"""The sentence of a notice."""

from collections.abc import Callable, Mapping
from datetime import date

from builders.kit.events import outbox
from builders.portfolio.notifications.event_kinds import COST_EXCEEDED, OVERDUE, UPCOMING
from builders.portfolio.notifications.records import SAMPLE_EVENT, Notice


def title_of(notice: Notice, *, today: date) -> str:
    """Return what a notice says, on the day that it is read. It holds no money."""
    write = _TITLES.get(notice.event, _other)
    return write(notice, today)


def _upcoming(notice: Notice, today: date) -> str:
    days = _days(notice, today)
    what = "renews automatically" if notice.auto_renew else "expires"
    if days < 0:
        return _overdue(notice, today)
    return f"{notice.domain} {what} {'today' if days == 0 else f'in {_count(days)}'}."


def _overdue(notice: Notice, today: date) -> str:
    days = -_days(notice, today)
    return f"{notice.domain} expired {'today' if days <= 0 else f'{_count(days)} ago'}."


def _cost_exceeded(notice: Notice, today: date) -> str:
    del today
    month = notice.month or notice.created_at.date()
    return f"The renewals of {month:%B %Y} cost more than your limit."


def _sample(notice: Notice, today: date) -> str:
    del notice, today
    return "This is a sample of a notice."


def _other(notice: Notice, today: date) -> str:
    del today
    described = {each.name: each.description for each in outbox.list_events()}
    text = described.get(notice.event, notice.event)
    return text if notice.domain is None else f"{notice.domain}: {text}"


def _days(notice: Notice, today: date) -> int:
    return 0 if notice.expires_on is None else (notice.expires_on - today).days


def _count(days: int) -> str:
    return f"{days} day{'' if days == 1 else 's'}"


_TITLES: Mapping[str, Callable[[Notice, date], str]] = {
    UPCOMING: _upcoming,
    OVERDUE: _overdue,
    COST_EXCEEDED: _cost_exceeded,
    SAMPLE_EVENT: _sample,
}
