"""What is published about a changed domain, and what is not."""

from typing import Any

import pytest

from builders.kit.db.connections import Conn
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.domains.test_change import events

UPDATED = "domain.updated"


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"status": "dropped"}, [UPDATED, "domain.dropped"]),
        ({"status": "sold"}, [UPDATED, "domain.sold"]),
        ({"status": "listed"}, [UPDATED]),
        ({"status": "transferred_out"}, [UPDATED]),
        ({"locked": False}, [UPDATED, "lock.changed"]),
        ({"auto_renew": None}, [UPDATED, "auto_renew.changed"]),
        ({"expires_at": None}, [UPDATED, "expiry.changed"]),
        ({"expires_at": "2191-01-01"}, [UPDATED, "expiry.changed"]),
        ({"expires_at": "2001-01-01"}, [UPDATED, "expiry.changed", "lifecycle.changed", "domain.expired"]),
        ({"privacy": True, "notes": "x", "folder": "y"}, [UPDATED]),
        ({"locked": True, "tags": ["A"], "registrar": " Gandi"}, []),
    ],
)
async def test_a_change_is_published_once_with_what_it_is_about(
    alice: Person, conn: Conn, body: dict[str, Any], names: list[str]
) -> None:
    kept: dict[str, Any] = {
        "expires_at": "2190-01-01",
        "auto_renew": True,
        "locked": True,
        "tags": ["a"],
        "registrar": "Gandi",
    }
    path = f"{DOMAINS}/{(await add(alice, **kept))['id']}"
    before = len(await events(conn, alice.account.id))

    for _ in range(2):  # the second time nothing changes
        assert (await alice.patch(path, json=body)).status_code == 200

    found = (await events(conn, alice.account.id))[before:]
    assert [name for name, _ in found] == names
    changed = {*body, *({"expiry_source"} if body.get("expires_at", "") is None else ())}
    assert all({*data["changed"]} == changed for name, data in found if name == UPDATED)


async def test_no_event_holds_money_or_notes(alice: Person, conn: Conn) -> None:
    prices = ("renewal_price", "asking_price", "min_offer", "estimated_value")
    money: dict[str, Any] = {name: {"amount": "4321.09", "currency": "USD"} for name in prices}
    path = f"{DOMAINS}/{(await add(alice, **money, notes='secret', purchase=money['min_offer']))['id']}"
    changed = {name: {"amount": "8765.09", "currency": "USD"} for name in prices}
    await alice.patch(path, json={**changed, "notes": "hidden"})
    assert (await alice.delete(path, params={"history": "delete"})).status_code == 204

    found = [each for each in await events(conn, alice.account.id) if each[0].startswith("domain.")]

    assert [name for name, _ in found] == ["domain.added", UPDATED, "domain.removed"]
    assert {*prices, "notes"} == {*found[1][1]["changed"]}
    for text in ("4321.09", "8765.09", "secret", "hidden"):
        assert text not in str(found)


async def test_each_domain_whose_tags_change_is_published(alice: Person, conn: Conn) -> None:
    for name in ("a.com", "b.com", "c.com"):
        await add(alice, name, tags=["new"] if name == "b.com" else [])
    keys = ["a.com", "b.com", "c.com", "A.com"]

    answer = await alice.post(f"{DOMAINS}/bulk", json={"domains": keys, "add_tags": ["new"]})

    outcomes = [each["outcome"] for each in answer.json()["results"]]
    assert outcomes == ["updated", "unchanged", "updated", "unchanged"]
    found = [data for name, data in await events(conn, alice.account.id) if name == UPDATED]
    assert sorted(data["domain"] for data in found) == ["a.com", "c.com"]
    assert {(*data["changed"],) for data in found} == {("tags",)}


async def test_a_refused_change_publishes_nothing(alice: Person, conn: Conn) -> None:
    path = f"{DOMAINS}/{(await add(alice))['id']}"
    before = await events(conn, alice.account.id)

    assert (await alice.patch(path, json={"status": "sold", "counterparty": "Carol"})).status_code == 422
    assert (await alice.post(DOMAINS, json={"domain": "harbour.com"})).status_code == 409

    assert await events(conn, alice.account.id) == before
    assert (await alice.get(path)).json()["status"] == "owned"
