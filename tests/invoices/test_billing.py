"""PUT and GET /v1/invoices/billing-details."""

from typing import Any

import pytest

from builders.app import Service
from tests.cast import Client, Person

PATH = "/v1/invoices/billing-details"
FULL: dict[str, Any] = {
    "name": " Analytical Engines ",
    "address": ["1 Harbour Row", "Port Town"],
    "country": "gb",
    "tax_id": "GB9",
}


async def test_billing_details_are_empty_by_default(alice: Person) -> None:
    shown = (await alice.get(PATH)).json()
    assert (shown["name"], shown["address"], shown["updated_at"]) == (None, [], None)


async def test_billing_details_are_stored_and_replaced(alice: Person) -> None:
    answer = await alice.put(PATH, json=FULL)
    assert answer.status_code == 200, answer.text
    assert answer.json()["name"] == "Analytical Engines"
    assert answer.json()["country"] == "GB"
    assert (await alice.get(PATH)).json()["address"] == FULL["address"]
    await alice.put(PATH, json={"name": "Others"})
    shown = (await alice.get(PATH)).json()
    assert (shown["name"], shown["address"], shown["country"], shown["tax_id"]) == ("Others", [], None, None)


async def test_an_unknown_member_gives_a_warning(alice: Person) -> None:
    answer = await alice.put(PATH, json={"name": "A", "adress": ["x"]})
    assert answer.json()["warnings"][0]["did_you_mean"] == "address"


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"name": ""},
        {"name": "a\nb"},
        {"name": "x" * 121},
        {"name": "a", "address": ["x"] * 7},
        {"name": "a", "address": ["x\x07"]},
        {"name": "a", "country": "GBR"},
        {"name": "a", "tax_id": "9" * 41},
    ],
)
async def test_invalid_billing_details_are_refused(alice: Person, wrong: dict[str, Any]) -> None:
    assert (await alice.put(PATH, json=wrong)).status_code == 422


async def test_a_sandbox_account_has_its_own_billing_details(alice: Person, bob: Person, anyone: Client) -> None:
    await alice.put(PATH, json=FULL)
    assert (await alice.test.get(PATH)).json()["name"] is None
    assert (await bob.get(PATH)).json()["name"] is None
    assert (await anyone.get(PATH)).status_code == 401


async def test_a_support_session_cannot_set_billing_details(service: Service, alice: Person) -> None:
    session = await alice.admit_support(may_write=True)
    async with Client(service, token=session.token) as support:
        assert (await support.get(PATH)).status_code == 200
        answer = await support.put(PATH, json=FULL)
    assert (answer.status_code, answer.json()["code"]) == (403, "impersonation_forbidden")
    assert (await alice.get(PATH)).json()["name"] is None
