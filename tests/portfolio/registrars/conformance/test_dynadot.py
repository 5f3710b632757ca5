"""Dynadot against the suite of all registrars, and what is its own: options, lost names, pages and refusals."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from builders.demo.registrars.fake import FakeTransfer
from builders.kit.values.money import Money
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import ChargeKind, HeldStatus, TransferDirection, TransferState
from tests.portfolio.registrars.conformance.conftest import Connect
from tests.portfolio.registrars.conformance.suite import CREATED, RegistrarSuite, domain, fake_of, list_all
from tests.portfolio.registrars.recorded_make import ACTIVE, END, EXPIRED, LEAP, NS, OFF, ON, Rows, charge, held
from tests.portfolio.registrars.requests_make import Recorder, adapter_of, answer

EXAMPLE = held("example.com", LEAP, END, **ON, status=ACTIVE, status_raw="active", nameservers=NS)
PRICED = replace(EXAMPLE, renewal_price=Money(Decimal("10.88"), "USD"))
DEFAULT = {**OFF, "auto_renew": None}  # as the account's default says, which the API does not show
OPTION = "/restful/v2/domains/a.com/renew_option"


class TestDynadot(RegistrarSuite):
    provider = "dynadot"
    rows = Rows(
        held=[
            PRICED,
            held("example.net", LEAP, END, **DEFAULT, status=EXPIRED, status_raw="expired (auction)"),
        ],
        detail=EXAMPLE,
        charges=[
            charge(
                *("123456", "1", "2026-03-01", "1000.99", "example.com"),
                kind=ChargeKind.REGISTRATION,
                description="Domain Registration example.com",
                years=1,
            ),
            charge(
                *("123456", "2", "2026-03-01", "7.99", "example.net"),
                description="Domain Renewal example.net",
                years=1,
            ),
        ],
    )
    switch_on = ("PUT", OPTION, {"renew_option": "auto"})
    switch_off = ("PUT", OPTION, {"renew_option": "donot"})
    switched = '{"code": 200, "message": "Success"}'

    @pytest.mark.parametrize(
        ("option", "renews"),
        [
            *(("auto-renew", True), ("auto", True), ("do not renew", False), ("donot", False)),
            *(("no renew option", None), ("reset", None), ("a new word", None), (None, None)),
        ],
    )
    async def test_the_default_of_the_account_is_unknown_and_not_off(
        self, option: str | None, renews: bool | None
    ) -> None:
        body = {"code": 200, "data": {"domain_info": {"domain_name": "a.com", "renew_option": option}}}
        found = await adapter_of("dynadot", Recorder(answer(json.dumps(body)))).get_domain("a.com")
        assert found.auto_renew is renews

    @pytest.mark.parametrize(
        ("status", "state"),
        [
            *(("active", ACTIVE), ("expired", EXPIRED), ("expired (closeout)", EXPIRED)),
            *((word, HeldStatus.GONE) for word in ("deleted grace", "deleted by registry", "moved (push)")),
            *((word, HeldStatus.GONE) for word in ("moved (sold)", "transferaway", "transferaway (listing)")),
            *((word, HeldStatus.GONE) for word in ("tag released", "remote out")),
            ("installment (push back to seller)", HeldStatus.UNKNOWN),
        ],
    )
    async def test_a_name_that_left_is_not_held(self, connect: Connect, status: str, state: HeldStatus) -> None:
        [found] = await list_all(connect(fake_of("dynadot", domain("one.example", state=status))))
        assert (found.status, found.status_raw) == (state, status)

    async def test_a_refusal_is_shown_in_the_words_of_dynadot(self, connect: Connect) -> None:
        adapter = connect(fake_of("dynadot", domain("one.example", state="60-day lock")))
        with pytest.raises(RegistrarFailed) as failed:
            await adapter.get_auth_code("one.example")
        expected = "Dynadot: The domain has the 60-day transfer lock."
        assert (failed.value.kind, failed.value.hint) == (RegistrarFailure.REFUSED, expected)

    async def test_a_list_without_its_place_ends_behind_its_last_page(self) -> None:
        page = {"code": 200, "data": {"domain_info_list": [{"domain_name": "a.com"}]}}
        beyond = {"code": 400, "message": "Bad Request", "error": {"description": "The page is out of range"}}
        prices = {"code": 200, "data": {"tld_price_list": []}}
        bodies = (page, prices, beyond)
        adapter = adapter_of("dynadot", Recorder(*(answer(json.dumps(each)) for each in bodies)))
        assert [each.domain for each in await list_all(adapter)] == ["a.com"]

    async def test_a_transfer_to_another_registrar_is_found(self, connect: Connect) -> None:
        fake = fake_of("dynadot")
        leaving = FakeTransfer(domain="out.example", direction="out", state="pending", started_at=CREATED)
        fake.account.transfers = [leaving]
        found = await connect(fake).find_transfer("out.example")
        assert found is not None
        assert (found.direction, found.state) == (TransferDirection.OUT, TransferState.PENDING)

    async def test_every_request_names_its_content_type(self) -> None:
        recorder = Recorder(answer(self.switched))
        await adapter_of("dynadot", recorder).set_auto_renew("a.com", enabled=True)
        assert recorder.sent[0].headers["Content-Type"] == "application/json"
