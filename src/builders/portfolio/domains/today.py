"""The days of a portfolio: calendar days in the time zone of its account, which its profile names, else in UTC.

`day_of` decides the day of a time for every count of days; in SQL, portfolio_domains_day does the same.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from builders.identity import accounts
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.profile import profiles

_MIDNIGHT = time()
_UTC = ZoneInfo("UTC")


def day_of(moment: datetime, zone: ZoneInfo) -> date:
    """Return the day of a time in a time zone.

    Midnight in UTC is how a day without a time is stored, as most registrars report an expiry: it is that day in
    every time zone.
    """
    in_utc = moment.astimezone(UTC)
    return in_utc.date() if in_utc.time() == _MIDNIGHT else moment.astimezone(zone).date()


@dataclass(frozen=True, slots=True)
class Today:
    """The present time of a portfolio and its day."""

    now: datetime
    zone: ZoneInfo = _UTC
    day: date = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "day", self.now.astimezone(self.zone).date())

    @property
    def time(self) -> time:
        """Return the present time of day in the time zone."""
        return self.now.astimezone(self.zone).time()

    def day_of(self, moment: datetime) -> date:
        """Return the day of a time, such as an expiry."""
        return day_of(moment, self.zone)

    def days_until(self, moment: datetime) -> int:
        """Return the number of days from today to the day of a time: 0 for today, negative for an earlier day."""
        return (self.day_of(moment) - self.day).days

    def is_same_day(self, known: datetime, other: datetime) -> bool:
        """Return whether another time differs from a known one in the time of day alone.

        A day without a time is also the day that the known time has in UTC, as those say who do not know the time
        zone of the portfolio.
        """
        in_utc = other.astimezone(UTC)
        is_utc_day = in_utc.time() == _MIDNIGHT and in_utc.date() == known.astimezone(UTC).date()
        return is_utc_day or self.day_of(known) == self.day_of(other)

    def in_days(self, days: int) -> date:
        """Return the day after so many days, or before today for a negative number."""
        return self.day + timedelta(days=days)

    def start_of(self, day: date) -> datetime:
        """Return the first time of a day."""
        return datetime.combine(day, _MIDNIGHT, self.zone).astimezone(UTC)

    def before(self, day: date) -> datetime:
        """Return a time that is not later than any time of the day, for an index on times."""
        return min(self.start_of(day), datetime.combine(day, _MIDNIGHT, UTC))

    def after(self, day: date) -> datetime:
        """Return a time that is later than every time of the day, for an index on times."""
        following = day + timedelta(days=1)
        return max(self.start_of(following), datetime.combine(following, _MIDNIGHT, UTC))


async def get_today(conn: Conn, *, account_id: UUID) -> Today:
    """Return the present time and day of a portfolio."""
    return (await list_today(conn, account_ids=[account_id]))[account_id]


async def list_today(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, Today]:
    """Return the present time and day of each portfolio; a sandbox account has the time zone of its owner."""
    now = clock.now()
    real = await accounts.load_real_accounts(conn, account_ids=account_ids)
    zones = await profiles.list_time_zones(conn, account_ids={*real.values()})
    names = {each: zones.get(real.get(each, each), "UTC") for each in account_ids}
    return {each: Today(now, ZoneInfo(name)) for each, name in names.items()}
