"""Fakes of registrars, for the work of runs."""

from tests.portfolio.registrars.conftest import (
    fakes,
    no_waits,
    outbound,
    worker,
)

__all__ = ["fakes", "no_waits", "outbound", "worker"]
