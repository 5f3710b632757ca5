"""Namecheap against the suite of all registrars."""

from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import ACTIVE, EXPIRED, Rows, held


class TestNamecheap(RegistrarSuite):
    provider = "namecheap"
    rows = Rows(
        held=[
            held(
                "example.com",
                "2016-02-15",
                "2027-02-15",
                auto_renew=False,
                locked=False,
                privacy=True,
                status=ACTIVE,
            ),
            held(
                "example.net",
                "2016-04-28",
                "2023-04-28",
                auto_renew=True,
                locked=True,
                privacy=False,
                status=EXPIRED,
            ),
        ]
    )
