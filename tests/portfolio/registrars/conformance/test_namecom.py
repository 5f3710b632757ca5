"""Name.com against the suite of all registrars."""

from decimal import Decimal

from builders.kit.values.money import Money
from builders.portfolio.registrars.records import ChargeKind
from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import NS, ON, Rows, charge, held

NAMECOM = held(
    "example.com",
    "2023-01-15 14:30:00",
    "2027-01-15 14:30:00",
    **ON,
    nameservers=NS,
    renewal_price=Money(Decimal("12.99"), "USD"),
)


class TestNameCom(RegistrarSuite):
    provider = "namecom"
    rows = Rows(
        held=[
            NAMECOM,
            held(
                "example.org",
                "2017-11-13 22:58:35",
                "2018-11-13 22:58:35",
                auto_renew=True,
                locked=True,
                privacy=False,
            ),
        ],
        detail=NAMECOM,
        charges=[
            charge(
                *("501", "9001", "2026-03-01", "27.99", "example.com"),
                description="example.com - renewal",
                tax=Decimal("2.01"),
                years=2,
            ),
            charge("501", "9002", "2026-03-01", "4.99", description="whois_privacy", kind=ChargeKind.PRIVACY),
            charge(
                *("501", "9002-refund", "2026-03-01", "-4.99"),
                description="whois_privacy",
                kind=ChargeKind.REFUND,
                parent_order_id="501",
            ),
            charge(
                *("502", "9003", "2026-03-02", "94.18", "example.ninja"),
                description="example.ninja - registration",
                kind=ChargeKind.REGISTRATION,
                currency="CNY",
                years=1,
            ),
        ],
    )
