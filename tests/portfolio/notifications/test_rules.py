"""The rules of notices: due thresholds, quiet hours over clock changes, digests, channels and mutes."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, strategies as st

from builders.portfolio.notifications import rules
from builders.portfolio.notifications.event_kinds import OVERDUE, UPCOMING
from builders.portfolio.notifications.preferences import with_defaults
from builders.portfolio.notifications.records import (
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

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
ZONES = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"]
)
MOMENTS = st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - aware
TIMES = st.times().map(lambda at: at.replace(second=0, microsecond=0))
DAYS = st.integers(-30, 365)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def member(**settings: object) -> Preferences:
    """The preferences of an owner in UTC."""
    return with_defaults(settings, is_owner=True, is_sandbox=False, zone=None)


def expiry(*thresholds: int, include_auto_renew_on: bool = True) -> Expiry:
    """When notices are due; the thresholds in any order."""
    return Expiry(thresholds=[*thresholds], include_auto_renew_on=include_auto_renew_on, repeat_until_ack=False)


@given(st.lists(DAYS, max_size=12), st.integers(-60, 400), st.none() | st.booleans())
def test_the_most_urgent_reached_threshold_is_due(
    thresholds: list[int], days_left: int, auto_renew: bool | None
) -> None:
    due = rules.find_due_threshold(expiry(*thresholds), days_left=days_left, auto_renew=auto_renew)
    assert due == min((each for each in thresholds if each >= days_left >= -30), default=None)


@given(st.lists(DAYS, max_size=9, unique=True), st.lists(st.integers(-40, 100), min_size=1, max_size=60))
def test_whenever_the_job_runs_a_threshold_is_due_once(days: list[int], runs: list[int]) -> None:
    """The job remembers what it has sent; however late it runs, nothing is sent twice or in the wrong order."""
    sent: list[int] = []
    for days_left in sorted(runs, reverse=True):
        due = rules.find_due_threshold(expiry(*days), days_left=days_left, auto_renew=None)
        if due is not None and due not in sent:
            sent.append(due)
    assert sent == sorted(sent, reverse=True)


@pytest.mark.parametrize(("auto_renew", "threshold"), [(True, None), (False, 7), (None, 7)])
def test_domains_that_renew_automatically_can_be_left_out(auto_renew: bool | None, threshold: int | None) -> None:
    without = expiry(30, 7, include_auto_renew_on=False)
    assert rules.find_due_threshold(without, days_left=5, auto_renew=auto_renew) == threshold


@given(ZONES, TIMES, TIMES, MOMENTS)
def test_quiet_hours_end_and_are_over_at_their_end(zone: str, start: time, end: time, now: datetime) -> None:
    assume(start != end)
    quiet = QuietHours(enabled=True, start=start, end=end)
    until = rules.quiet_until(quiet, ZoneInfo(zone), now)
    if until is not None:
        assert now < until <= now + timedelta(hours=26)
        assert rules.quiet_until(quiet, ZoneInfo(zone), until) is None
        local = until.astimezone(ZoneInfo(zone))
        # A clock change can skip the end; the change is then the only difference.
        assert (local.hour, local.minute) == (end.hour, end.minute) or local.utcoffset() != (
            local - timedelta(hours=2)
        ).astimezone(UTC).astimezone(ZoneInfo(zone)).utcoffset()
    assert rules.quiet_until(QuietHours(enabled=False, start=start, end=end), ZoneInfo(zone), now) is None


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


@given(ZONES, st.sampled_from(Frequency), st.sampled_from(Weekday), st.integers(0, 23), MOMENTS)
def test_the_next_digest_is_the_first_one_after_now(
    zone: str, frequency: Frequency, weekday: Weekday, hour: int, now: datetime
) -> None:
    digest = Digest(enabled=True, frequency=frequency, weekday=weekday, hour=hour, include=[])
    at = rules.next_digest(digest, ZoneInfo(zone), now)
    longest = {Frequency.DAILY: 1, Frequency.WEEKLY: 7, Frequency.MONTHLY: 31}[frequency]
    assert now < at <= now + timedelta(days=longest, hours=2)
    assert rules.next_digest(digest, ZoneInfo(zone), at - timedelta(seconds=1)) == at
    local = at.astimezone(ZoneInfo(zone))
    assert frequency is not Frequency.WEEKLY or list(Weekday)[local.weekday()] is weekday
    assert frequency is not Frequency.MONTHLY or local.day == 1


NIGHT, MORNING = utc("2026-01-08T23:30"), utc("2026-01-09T09:00")
DIGEST = {"enabled": True, "hour": 8}  # in the quiet hours


@pytest.mark.parametrize(
    ("event", "severity", "digest", "at", "by"),
    [
        (UPCOMING, Severity.INFO, {}, MORNING, Suppression.QUIET_HOURS),
        (OVERDUE, Severity.CRITICAL, {}, NIGHT, None),
        (UPCOMING, Severity.INFO, DIGEST, MORNING, Suppression.DIGEST),
        (OVERDUE, Severity.CRITICAL, DIGEST, NIGHT, None),
        (UPCOMING, Severity.INFO, {**DIGEST, "include": ["parking"]}, MORNING, Suppression.QUIET_HOURS),
    ],
)
def test_an_email_waits_for_the_digest_and_the_end_of_quiet_hours(
    event: str, severity: Severity, digest: dict[str, object], at: datetime, by: Suppression | None
) -> None:
    quiet = {"enabled": True, "start": "22:00", "end": "09:00"}
    found = rules.schedule_email(
        member(quiet_hours=quiet, digest=digest), event=event, severity=severity, now=NIGHT
    )
    assert (found.at, found.by) == (at, by)


@pytest.mark.parametrize(
    ("settings", "channels"),
    [
        ({}, set()),  # off by default
        ({"events": {"portfolio.domain.sold": {"enabled": True}}}, set(Channel)),
        ({"events": {"portfolio.domain.sold": {"enabled": True, "channels": ["in_app"]}}}, {Channel.IN_APP}),
        ({"events": {"portfolio.domain.sold": {"enabled": True}}, "enabled": False}, set()),
    ],
)
def test_a_member_is_notified_through_the_channels_of_an_event(
    settings: dict[str, object], channels: set[Channel]
) -> None:
    assert rules.channels_of(member(**settings), event="portfolio.domain.sold") == channels


@pytest.mark.parametrize(
    ("domain", "tags", "is_muted"),
    [("a.example", [], True), ("b.example", ["Parked"], True), ("b.example", ["sold"], False)],
)
def test_a_domain_is_muted_by_its_name_or_a_tag(domain: str, tags: list[str], is_muted: bool) -> None:
    muted = member(muted_domains=["a.example"], muted_tags=["parked"])
    assert rules.is_muted(muted, domain=domain, tags=tags) is is_muted
