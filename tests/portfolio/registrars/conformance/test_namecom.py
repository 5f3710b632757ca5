"""Name.com against the suite of all registrars."""

import json
from decimal import Decimal
from typing import Any

import pytest

from builders.kit.values.money import Money
from builders.portfolio.registrars.failures import RegistrarFailed
from builders.portfolio.registrars.records import ChargeKind, HeldStatus
from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import EXPIRED, NS, ON, Rows, charge, held
from tests.portfolio.registrars.requests_make import Recorder, adapter_of, answer

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
                status=EXPIRED,
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
    switch_on = ("PATCH", "/core/v1/domains/a.com", {"autorenewEnabled": True})
    switch_off = ("PATCH", "/core/v1/domains/a.com", {"autorenewEnabled": False})

    async def test_prices_are_requested(self) -> None:
        recorder = Recorder(answer('{"domains": [], "totalCount": 0}'))
        await adapter_of("namecom", recorder).verify()
        assert recorder.sent[0].query["includeRenewalPrice"] == "true"

    @pytest.mark.parametrize(
        ("members", "expected"),
        [
            ({"locked": False, "locks": []}, (False, HeldStatus.UNKNOWN, None)),
            ({"locked": True}, (True, HeldStatus.UNKNOWN, None)),
            ({"transferLockExpiresAt": "2099-01-01T00:00:00Z"}, (True, HeldStatus.UNKNOWN, None)),
            ({"transferLockExpiresAt": "2001-01-01T00:00:00Z"}, (False, HeldStatus.UNKNOWN, None)),
            (
                {"locks": ["serverTransferProhibited", "clientHold"]},
                (True, HeldStatus.SUSPENDED, "serverTransferProhibited, clientHold"),
            ),
        ],
    )
    async def test_the_locks_of_registrar_registry_and_policy(
        self, members: dict[str, Any], expected: tuple[bool, HeldStatus, str | None]
    ) -> None:
        recorder = Recorder(answer(json.dumps({"domainName": "a.com", **members})))
        found = await adapter_of("namecom", recorder).get_domain("a.com")
        assert (found.locked, found.status, found.status_raw) == expected

    async def test_a_refusal_shows_the_text_of_the_registrar(self) -> None:
        refusal = answer('{"message": "The domain has expired.", "details": null}', status=409)
        with pytest.raises(RegistrarFailed) as failed:
            await adapter_of("namecom", Recorder(refusal)).set_auto_renew("a.com", enabled=True)
        assert failed.value.hint == "Name.com: The domain has expired."
