"""Rules of notices without a database: due thresholds, channels, and the time of an email."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from builders.portfolio.notifications.event_kinds import EVENT_KINDS
from builders.portfolio.notifications.records import (
    MIN_DAYS,
    Channel,
    Digest,
    Expiry,
    Frequency,
    Preferences,
    QuietHours,
    Severity,
    Suppression,
    Weekday,
)

_WEEKDAYS = list(Weekday)
_SEVERITIES = ((0, Severity.CRITICAL), (3, Severity.HIGH), (14, Severity.WARN))  # up to these days


@dataclass(frozen=True, slots=True)
class EmailSchedule:
    """When an email is due, and why it waits; `by` is None when it is due at once."""

    at: datetime
    by: Suppression | None


def find_due_threshold(expiry: Expiry, *, days_left: int, auto_renew: bool | None) -> int | None:
    """Return the most urgent threshold that is reached; None when none is.

    So a late job sends one notice, not one for each threshold that has passed.
    """
    if days_left < MIN_DAYS or (auto_renew and not expiry.include_auto_renew_on):
        return None
    return min((each for each in expiry.thresholds if each >= days_left), default=None)


def severity_of(threshold: int) -> Severity:
    """Return the severity of a notice about the expiry of a domain."""
    return next((severity for days, severity in _SEVERITIES if threshold <= days), Severity.INFO)


def channels_of(preferences: Preferences, *, event: str) -> frozenset[Channel]:
    """Return the channels through which a member is notified of an event; none when they are not."""
    preference = preferences.events[event]
    if not (preferences.enabled and preference.enabled):
        return frozenset()
    channels = preference.channels
    return preferences.channels.enabled.intersection(Channel if channels is None else channels)


def is_muted(preferences: Preferences, *, domain: str, tags: Collection[str]) -> bool:
    """Return whether a member has muted the domain or one of its tags."""
    domains, muted_tags = preferences.muted
    return domain in domains or any(each.casefold() in muted_tags for each in tags)


def schedule_email(preferences: Preferences, *, event: str, severity: Severity, now: datetime) -> EmailSchedule:
    """Return when the email of a notice is due, by the digest and the quiet hours.

    A critical notice does not wait. A digest that falls into quiet hours is sent after them.
    """
    digest, quiet, zone = preferences.digest, preferences.quiet_hours, ZoneInfo(preferences.timezone)
    if severity is Severity.CRITICAL:
        return EmailSchedule(now, None)
    if digest.enabled and EVENT_KINDS[event].topic in digest.include:
        at = next_digest(digest, zone, now)
        return EmailSchedule(quiet_until(quiet, zone, at) or at, Suppression.DIGEST)
    end = quiet_until(quiet, zone, now)
    return EmailSchedule(now, None) if end is None else EmailSchedule(end, Suppression.QUIET_HOURS)


def quiet_until(quiet: QuietHours, zone: ZoneInfo, now: datetime) -> datetime | None:
    """Return the end of the quiet hours that include `now`; None outside of quiet hours."""
    at = now
    # Where a clock change lies between two periods, one can end after the start of the next.
    while quiet.enabled and (end := _end_of_period(quiet, zone, at)) is not None:
        at = end
    return None if at == now else at


def _end_of_period(quiet: QuietHours, zone: ZoneInfo, now: datetime) -> datetime | None:
    today = now.astimezone(zone).date()
    for day in (today, today - timedelta(days=1)):
        next_day = day + timedelta(days=quiet.end <= quiet.start)
        start, end = _instant(day, quiet.start, zone), _instant(next_day, quiet.end, zone)
        if start <= now < end:
            return end
    return None


def next_digest(digest: Digest, zone: ZoneInfo, now: datetime) -> datetime:
    """Return the next time at which the digest is sent, after `now`."""
    day = now.astimezone(zone).date()
    while True:
        at = _instant(day, time(digest.hour), zone)
        is_day = {
            Frequency.DAILY: True,
            Frequency.WEEKLY: _WEEKDAYS[day.weekday()] is digest.weekday,
            Frequency.MONTHLY: day.day == 1,
        }[digest.frequency]
        if is_day and at > now:
            return at
        day += timedelta(days=1)


def _instant(day: date, at: time, zone: ZoneInfo) -> datetime:
    """Return the instant of a local time; one that a clock change skips is as much later as the change."""
    return datetime.combine(day, at, zone).astimezone(UTC)
