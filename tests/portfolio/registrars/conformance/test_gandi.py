"""Gandi against the suite of all registrars."""

import json
from decimal import Decimal

import pytest

from builders.kit.values.money import Money
from builders.portfolio.registrars.failures import RegistrarFailed
from builders.portfolio.registrars.records import HeldStatus
from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import LEAP, NS, Replay, Rows, adapter_of, held
from tests.portfolio.registrars.requests_make import Recorder, adapter_of as recording, answer

PATH = "/domain/domains/a.com/autorenew"
PRICE = Money(Decimal("12.54"), "EUR")
GANDI = held(
    "example.net",
    "2019-02-13 10:04:18",
    "2027-02-13 10:04:18",
    auto_renew=True,
    locked=True,
    status=HeldStatus.ACTIVE,
    status_raw="clientTransferProhibited",
    renewal_price=PRICE,
)


class TestGandi(RegistrarSuite):
    provider = "gandi"
    rows = Rows(
        held=[
            GANDI,
            held(
                *("xn--bcher-kva.example", LEAP, None),
                locked=False,
                status=HeldStatus.ACTIVE,
                nameservers=NS,
                renewal_price=PRICE,
            ),
        ],
        detail=held(
            "example.net",
            "2019-02-13 10:04:18",
            "2027-02-13 10:04:18",
            auto_renew=True,
            locked=True,
            status=HeldStatus.ACTIVE,
            status_raw="clientTransferProhibited",
            nameservers=["ns-1-a.gandi.example", "ns-2-b.gandi.example"],
        ),
    )
    switched = '{"autorenew": {"duration": 2, "enabled": false, "org_id": "o-1"}}'  # also the details
    switch_on = ("PATCH", PATH, {"enabled": True, "duration": 2, "org_id": "o-1"})
    switch_off = ("PATCH", PATH, {"enabled": False, "duration": 2, "org_id": "o-1"})

    async def test_the_organization_of_the_domain_pays_where_no_other_is_named(self) -> None:
        details = {"autorenew": {"enabled": False, "org_id": None}, "sharing_space": {"id": "o-2"}}
        recorder = Recorder(answer(json.dumps(details)), answer())
        await recording("gandi", recorder).set_auto_renew("a.com", enabled=True)
        assert recorder.sent[1].json == {"enabled": True, "org_id": "o-2"}

    async def test_a_refusal_shows_the_text_of_the_registrar(self) -> None:
        refusal = answer('{"code": 400, "message": "org_id is required"}', status=400)
        with pytest.raises(RegistrarFailed) as failed:
            await recording("gandi", Recorder(answer(), refusal)).set_auto_renew("a.com", enabled=True)
        assert failed.value.hint == "Gandi: org_id is required"

    @pytest.mark.parametrize(
        "prices",
        [
            [],
            [{"duration_unit": "m", "min_duration": 1, "price_before_taxes": 9}],
            [{"duration_unit": "y", "min_duration": 2, "price_before_taxes": 9}],
        ],
    )
    async def test_a_price_of_another_period_is_not_that_of_a_year(self, prices: list[object]) -> None:
        products = [{"process": "create", "prices": [{"duration_unit": "y", "price_before_taxes": 5}]}]
        body = {"currency": "EUR", "products": [*products, {"process": "renew", "prices": prices}]}
        adapter = adapter_of("gandi", Replay({"/billing/price/domain": json.dumps(body)}))
        assert await adapter.read_prices(["com"]) == {}

    async def test_a_suffix_without_a_price_leaves_those_of_others(self) -> None:
        product = {"process": "renew", "prices": [{"duration_unit": "y", "price_before_taxes": 9}]}
        body = json.dumps({"currency": "EUR", "products": [product]})
        recorder = Recorder(answer('{"message": "unknown"}', status=404), answer(body))
        assert await recording("gandi", recorder).read_prices(["zz", "com"]) == {"zz": Money(Decimal(9), "EUR")}
        assert [each.query["name"] for each in recorder.sent] == ["example.com", "example.zz"]
