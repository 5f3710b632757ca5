"""Cloudflare against the suite of all registrars."""

from builders.portfolio.registrars.records import HeldStatus
from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import ACTIVE, OFF, ON, Rows, held


class TestCloudflare(RegistrarSuite):
    provider = "cloudflare"
    rows = Rows(
        held=[
            held(
                "example.com",
                "2025-01-15 10:00:00",
                "2026-01-15 10:00:00",
                **ON,
                status=ACTIVE,
                status_raw="active",
            ),
            held(
                "example.dev",
                "2025-03-20 14:30:00",
                None,
                **OFF,
                status=HeldStatus.PENDING,
                status_raw="registration_pending",
            ),
        ]
    )
