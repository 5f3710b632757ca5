"""Domains of another portfolio, and domains that nobody has: both are the same 404."""

from typing import Any

import pytest

from builders.kit.db.connections import Database
from builders.kit.values import ids
from builders.portfolio.domains import lookups
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add, names

METHODS = [("GET", None), ("PATCH", {"folder": "Stolen"}), ("DELETE", None)]


@pytest.mark.parametrize(("method", "body"), METHODS)
@pytest.mark.parametrize("key", ["id", "domain"])
async def test_bob_does_not_find_the_domain_of_alice(
    alice: Person, bob: Person, method: str, body: Any, key: str
) -> None:
    added = await add(alice, folder="Ports")
    answer = await bob.request(method, f"{DOMAINS}/{added[key]}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (404, "portfolio_domain_not_found")


@pytest.mark.parametrize(("method", "body"), METHODS)
async def test_what_bob_tries_changes_nothing(alice: Person, bob: Person, method: str, body: Any) -> None:
    added = await add(alice, folder="Ports")
    await bob.request(method, f"{DOMAINS}/{added['id']}", json=body)
    assert (await alice.get(f"{DOMAINS}/{added['id']}")).json()["folder"] == "Ports"


@pytest.mark.parametrize("key", [str(ids.NIL), "harbour", "lantern.com", "x" * 300, "%F0%9F%9A%A2.com"])
async def test_an_unknown_or_malformed_key_is_not_found(alice: Person, key: str) -> None:
    await add(alice)
    answer = await alice.get(f"{DOMAINS}/{key}")
    assert (answer.status_code, answer.json()["code"]) == (404, "portfolio_domain_not_found")


async def test_two_portfolios_hold_one_name(alice: Person, bob: Person) -> None:
    for owner, folder in ((alice, "Ports"), (bob, "Ships")):
        await add(owner, folder=folder)
    folders = [(await owner.get(f"{DOMAINS}/harbour.com")).json()["folder"] for owner in (alice, bob)]
    assert folders == ["Ports", "Ships"]


async def test_a_list_has_only_the_own_domains(alice: Person, bob: Person) -> None:
    await add(alice, "harbour.com")
    await add(bob, "lantern.com")
    assert (await names(alice), await names(bob)) == (["harbour.com"], ["lantern.com"])


async def test_a_domain_of_another_portfolio_is_an_error_of_its_row(alice: Person, bob: Person) -> None:
    added = await add(alice)
    await add(bob, "lantern.com")
    body = {"domains": [added["id"], "lantern.com"], "add_tags": ["geo"]}
    results = (await bob.post(f"{DOMAINS}/bulk", json=body)).json()["results"]
    assert [each["outcome"] for each in results] == ["error", "updated"]


async def test_a_label_finds_the_own_domains_of_each_suffix(
    alice: Person, bob: Person, database: Database
) -> None:
    for owner, name in (
        (alice, "harbour.com"),
        (alice, "harbour.net"),
        (alice, "lantern.com"),
        (bob, "harbour.org"),
    ):
        await add(owner, name)
    async with database.connection() as conn:
        found = await lookups.load_domains_by_label(
            conn, account_id=alice.account.id, labels=["harbour", "anchor"]
        )
    assert {label: sorted(each.domain for each in domains) for label, domains in found.items()} == {
        "harbour": ["harbour.com", "harbour.net"],
    }


async def test_batches_have_the_own_domains_by_name(alice: Person, bob: Person, database: Database) -> None:
    for owner, name in ((alice, "c.com"), (alice, "a.com"), (bob, "b.com")):
        await add(owner, name)
    async with database.connection() as conn:
        first = await lookups.list_batch(conn, account_id=alice.account.id, after="")
        rest = await lookups.list_batch(conn, account_id=alice.account.id, after="a.com")
    assert ([each.domain for each in first], [each.domain for each in rest]) == (["a.com", "c.com"], ["c.com"])
