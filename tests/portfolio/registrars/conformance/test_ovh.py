"""OVHcloud against the suite of all registrars, its three APIs, and the settings of a service."""

import json
from decimal import Decimal

import pytest

from builders.kit.values.money import Money
from builders.portfolio.registrars.adapters.ovh import Ovh
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import Environment
from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import ACTIVE, Rows, charge, held
from tests.portfolio.registrars.requests_make import Recorder, adapter_of, answer

OVH = held(
    "example.ovh",
    "2020-02-29",
    "2027-02-28",
    auto_renew=True,
    locked=True,
    status=ACTIVE,
    status_raw="ok",
    renewal_price=Money(Decimal("7.99"), "EUR"),
)
SERVICE = "/domain/a.com/serviceInfos"


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
    switch_on = ("PUT", SERVICE, {"renew": {"forced": False, "automatic": True, "deleteAtExpiration": False}})
    switch_off = ("PUT", SERVICE, {"renew": {"forced": False, "automatic": False, "deleteAtExpiration": False}})

    @pytest.mark.parametrize(
        ("endpoint", "url"),
        [
            (None, "https://eu.api.ovh.com/1.0"),
            ("ovh-eu", "https://eu.api.ovh.com/1.0"),
            ("ovh-ca", "https://ca.api.ovh.com/1.0"),
            (" OVH-US ", "https://api.us.ovhcloud.com/1.0"),
        ],
    )
    def test_the_endpoint_names_the_api_of_the_account(self, endpoint: str | None, url: str) -> None:
        credentials = {} if endpoint is None else {"endpoint": endpoint}
        assert Ovh.base_url_of(Environment.LIVE, credentials=credentials) == url

    def test_an_unknown_endpoint_is_refused(self) -> None:
        with pytest.raises(RegistrarFailed) as failed:
            Ovh.base_url_of(Environment.LIVE, credentials={"endpoint": "ovh-moon"})
        assert failed.value.kind is RegistrarFailure.AUTH_FAILED

    @pytest.mark.parametrize(("enabled", "ends"), [(True, False), (False, True)])
    async def test_a_service_that_is_renewed_is_no_longer_deleted(self, enabled: bool, ends: bool) -> None:
        renew = {"automatic": False, "deleteAtExpiration": True, "forced": False, "period": 24}
        recorder = Recorder(answer(json.dumps({"renew": renew})), answer("null"))
        await adapter_of("ovh", recorder).set_auto_renew("a.com", enabled=enabled)
        changed = {**renew, "automatic": enabled, "deleteAtExpiration": ends}
        assert recorder.sent[-1].json == {"renew": changed}

    async def test_a_write_is_sent_once(self) -> None:
        recorder = Recorder(answer("{}"), answer(status=503))
        with pytest.raises(RegistrarFailed):
            await adapter_of("ovh", recorder).set_auto_renew("a.com", enabled=True)
        assert [each.method for each in recorder.sent] == ["GET", "PUT"]
