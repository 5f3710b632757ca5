"""Rules of notices without a database: due thresholds, channels, and the time of an email."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from builders.portfolio.notifications.event_kinds import EVENT_KINDS
from builders.portfolio.notifications.records import (
    MIN_DAYS,
    Channel,
    Digest,
    EventPreference,
    Expiry,
    Frequency,
    Preferences,
    QuietAction,
    QuietHours,
    Severity,
    Suppression,
    Threshold,
    Weekday,
)

_WEEKDAYS = list(Weekday)
_SEVERITIES = ((0, Severity.CRITICAL), (3, Severity.HIGH), (14, Severity.WARN))  # up to these days
_DEFAULT = EventPreference()
_NO_CHANNELS: frozenset[Channel] = frozenset()


@dataclass(frozen=True, slots=True)
class EmailSchedule:
    """When an email is due; `at` is None when it is not sent, `by` None when it is due at once."""

    at: datetime | None
    by: Suppression | None


def merge_thresholds(thresholds: Sequence[Threshold]) -> tuple[list[Threshold], list[int]]:
    """Return the thresholds, the largest number of days first, and the days that occurred more than once.

    Of thresholds with the same days one remains, which notifies whenever one of them would, at the highest
    severity.
    """
    merged: dict[int, Threshold] = {}
    twice: set[int] = set()
    for each in thresholds:
        before = merged.get(each.days)
        merged[each.days] = each if before is None else _merged(before, each)
        if before is not None:
            twice.add(each.days)
    return [merged[days] for days in sorted(merged, reverse=True)], sorted(twice, reverse=True)


def _merged(first: Threshold, second: Threshold) -> Threshold:
    channels = None
    if first.channels is not None and second.channels is not None:
        channels = [each for each in Channel if each in {*first.channels, *second.channels}]
    severities = [each for each in (first.severity, second.severity) if each is not None]
    return Threshold(
        days=first.days,
        channels=channels,
        only_if_auto_renew_off=first.only_if_auto_renew_off and second.only_if_auto_renew_off,
        severity=max(severities, key=lambda each: each.rank, default=None),
    )


def find_due_threshold(expiry: Expiry, *, days_left: int, auto_renew: bool | None) -> Threshold | None:
    """Return the most urgent threshold that is reached; None when none is.

    So a late job sends one notice, not one for each threshold that has passed.
    """
    if days_left < MIN_DAYS or (auto_renew and not expiry.include_auto_renew_on):
        return None
    reached = [
        each
        for each in expiry.thresholds
        if each.days >= days_left and not (auto_renew and each.only_if_auto_renew_off)
    ]
    return min(reached, key=lambda each: each.days, default=None)


def severity_of(threshold: Threshold) -> Severity:
    """Return the severity of a threshold; unless it has one, it follows from its days."""
    if threshold.severity is not None:
        return threshold.severity
    return next((severity for days, severity in _SEVERITIES if threshold.days <= days), Severity.INFO)


def channels_of(preferences: Preferences, *, event: str, severity: Severity) -> frozenset[Channel]:
    """Return the channels through which a member is notified of an event; none when they are not."""
    preference = preferences.events.get(event, _DEFAULT)
    is_severe = preference.min_severity is None or severity.rank >= preference.min_severity.rank
    if not (preferences.enabled and is_severe and is_on(preferences, event=event)):
        return _NO_CHANNELS
    channels = preference.channels
    return preferences.channels.enabled.intersection(Channel if channels is None else channels)


def is_on(preferences: Preferences, *, event: str) -> bool:
    """Return whether a member is notified of an event: as they say, else by its kind and the digest."""
    kind, preference, digest = EVENT_KINDS[event], preferences.events.get(event, _DEFAULT), preferences.digest
    if preference.enabled is not None:
        return preference.enabled
    return kind.is_on or (kind.in_digest and digest.enabled and kind.topic in digest.include)


def is_muted(preferences: Preferences, *, domain: str, tags: Collection[str]) -> bool:
    """Return whether a member has muted the domain or one of its tags."""
    return domain in preferences.muted_domains or any(each.casefold() in preferences.muted_tags for each in tags)


def schedule_email(preferences: Preferences, *, event: str, severity: Severity, now: datetime) -> EmailSchedule:
    """Return when the email of a notice is due, by the digest and the quiet hours.

    A critical notice does not wait for the digest. A digest that falls into quiet hours is sent after them.
    """
    digest, quiet, zone = preferences.digest, preferences.quiet_hours, ZoneInfo(preferences.timezone)
    if digest.enabled and EVENT_KINDS[event].topic in digest.include and severity is not Severity.CRITICAL:
        at = next_digest(digest, zone, now)
        return EmailSchedule(quiet_until(quiet, zone, at) or at, Suppression.DIGEST)
    is_exempt = severity is Severity.CRITICAL and quiet.allow_critical
    end = None if is_exempt else quiet_until(quiet, zone, now)
    if end is None:
        return EmailSchedule(now, None)
    return EmailSchedule(end if quiet.then is QuietAction.DEFER else None, Suppression.QUIET_HOURS)


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
        if _WEEKDAYS[day.weekday()] in quiet.days:
            next_day = day + timedelta(days=quiet.end <= quiet.start)
            start, end = _instant(day, quiet.start, zone), _instant(next_day, quiet.end, zone)
            if start <= now < end:
                return end
    return None


def next_digest(digest: Digest, zone: ZoneInfo, now: datetime) -> datetime:
    """Return the next time at which the digest is sent, after `now`."""
    day = now.astimezone(zone).date()
    while not (_is_digest_day(digest, day) and _instant(day, time(digest.hour), zone) > now):
        day += timedelta(days=1)
    return _instant(day, time(digest.hour), zone)


def _is_digest_day(digest: Digest, day: date) -> bool:
    if digest.frequency is Frequency.WEEKLY:
        return _WEEKDAYS[day.weekday()] is digest.weekday
    return digest.frequency is Frequency.DAILY or day.day == 1


def _instant(day: date, at: time, zone: ZoneInfo) -> datetime:
    """Return the instant of a local time; one that a clock change skips is as much later as the change."""
    return datetime.combine(day, at, zone).astimezone(UTC)
