"""What the documented examples in `recorded/` stand for, by registrar."""

from decimal import Decimal

from builders.kit.values.money import Money
from builders.portfolio.registrars.records import ChargeKind, HeldStatus
from tests.portfolio.registrars.recorded_make import Rows, charge, held

ON = {"auto_renew": True, "locked": True, "privacy": True}
OFF = {"auto_renew": False, "locked": False, "privacy": False}
ACTIVE, EXPIRED = HeldStatus.ACTIVE, HeldStatus.EXPIRED
NS = ["ns1.example.com", "ns2.example.com"]
GODADDY_NS = ["ns01.domaincontrol.example", "ns02.domaincontrol.example"]
LEAP, END = "2020-02-29 12:00:00", "2027-02-28 12:00:00"
GODADDY = held("example.com", LEAP, END, **ON, status=ACTIVE, status_raw="ACTIVE")
GODADDY_RENEWAL = ".COM Domain Name Renewal"
NAMECOM = held(
    "example.com",
    "2023-01-15 14:30:00",
    "2027-01-15 14:30:00",
    **ON,
    nameservers=NS,
    renewal_price=Money(Decimal("12.99"), "USD"),
)
DYNADOT = held("example.com", LEAP, END, **ON, status=ACTIVE, status_raw="active", nameservers=NS)
GANDI = held(
    "example.net",
    "2019-02-13 10:04:18",
    "2027-02-13 10:04:18",
    auto_renew=True,
    locked=True,
    status_raw="clientTransferProhibited",
)
SPACESHIP = {"created": "2022-01-01", "expires": "2027-01-01"}
OVH = held("example.ovh", "2020-02-29", "2027-02-28", auto_renew=True, locked=True, status=ACTIVE, status_raw="ok")

EXPECTED = {
    "godaddy": Rows(
        held=[
            GODADDY,
            held(
                "example.net",
                "2019-01-15 08:30:00",
                "2026-01-15 08:30:00",
                **OFF,
                status=HeldStatus.REDEMPTION,
                status_raw="CANCELLED_REDEEMABLE",
                nameservers=GODADDY_NS,
            ),
        ],
        detail=held("example.com", LEAP, END, **ON, status=ACTIVE, status_raw="ACTIVE", nameservers=GODADDY_NS),
        charges=[
            charge(
                *("1500001", "1", "2026-03-01", "24.86", "example.com"),
                description=GODADDY_RENEWAL,
                tax=Decimal(2),
                fees=Decimal("0.36"),
                years=2,
            ),
            charge(
                *("1500002", "1", "2026-03-20", "-24.86", "example.com"),
                description=GODADDY_RENEWAL,
                kind=ChargeKind.REFUND,
                tax=Decimal(-2),
                fees=Decimal("-0.36"),
                years=2,
                parent_order_id="1500001",
            ),
        ],
    ),
    "namecom": Rows(
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
    ),
    "namesilo": Rows(
        held=[held("example.com", "2009-01-11", "2027-01-11"), held("example.net", None, None)],
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
    ),
    "dynadot": Rows(
        held=[DYNADOT, held("example.net", LEAP, END, **OFF, status=EXPIRED, status_raw="expired")], detail=DYNADOT
    ),
    "porkbun": Rows(
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
    ),
    "cloudflare": Rows(
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
    ),
    "route53": Rows(
        held=[
            held("example.com", None, END, auto_renew=True, locked=True),
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
    ),
    "namecheap": Rows(
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
    ),
    "gandi": Rows(
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
    ),
    "spaceship": Rows(
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
    ),
    "ovh": Rows(
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
    ),
}
