"""OVHcloud against the suite of all registrars, its three APIs, and the settings of a service."""

import json
from decimal import Decimal

import pytest

from builders.demo.registrars.fake import Fault
from builders.kit.values.money import Money
from builders.portfolio.registrars.adapters.ovh import Ovh
from builders.portfolio.registrars.api_client import ATTEMPTS
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import Environment, HeldStatus
from tests.portfolio.registrars.conformance import suite
from tests.portfolio.registrars.conformance.conftest import Connect
from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import ACTIVE, Rows, charge, held, until_failure
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

    async def test_an_expired_service_is_listed_as_expired_beside_the_others(self, connect: Connect) -> None:
        names = ["a.example", "b.example", "c.example"]
        fake = suite.fake_of("ovh", *map(suite.domain, names))
        fake.account.domains[1].state = "460"
        held = await suite.list_all(connect(fake))
        statuses = [HeldStatus.ACTIVE, HeldStatus.EXPIRED, HeldStatus.ACTIVE]
        assert [(each.domain, each.status) for each in held] == list(zip(names, statuses, strict=True))
        assert held[1].expires_at is not None  # of the answer that is there

    async def test_a_name_that_is_refused_never_stops_the_others(self, connect: Connect) -> None:
        fake = suite.fake_of("ovh", *map(suite.domain, ("a.example", "b.example", "c.example")))
        fake.account.faults.extend([*[None] * 4, Fault.REFUSED])  # the list, and three requests for the first name
        listed, failed = await until_failure(connect(fake).list_domains())
        assert [each.domain for each in listed] == ["a.example", "c.example"]
        assert (failed.kind, [each.item for each in failed.unread]) == (RegistrarFailure.INCOMPLETE, ["b.example"])
        assert failed.unread[0].reason == "The registrar refused the request. OVHcloud: Invalid parameter"

    @pytest.mark.parametrize(
        ("fault", "count", "kind"),
        [
            (Fault.BAD_KEY, 2, RegistrarFailure.AUTH_FAILED),  # of both names
            (Fault.BAD_KEY, 1, RegistrarFailure.INCOMPLETE),
            (Fault.RATE_LIMITED, 1, RegistrarFailure.RATE_LIMITED),
            (Fault.SERVER_ERROR, 3 * ATTEMPTS, RegistrarFailure.UNAVAILABLE),
            (Fault.SERVER_ERROR, ATTEMPTS, RegistrarFailure.INCOMPLETE),
        ],
    )
    async def test_what_fails_for_all_names_is_the_failure_of_the_list(
        self, connect: Connect, fault: Fault, count: int, kind: RegistrarFailure
    ) -> None:
        names = ("a.example", "b.example", "c.example", "d.example")[: 2 if fault is Fault.BAD_KEY else 4]
        fake = suite.fake_of("ovh", *map(suite.domain, names))
        fake.account.faults.extend([None, *[fault] * count])
        assert (await until_failure(connect(fake).list_domains()))[1].kind is kind

    async def test_a_write_is_sent_once(self) -> None:
        recorder = Recorder(answer("{}"), answer(status=503))
        with pytest.raises(RegistrarFailed):
            await adapter_of("ovh", recorder).set_auto_renew("a.com", enabled=True)
        assert [each.method for each in recorder.sent] == ["GET", "PUT"]
