"""Porkbun against the suite of all registrars."""

from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import ACTIVE, EXPIRED, Rows, held


class TestPorkbun(RegistrarSuite):
    provider = "porkbun"
    rows = Rows(
        held=[
            held(
                "example.com",
                "2018-08-20 17:52:51",
                "2027-08-20 17:52:51",
                auto_renew=False,
                locked=True,
                privacy=True,
                status=ACTIVE,
                status_raw="ACTIVE",
            ),
            held(
                "example.net",
                "2019-01-15 08:30:00",
                "2026-01-15 08:30:00",
                auto_renew=True,
                locked=False,
                privacy=False,
                status=EXPIRED,
                status_raw="EXPIRED",
            ),
        ]
    )
