"""GoDaddy against the suite of all registrars."""

from decimal import Decimal

import pytest

from builders.demo.registrars.fake import WAIT_S, Fault
from builders.portfolio.registrars.failures import RegistrarFailed
from builders.portfolio.registrars.records import ChargeKind, HeldStatus
from tests.portfolio.registrars.conformance.conftest import Connect
from tests.portfolio.registrars.conformance.suite import RegistrarSuite, domain, fake_of, list_all
from tests.portfolio.registrars.recorded_make import ACTIVE, END, LEAP, OFF, ON, Rows, charge, held

GODADDY_NS = ["ns01.domaincontrol.example", "ns02.domaincontrol.example"]
GODADDY = held("example.com", LEAP, END, **ON, status=ACTIVE, status_raw="ACTIVE")
GODADDY_RENEWAL = ".COM Domain Name Renewal"


class TestGoDaddy(RegistrarSuite):
    provider = "godaddy"
    rows = Rows(
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
    )
    switch_on = ("PATCH", "/v1/domains/a.com", {"renewAuto": True})
    switch_off = ("PATCH", "/v1/domains/a.com", {"renewAuto": False})

    @pytest.mark.parametrize("own", [{"access_token": "gd-demo-token"}, {}])
    async def test_a_token_replaces_key_and_secret(self, connect: Connect, own: dict[str, str]) -> None:
        keys = own or {"api_key": "gd-demo", "api_secret": "gd-demo-secret"}
        adapter = connect(fake_of("godaddy", domain("one.example")), keys)
        assert [each.domain for each in await list_all(adapter)] == ["one.example"]

    async def test_a_rate_limit_names_its_end_in_a_header_of_its_own(self, connect: Connect) -> None:
        fake = fake_of("godaddy")
        fake.account.faults.append(Fault.RATE_LIMITED)
        with pytest.raises(RegistrarFailed) as failed:
            await list_all(connect(fake))
        assert failed.value.retry_after_s == WAIT_S

    @pytest.mark.parametrize(
        ("status", "state"),
        [
            ("PARKED_EXPIRED", HeldStatus.EXPIRED),
            ("DISABLED_SPECIAL", HeldStatus.SUSPENDED),
            ("PENDING_TRANSFER_OUT", HeldStatus.TRANSFERRING_OUT),
            *((word, HeldStatus.GONE) for word in ("EXPIRED_REASSIGNED", "UPDATED_OWNERSHIP", "REVERTED")),
            *((word, HeldStatus.GONE) for word in ("CANCELLED_HELD", "CANCELLED_TRANSFER", "FAILED_SETUP")),
        ],
    )
    async def test_a_status_says_whether_the_name_is_held(
        self, connect: Connect, status: str, state: HeldStatus
    ) -> None:
        [found] = await list_all(connect(fake_of("godaddy", domain("one.example", state=status))))
        assert found.status is state
