"""DELETE /v1/portfolio/domains/{domain_id} of a domain with history."""

import re
from typing import Any

import pytest

from builders.identity.records import Preset
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.team.make import code, join, of

PATH = f"{DOMAINS}/harbour.com"
CHARGES = "/v1/portfolio/registrars/billing"
USD = {"currency": "USD"}
BOUGHT = {"amount": "95.00", **USD, "on": "2024-01-01"}


async def change(owner: Client, **body: Any) -> None:
    answer = await owner.patch(f"{PATH}/finance", json=body)
    assert answer.status_code == 200, answer.text


async def charge(owner: Client) -> None:
    """Import a charge for the domain, and do not apply it."""
    row = {
        "date": "2025-01-01",
        "domain": "harbour.com",
        "amount": "9.00",
        "order": "A-1",
        "description": "Renewal",
    }
    answer = await owner.post(f"{CHARGES}/import", json={"rows": [row], "apply": False})
    assert answer.status_code in {200, 201}, answer.text


async def earn(owner: Client, amount: str) -> None:
    body = {"domain": "harbour.com", "date": "2025-01-01", "amount": amount, **USD}
    answer = await owner.post("/v1/portfolio/parking/revenue", json={**body, "visits": 3})
    assert answer.status_code == 201, answer.text


async def refusal(owner: Client) -> tuple[dict[str, int], str]:
    answer = await owner.delete(PATH)
    assert code(answer) == (409, "domain_has_history")
    found = answer.json()
    assert sum(map(int, re.findall(r"\((\d+)\)", found["detail"]))) == sum(found["history"].values())
    assert (await owner.get(PATH)).status_code == 200
    return found["history"], found["next_action"]


async def test_a_domain_without_history_is_removed(alice: Person) -> None:
    await add(alice, "harbour.com", notes="x")
    assert (await alice.delete(PATH)).status_code == 204
    assert (await alice.get(PATH)).status_code == 404


async def test_entries_are_history(alice: Person) -> None:
    await add(alice, "harbour.com", purchase=BOUGHT)
    history, next_action = await refusal(alice)
    assert history == {"entries": 1}
    assert '"status": "dropped"' in next_action
    assert "?history=delete" in next_action


async def test_a_sale_is_history(alice: Person) -> None:
    await add(alice, "harbour.com")
    await change(alice, sale={"gross": {"amount": "300", **USD}})
    history, next_action = await refusal(alice)
    assert history == {"entries": 1, "sales": 1}
    assert "its status `sold`" in next_action


async def test_a_charge_that_is_not_applied_is_history(alice: Person) -> None:
    await add(alice, "harbour.com")
    await charge(alice)
    assert (await refusal(alice))[0] == {"charges": 1}


async def test_days_of_parking_without_revenue_are_history(alice: Person) -> None:
    await add(alice, "harbour.com")
    await earn(alice, "0.00")
    assert (await refusal(alice))[0] == {"parking_days": 1}


async def test_void_entries_are_no_history(alice: Person) -> None:
    await add(alice, "harbour.com", purchase=BOUGHT)
    await change(alice, acquisition=None)
    assert (await alice.delete(PATH)).status_code == 204


async def test_history_is_deleted_on_request_and_its_totals_remain(alice: Person) -> None:
    await add(alice, "harbour.com", purchase=BOUGHT)
    renewal = {"kind": "renewal", "occurred_on": "2025-01-01"}
    yen = {**renewal, "amount": "1500", "currency": "JPY"}
    await change(
        alice, entries_add=[{**renewal, "amount": "9.50", **USD}, {**renewal, "amount": "0.60", **USD}, yen]
    )
    await charge(alice)
    assert (await alice.delete(PATH, params={"history": "delete"})).status_code == 204
    assert (await alice.get(PATH)).status_code == 404
    summary = (await alice.get("/v1/portfolio/summary", params={"months": 120})).json()
    assert summary["totals"]["cost"]["amount"] == "0.00"
    [entry] = (await alice.get("/v1/account/audit", params={"action": "domain.history_deleted"})).json()["items"]
    assert entry["about"] == {
        "portfolio_id": str(alice.account.id),
        "domain": "harbour.com",
        "entries": 4,
        "charges": 1,
        "total.acquisition.USD": "95.00 USD",
        "total.renewal.JPY": "1500 JPY",
        "total.renewal.USD": "10.10 USD",
    }


async def test_a_domain_without_history_leaves_no_audit_entry(alice: Person) -> None:
    await add(alice, "harbour.com")
    assert (await alice.delete(PATH, params={"history": "delete"})).status_code == 204
    audit = await alice.get("/v1/account/audit", params={"action": "domain.history_deleted"})
    assert audit.json()["items"] == []


async def test_a_manager_removes_a_domain_without_history(alice: Person, charlie: Person) -> None:
    await add(alice, "harbour.com")
    await join(alice, charlie, "manager")
    assert (await charlie.delete(PATH, headers=of(alice))).status_code == 204


async def test_admins_delete_history(alice: Person, charlie: Person) -> None:
    await add(alice, "harbour.com", purchase=BOUGHT)
    await join(alice, charlie, "admin")
    answer = await charlie.delete(PATH, params={"history": "delete"}, headers=of(alice))
    assert answer.status_code == 204, answer.text


@pytest.mark.parametrize(
    ("role", "missing"),
    [("manager", "history.delete"), ("accountant", "portfolio.edit"), ("viewer", "portfolio.edit")],
)
async def test_lower_roles_do_not_delete_history(alice: Person, charlie: Person, role: str, missing: str) -> None:
    await add(alice, "harbour.com", purchase=BOUGHT)
    await join(alice, charlie, role)
    answer = await charlie.delete(PATH, params={"history": "delete"}, headers=of(alice))
    assert (answer.status_code, answer.json()["permission"]) == (403, missing)


async def test_strangers_and_keys_without_the_scope_delete_nothing(
    alice: Person, bob: Person, people: MakePerson, anyone: Client
) -> None:
    dana = await people("dana", Preset.DEVELOPER_FULL)
    added = await add(alice, "harbour.com", purchase=BOUGHT)
    path = f"{DOMAINS}/{added['id']}"
    assert code(await bob.delete(path)) == (404, "portfolio_domain_not_found")
    assert (await dana.delete(path)).status_code == 403
    assert (await anyone.delete(path)).status_code == 401


async def test_another_value_than_delete_is_refused(alice: Person) -> None:
    await add(alice, "harbour.com", purchase=BOUGHT)
    answer = await alice.delete(PATH, params={"history": "keep"})
    assert answer.json()["detail"][0]["loc"] == ["query", "history"]
