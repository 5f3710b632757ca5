"""Porkbun against the suite of all registrars."""

import json
from decimal import Decimal

import pytest

from builders.kit.values.money import Money
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.registrars.records import Environment
from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import ACTIVE, EXPIRED, Rows, held
from tests.portfolio.registrars.requests_make import Recorder, adapter_of, answer

KEYS = {"apikey": "pk1_demo", "secretapikey": "sk1_demo"}
SWITCH = "/domain/updateAutoRenew/a.com"


class TestPorkbun(RegistrarSuite):
    provider = "porkbun"
    rows = Rows(
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
                renewal_price=Money(Decimal("9.73"), "USD"),
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
                renewal_price=Money(Decimal("1029.99"), "USD"),
            ),
        ]
    )
    switched = '{"status": "SUCCESS", "results": {"a.com": {"status": "SUCCESS", "message": ""}}}'
    switch_on = ("POST", SWITCH, {**KEYS, "status": "on"})
    switch_off = ("POST", SWITCH, {**KEYS, "status": "off"})

    @pytest.mark.parametrize(
        ("results", "kind", "hint"),
        [
            ({"a.com": {"status": "ERROR", "message": "Locked."}}, RegistrarFailure.REFUSED, "Porkbun: Locked."),
            ({"a.com": {"status": "ERROR", "message": "Invalid domain."}}, RegistrarFailure.NOT_FOUND, None),
            ({}, RegistrarFailure.MALFORMED, None),
        ],
    )
    async def test_a_success_can_hold_the_refusal_of_the_domain(
        self, results: object, kind: RegistrarFailure, hint: str | None
    ) -> None:
        recorder = Recorder(answer(json.dumps({"status": "SUCCESS", "results": results})))
        with pytest.raises(RegistrarFailed) as failed:
            await adapter_of("porkbun", recorder).set_auto_renew("a.com", enabled=True)
        assert (failed.value.kind, failed.value.hint) == (kind, hint)

    async def test_prices_are_read_without_keys(self) -> None:
        prices = {"status": "SUCCESS", "pricing": {"com": {"renewal": "1,029.99"}}}
        recorder = Recorder(answer(json.dumps(prices)))
        found = await adapter_of("porkbun", recorder).read_prices(["com"])
        assert found == {"com": Money(Decimal("1029.99"), "USD")}
        assert recorder.sent[0].json == {"tlds": ["com"]}

    @pytest.mark.parametrize(
        ("environment", "prefix"), [(Environment.LIVE, "pk1_"), (Environment.SANDBOX, "pk1_sb_")]
    )
    def test_a_key_is_sent_in_its_own_environment_only(self, environment: Environment, prefix: str) -> None:
        base_url_of = ADAPTERS["porkbun"].base_url_of
        assert base_url_of(environment, credentials={"api_key": f"{prefix}a"}).startswith("https://api.porkbun")
        [other] = {*Environment} - {environment}
        with pytest.raises(RegistrarFailed) as failed:
            base_url_of(other, credentials={"api_key": f"{prefix}a"})
        assert failed.value.kind is RegistrarFailure.AUTH_FAILED
