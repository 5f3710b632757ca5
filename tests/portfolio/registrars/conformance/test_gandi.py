"""Gandi against the suite of all registrars."""

from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import LEAP, NS, Rows, held

GANDI = held(
    "example.net",
    "2019-02-13 10:04:18",
    "2027-02-13 10:04:18",
    auto_renew=True,
    locked=True,
    status_raw="clientTransferProhibited",
)


class TestGandi(RegistrarSuite):
    provider = "gandi"
    rows = Rows(
        held=[
            GANDI,
            held("xn--bcher-kva.example", LEAP, None, locked=False, nameservers=NS),
        ],
        detail=held(
            "example.net",
            "2019-02-13 10:04:18",
            "2027-02-13 10:04:18",
            auto_renew=True,
            locked=True,
            status_raw="clientTransferProhibited",
            nameservers=["ns-1-a.gandi.example", "ns-2-b.gandi.example"],
        ),
    )
