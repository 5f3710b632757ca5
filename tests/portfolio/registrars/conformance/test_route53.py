"""Amazon Route 53 against the suite of all registrars."""

from decimal import Decimal

from builders.kit.values.money import Money
from builders.portfolio.registrars.records import ChargeKind
from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import END, Rows, charge, held


class TestRoute53(RegistrarSuite):
    provider = "route53"
    rows = Rows(
        held=[
            held("example.com", None, END, auto_renew=True, locked=True, renewal_price=Money(Decimal(15), "USD")),
            held("example.net", None, END, auto_renew=False, locked=False),
        ],
        charges=[
            charge(
                *("149962827", "example.com-RENEW_DOMAIN-2026-03-01", "2026-03-01", "12.0", "example.com"),
                description="RENEW_DOMAIN example.com",
            ),
            charge(
                "2026-03-02-example.net",
                "example.net-CHANGE_DOMAIN_OWNER-2026-03-02",
                *("2026-03-02", "0.1", "example.net"),
                description="CHANGE_DOMAIN_OWNER example.net",
                kind=ChargeKind.OTHER,
            ),
        ],
    )
    switch_on = ("POST", "/", {"DomainName": "a.com"})
    switch_off = ("POST", "/", {"DomainName": "a.com"})
