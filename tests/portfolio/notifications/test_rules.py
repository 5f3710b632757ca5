"""The rules of notices: due thresholds, quiet hours over clock changes, digests, channels and mutes."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, strategies as st

from builders.portfolio.notifications import rules
from builders.portfolio.notifications.event_kinds import OVERDUE, UPCOMING
from builders.portfolio.notifications.records import (
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
    Topic,
    Weekday,
)

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
ZONES = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"]
)
MOMENTS = st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - aware
TIMES = st.times().map(lambda at: at.replace(second=0, microsecond=0))
DAYS = st.integers(-30, 365)
THRESHOLDS = st.lists(
    st.builds(
        Threshold,
        days=DAYS,
        channels=st.none() | st.lists(st.sampled_from(Channel), unique=True),
        only_if_auto_renew_off=st.booleans(),
        severity=st.none() | st.sampled_from(Severity),
    ),
    max_size=12,
)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@given(THRESHOLDS, st.integers(-60, 400), st.none() | st.booleans())
def test_the_most_urgent_reached_threshold_is_due(
    thresholds: list[Threshold], days_left: int, auto_renew: bool | None
) -> None:
    merged, twice = rules.merge_thresholds(thresholds)
    assert [each.days for each in merged] == sorted({each.days for each in thresholds}, reverse=True)
    assert len(thresholds) - len(merged) >= len(twice)
    assert rules.merge_thresholds(merged) == (merged, [])

    due = rules.find_due_threshold(Expiry(thresholds=merged), days_left=days_left, auto_renew=auto_renew)
    reached = {
        each.days
        for each in merged
        if each.days >= days_left >= -30 and not (auto_renew and each.only_if_auto_renew_off)
    }
    assert (due.days if due else None) == min(reached, default=None)


@given(st.lists(DAYS, max_size=9, unique=True), st.lists(st.integers(-40, 100), min_size=1, max_size=60))
def test_whenever_the_job_runs_a_threshold_is_due_once(days: list[int], runs: list[int]) -> None:
    """The job remembers what it has sent; however late it runs, nothing is sent twice or in the wrong order."""
    expiry = Expiry(thresholds=[Threshold(days=each) for each in days])
    sent: list[int] = []
    for days_left in sorted(runs, reverse=True):
        due = rules.find_due_threshold(expiry, days_left=days_left, auto_renew=None)
        if due is not None and due.days not in sent:
            sent.append(due.days)
    assert sent == sorted(sent, reverse=True)


def test_thresholds_apply_by_automatic_renewal() -> None:
    expiry = Expiry(thresholds=[Threshold(days=30), Threshold(days=7, only_if_auto_renew_off=True)])
    assert rules.find_due_threshold(expiry, days_left=5, auto_renew=False) == expiry.thresholds[1]
    assert rules.find_due_threshold(expiry, days_left=5, auto_renew=True) == expiry.thresholds[0]
    without = Expiry(include_auto_renew_on=False)
    assert rules.find_due_threshold(without, days_left=5, auto_renew=True) is None
    assert rules.find_due_threshold(without, days_left=5, auto_renew=None) == Threshold(days=7)


@given(ZONES, TIMES, TIMES, st.sets(st.sampled_from(Weekday)), MOMENTS)
def test_quiet_hours_end_and_are_over_at_their_end(
    zone: str, start: time, end: time, days: set[Weekday], now: datetime
) -> None:
    assume(start != end)
    quiet = QuietHours(enabled=True, start=start, end=end, days=sorted(days))
    until = rules.quiet_until(quiet, ZoneInfo(zone), now)
    if until is not None:
        assert now < until <= now + timedelta(hours=26)
        assert rules.quiet_until(quiet, ZoneInfo(zone), until) is None
        local = until.astimezone(ZoneInfo(zone))
        # A clock change can skip the end; the change is then the only difference.
        assert (local.hour, local.minute) == (end.hour, end.minute) or local.utcoffset() != (
            local - timedelta(hours=2)
        ).astimezone(UTC).astimezone(ZoneInfo(zone)).utcoffset()
    assert rules.quiet_until(QuietHours(start=start, end=end), ZoneInfo(zone), now) is None


@pytest.mark.parametrize(
    ("zone", "now", "until"),
    [
        # The night of the change to summer time has seven hours of 22:00 to 06:00, that of the change back nine.
        pytest.param(BERLIN, "2026-03-28T21:00", "2026-03-29T04:00", id="Berlin in spring: the beginning"),
        pytest.param(BERLIN, "2026-03-28T20:59", None, id="Berlin in spring: a minute before"),
        pytest.param(BERLIN, "2026-03-29T04:00", None, id="Berlin in spring: the end"),
        pytest.param(BERLIN, "2026-10-24T20:00", "2026-10-25T05:00", id="Berlin in autumn: the beginning"),
        pytest.param(
            BERLIN, "2026-10-25T01:30", "2026-10-25T05:00", id="Berlin in autumn: in the hour that occurs twice"
        ),
        pytest.param(NEW_YORK, "2026-03-08T03:00", "2026-03-08T10:00", id="New York in spring"),
        pytest.param(NEW_YORK, "2026-11-01T02:00", "2026-11-01T11:00", id="New York in autumn"),
    ],
)
def test_quiet_hours_over_a_clock_change(zone: ZoneInfo, now: str, until: str | None) -> None:
    quiet = QuietHours(enabled=True, start=time(22), end=time(6))
    assert rules.quiet_until(quiet, zone, utc(now)) == (until and utc(until))


def test_quiet_hours_of_some_days() -> None:
    quiet = QuietHours(enabled=True, start=time(22), end=time(7), days=[Weekday.FRIDAY])
    friday = utc("2026-01-09T23:00")
    assert rules.quiet_until(quiet, ZoneInfo("UTC"), friday) == utc("2026-01-10T07:00")
    assert rules.quiet_until(quiet, ZoneInfo("UTC"), friday + timedelta(hours=4)) == utc("2026-01-10T07:00")
    assert rules.quiet_until(quiet, ZoneInfo("UTC"), friday + timedelta(days=1)) is None


@given(ZONES, st.sampled_from(Frequency), st.sampled_from(Weekday), st.integers(0, 23), MOMENTS)
def test_the_next_digest_is_the_first_one_after_now(
    zone: str, frequency: Frequency, weekday: Weekday, hour: int, now: datetime
) -> None:
    digest = Digest(enabled=True, frequency=frequency, weekday=weekday, hour=hour)
    at = rules.next_digest(digest, ZoneInfo(zone), now)
    longest = {Frequency.DAILY: 1, Frequency.WEEKLY: 7, Frequency.MONTHLY: 31}[frequency]
    assert now < at <= now + timedelta(days=longest, hours=2)
    assert rules.next_digest(digest, ZoneInfo(zone), at - timedelta(seconds=1)) == at
    local = at.astimezone(ZoneInfo(zone))
    assert frequency is not Frequency.WEEKLY or list(Weekday)[local.weekday()] is weekday
    assert frequency is not Frequency.MONTHLY or local.day == 1


def test_an_email_waits_for_the_digest_and_the_end_of_quiet_hours() -> None:
    night = utc("2026-01-08T23:30")
    quiet = QuietHours(enabled=True, start=time(22), end=time(9))
    member = Preferences(enabled=True, timezone="UTC", quiet_hours=quiet)

    def schedule(event: str, severity: Severity, **changes: object) -> tuple[datetime | None, Suppression | None]:
        changed = Preferences(**{"enabled": True, "timezone": "UTC", "quiet_hours": quiet, **changes})  # type: ignore[arg-type]
        found = rules.schedule_email(changed, event=event, severity=severity, now=night)
        return found.at, found.by

    morning = utc("2026-01-09T09:00")
    assert schedule(UPCOMING, Severity.INFO) == (morning, Suppression.QUIET_HOURS)
    assert schedule(OVERDUE, Severity.CRITICAL) == (night, None)
    strict = QuietHours(enabled=True, end=time(9), allow_critical=False, then=QuietAction.DROP)
    assert schedule(OVERDUE, Severity.CRITICAL, quiet_hours=strict) == (None, Suppression.QUIET_HOURS)
    digest = Digest(enabled=True, hour=8)  # in the quiet hours
    assert schedule(UPCOMING, Severity.INFO, digest=digest) == (morning, Suppression.DIGEST)
    assert schedule(OVERDUE, Severity.CRITICAL, digest=digest) == (night, None)
    parking = Digest(enabled=True, include=[Topic.PARKING])
    assert schedule(UPCOMING, Severity.INFO, digest=parking) == (morning, Suppression.QUIET_HOURS)
    assert member.channels.enabled == set(Channel)


def test_channels_and_mutes() -> None:
    def channels(severity: Severity = Severity.INFO, **changes: object) -> frozenset[Channel]:
        member = Preferences(**{"enabled": True, "timezone": "UTC", **changes})  # type: ignore[arg-type]
        return rules.channels_of(member, event="portfolio.domain.sold", severity=severity)

    only = EventPreference(enabled=True, channels=[Channel.IN_APP], min_severity=Severity.WARN)
    assert channels() == frozenset()  # off by default
    assert channels(events={"portfolio.domain.sold": EventPreference(enabled=True)}) == set(Channel)
    assert channels(Severity.HIGH, events={"portfolio.domain.sold": only}) == {Channel.IN_APP}
    assert channels(events={"portfolio.domain.sold": only}) == frozenset()
    assert channels(Severity.HIGH, events={"portfolio.domain.sold": only}, enabled=False) == frozenset()

    member = Preferences(
        enabled=True, timezone="UTC", muted_domains=frozenset({"a.example"}), muted_tags=frozenset({"parked"})
    )
    assert rules.is_muted(member, domain="a.example", tags=[])
    assert rules.is_muted(member, domain="b.example", tags=["Parked"])
    assert not rules.is_muted(member, domain="b.example", tags=["sold"])
