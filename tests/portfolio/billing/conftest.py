"""Fakes of registrars that bill."""

from tests.portfolio.registrars.conftest import (
    fakes,
    no_waits,
    outbound,
    reaching,
    worker,
)

__all__ = ["fakes", "no_waits", "outbound", "reaching", "worker"]
