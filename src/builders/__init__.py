"""Builders: names on curated domains and the portfolio behind them, as an automation API."""

VERSION = "1.0.0"  # of this service (semver.org)
REVISION = "0.2.54"  # of the specification that it implements
