"""What a reply shows of a domain: as time passes, and to those who see no money."""

from datetime import timedelta
from typing import Any

import pytest

from builders.identity.records import Preset
from builders.kit.values import clock
from builders.portfolio.domains.records import FIGURES
from tests.cast import Person
from tests.conftest import MakePerson
from tests.portfolio.domains.make import DOMAINS, add, names
from tests.portfolio.team.make import code, join, of

PRICES = ("renewal_price", "asking_price", "min_offer", "estimated_value")
MONEY = {*PRICES, *FIGURES, "revenue_share", "finance"}
TEN = {"amount": "10.00", "currency": "USD"}
PRICED: dict[str, Any] = dict.fromkeys(PRICES, TEN)


@pytest.mark.parametrize(
    ("name", "days", "state"),
    [
        ("a.com", -1, "active"),
        ("a.com", 1, "expiring"),
        ("a.com", 30 + 1, "grace"),
        ("a.com", 30, "expiring"),
        ("a.com", 30 + 45, "grace"),
        ("a.com", 30 + 46, "redemption"),
        ("a.com", 30 + 76, "pending_delete"),
        ("a.com", 30 + 81, "expired"),
        ("a.de", 1, "expiring"),
        ("a.de", 30 + 1, "redemption"),
        ("a.de", 30 + 31, "unknown"),
        ("a.co.uk", 30 + 90, "grace"),
        ("a.pl", 30 + 1, "unknown"),
    ],
)
async def test_the_state_follows_the_time_in_each_reply(alice: Person, name: str, days: int, state: str) -> None:
    noon = clock.now().replace(hour=12)  # the date is the same two hours later
    expires_at = noon + timedelta(days=60, hours=1)
    await add(alice, name, expires_at=expires_at.isoformat())
    with clock.moved(noon + timedelta(days=30 + days, hours=2) - clock.now()):
        whole = (await alice.get(f"{DOMAINS}/{name}")).json()
        [item] = (await alice.get(DOMAINS)).json()["items"]
        expected = (expires_at.date() - clock.now().date()).days
        assert await names(alice, lifecycle=state) == [name]
    assert (whole["lifecycle"], item["lifecycle"]) == (state, state)
    assert (whole["days_to_expiry"], item["days_to_expiry"]) == (expected, expected)


@pytest.mark.parametrize("status", ["sold", "dropped", "transferred_out"])
async def test_a_domain_that_is_not_held_has_no_state(alice: Person, status: str) -> None:
    added = await add(alice, expires_at="2001-01-01", status=status)

    [item] = (await alice.get(DOMAINS)).json()["items"]

    assert (added["lifecycle"], item["lifecycle"]) == (None, None)
    held = (await alice.patch(f"{DOMAINS}/{added['id']}", json={"status": "owned"})).json()
    assert held["lifecycle"] == "expired"


async def test_a_member_who_sees_no_money_sees_everything_else(alice: Person, charlie: Person) -> None:
    lease = {"ownership": "leased", "counterparty": "Carol", "revenue_share": "20"}
    await add(alice, **lease, **PRICED, purchase=TEN, notes="x", tags=["a"])
    await join(alice, charlie, "viewer")

    for path in (DOMAINS, f"{DOMAINS}/harbour.com"):
        own, shown = (await alice.get(path)).json(), (await charlie.get(path, headers=of(alice))).json()
        [mine], [theirs] = (answer.get("items", [answer]) for answer in (own, shown))
        assert {name for name in mine if mine[name] != theirs[name]} == MONEY | {"redacted"}
        assert {theirs[name] for name in MONEY} == {None}
        assert (mine["redacted"], theirs["redacted"]) == ([], ["finance"])


async def test_a_member_who_sees_money_sees_all_of_it(alice: Person, charlie: Person) -> None:
    await add(alice, **PRICED, purchase=TEN)
    await join(alice, charlie, "accountant")

    for path in (DOMAINS, f"{DOMAINS}/harbour.com"):
        assert (await charlie.get(path, headers=of(alice))).json() == (await alice.get(path)).json()


@pytest.mark.parametrize(
    ("role", "status"), [("viewer", 403), ("accountant", 403), ("manager", 201), ("admin", 201)]
)
async def test_a_role_decides_who_adds_a_domain(alice: Person, charlie: Person, role: str, status: int) -> None:
    await join(alice, charlie, role)

    answer = await charlie.post(DOMAINS, json={"domain": "pier.com"}, headers=of(alice))

    assert answer.status_code == status, answer.text
    assert await names(alice) == (["pier.com"] if status == 201 else [])
    assert await names(charlie) == []


async def test_without_the_scope_nothing_is_read_or_changed(alice: Person, people: MakePerson) -> None:
    dana = await people("dana", Preset.DEVELOPER_FULL)
    await add(alice)

    refused = [
        await dana.get(DOMAINS),
        await dana.get(f"{DOMAINS}/harbour.com"),
        await dana.get("/v1/portfolio/tags"),
        await dana.post(DOMAINS, json={"domain": "pier.com"}),
        await dana.patch(f"{DOMAINS}/harbour.com", json={"notes": "x"}),
        await dana.post(f"{DOMAINS}/bulk", json={"domains": ["harbour.com"], "add_tags": ["a"]}),
        await dana.delete(f"{DOMAINS}/harbour.com"),
    ]

    assert {code(each) for each in refused} == {(403, "insufficient_scope")}
