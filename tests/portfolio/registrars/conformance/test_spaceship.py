"""Spaceship against the suite of all registrars."""

from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import ACTIVE, EXPIRED, Rows, held

SPACESHIP = {"created": "2022-01-01", "expires": "2027-01-01"}


class TestSpaceship(RegistrarSuite):
    provider = "spaceship"
    rows = Rows(
        held=[
            held(
                "xn--spceship-9ya.com",
                **SPACESHIP,
                auto_renew=False,
                locked=True,
                privacy=True,
                status=ACTIVE,
                status_raw="registered",
                nameservers=["ns1.exampledomain.com", "ns2.exampledomain.com"],
            )
        ],
        detail=held(
            "xn--spceship-9ya.com",
            **SPACESHIP,
            auto_renew=True,
            locked=False,
            privacy=False,
            status=EXPIRED,
            status_raw="grace1",
            nameservers=["ns1.exampledomain.com"],
        ),
    )
    switch_on = ("PUT", "/domains/a.com/autorenew", {"isEnabled": True})
    switch_off = ("PUT", "/domains/a.com/autorenew", {"isEnabled": False})
