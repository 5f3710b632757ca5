"""Moves the clock of each Python process with this folder in PYTHONPATH a year ahead: of a service, of a page."""

import datetime as dt
import sys

YEAR = dt.timedelta(days=365)

if "builders" in sys.orig_argv:
    from builders.kit.values import clock

    clock.move(YEAR)
else:

    class Date(dt.date):
        """A date whose today is in a year."""

        @classmethod
        def today(cls) -> "Date":
            """Return the day in a year."""
            return super().today() + YEAR

    vars(dt)["date"] = Date
