"""NameSilo against the suite of all registrars."""

from decimal import Decimal

from builders.kit.values.money import Money
from builders.portfolio.registrars.records import ChargeKind
from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import ACTIVE, NS, Rows, charge, held


class TestNameSilo(RegistrarSuite):
    provider = "namesilo"
    rows = Rows(
        held=[
            held("example.com", "2009-01-11", "2027-01-11", renewal_price=Money(Decimal("17.29"), "USD")),
            held("example.net", None, None),
        ],
        detail=held(
            "example.com",
            "2009-01-11",
            "2027-01-11",
            auto_renew=False,
            locked=True,
            privacy=True,
            status=ACTIVE,
            status_raw="Active",
            nameservers=NS,
        ),
        charges=[
            charge(
                *("77777", "1", "2026-03-01", "17.98", "example.com"),
                description="example.com - registration",
                kind=ChargeKind.REGISTRATION,
                years=2,
            ),
            charge(
                *("77777", "2", "2026-03-01", "8.99", "example.net"), description="example.net - renewal", years=1
            ),
            charge(
                *("77777", "2-refund", "2026-03-02", "-8.99", "example.net"),
                description="example.net - renewal",
                kind=ChargeKind.REFUND,
                years=1,
                parent_order_id="77777",
            ),
        ],
    )
    switch_on = ("GET", "/addAutoRenewal", None)
    switch_off = ("GET", "/removeAutoRenewal", None)
    switched = "<namesilo><reply><code>300</code></reply></namesilo>"
