"""OVHcloud against the suite of all registrars."""

from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import ACTIVE, Rows, charge, held

OVH = held("example.ovh", "2020-02-29", "2027-02-28", auto_renew=True, locked=True, status=ACTIVE, status_raw="ok")


class TestOvh(RegistrarSuite):
    provider = "ovh"
    rows = Rows(
        held=[OVH],
        detail=OVH,
        charges=[
            charge(
                *("FR12345678", "FR12345678-1", "2026-03-01", "7.99", "example.ovh"),
                description="example.ovh - Domain renewal",
                currency="EUR",
                years=1,
            )
        ],
    )
