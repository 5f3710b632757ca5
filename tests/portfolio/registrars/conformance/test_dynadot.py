"""Dynadot against the suite of all registrars."""

from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import ACTIVE, END, EXPIRED, LEAP, NS, OFF, ON, Rows, held

DYNADOT = held("example.com", LEAP, END, **ON, status=ACTIVE, status_raw="active", nameservers=NS)


class TestDynadot(RegistrarSuite):
    provider = "dynadot"
    rows = Rows(
        held=[DYNADOT, held("example.net", LEAP, END, **OFF, status=EXPIRED, status_raw="expired")], detail=DYNADOT
    )
