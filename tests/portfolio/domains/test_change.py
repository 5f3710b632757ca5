"""Domains are changed and removed, one by one and many at once."""

import asyncio
import json
from typing import Any
from uuid import UUID

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.rows import RowOutcome
from builders.kit.values import ids
from builders.portfolio.domains import changes as domain_changes, lookups, names as domain_names
from builders.portfolio.domains.records import ChangeSource, DomainChange, ExpirySource, NewDomain, domain_patch
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add, names
from tests.portfolio.ledger.make import list_entries

PRICE = {"amount": "12.34", "currency": "USD"}


async def events(conn: Conn, account_id: UUID) -> list[tuple[str, Any]]:
    """Return the names and data of the portfolio's events, oldest first."""
    found = await conn.execute(
        "SELECT name, data FROM kit_outbox WHERE account_id = %s AND name LIKE 'portfolio.%%' ORDER BY id",
        [account_id],
    )
    return [(name.removeprefix("portfolio."), json.loads(data)) for name, data in await found.fetchall()]


async def test_a_merge_patch_changes_what_it_has(alice: Person) -> None:
    added = await add(alice, renewal_price=PRICE, tags=["a"], registrar="Gandi", folder="x", notes="y")
    path = f"{DOMAINS}/{added['id']}"

    patch = {"registrar": "Porkbun", "notes": None, "min_offer": "5", "currency": "EUR"}
    changed = (await alice.patch(path, json=patch)).json()

    different = {name for name in added if added[name] != changed[name]}
    assert different == {"registrar", "notes", "min_offer", "updated_at"}
    assert (changed["registrar"], changed["notes"]) == ("Porkbun", None)
    assert changed["min_offer"] == {"amount": "5.00", "currency": "EUR"}
    again = await alice.patch(path, json={"registrar": "Porkbun", "tags": ["A"]})
    assert again.json()["updated_at"] == changed["updated_at"]
    cleared = (await alice.patch(f"{DOMAINS}/HARBOUR.com", json={"tags": None, "renewal_price": None})).json()
    assert (cleared["tags"], cleared["renewal_price"]) == ([], None)
    assert await names(alice, tag="a") == []
    for body in ({}, {"currency": "EUR"}, {"status": None}, {"domain": "other.com"}, {"pinned": None}):
        assert (await alice.patch(path, json=body)).status_code == 422, body


async def test_a_patch_does_not_set_what_only_a_registrar_reports(alice: Person) -> None:
    added = await add(alice)

    answer = await alice.patch(f"{DOMAINS}/{added['id']}", json={"notes": "x", "epp_statuses": ["clientHold"]})

    assert [each["field"] for each in answer.json()["warnings"]] == ["epp_statuses"]
    assert (answer.json()["notes"], answer.json()["epp_statuses"]) == ("x", added["epp_statuses"])


async def test_ownership_decides_about_counterparty_and_status(alice: Person) -> None:
    path = f"{DOMAINS}/{(await add(alice))['id']}"
    lease = {"ownership": "leased", "counterparty": "Carol", "revenue_share": 30}
    leased = (await alice.patch(path, json=lease)).json()
    assert (leased["status"], leased["revenue_share"]) == ("leased", "30.00")
    refused = await alice.patch(path, json={"ownership": "owned", "counterparty": "Carol"})
    assert (refused.status_code, refused.json()["code"]) == (422, "owned_domain")
    listed = (await alice.patch(path, json={"status": "listed"})).json()
    assert (listed["status"], listed["ownership"]) == ("listed", "leased")
    owned = (await alice.patch(path, json={"ownership": "owned"})).json()
    assert (owned["status"], owned["counterparty"], owned["revenue_share"]) == ("listed", None, None)
    refused = await alice.patch(path, json={"revenue_share": "10"})
    assert (refused.status_code, refused.json()["code"]) == (422, "owned_domain")


async def test_a_domain_is_removed_with_its_entries(alice: Person, bob: Person, database: Database) -> None:
    added = await add(alice, purchase={"amount": "10", "currency": "USD"}, tags=["a"])
    path = f"{DOMAINS}/{added['id']}"

    assert (await bob.delete(path)).status_code == 404
    assert (await bob.patch(path, json={"tags": []})).status_code == 404
    assert (await bob.get(path)).json()["code"] == "portfolio_domain_not_found"
    assert (await alice.delete(path, params={"history": "delete"})).status_code == 204
    assert (await alice.delete(path)).status_code == 404

    assert (await alice.get("/v1/portfolio/tags")).json()["items"] == []
    async with database.connection() as conn:
        [entry] = await list_entries(conn, account_id=alice.account.id, domain_id=UUID(added["id"]))
    assert entry.is_void
    again = await add(alice)
    assert (again["id"] != added["id"], again["finance"]["total_cost"]["amount"]) == (True, "0.00")


async def test_a_test_key_has_a_portfolio_of_its_own(alice: Person) -> None:
    added = await add(alice.test)

    assert await names(alice) == []
    missing = await alice.get(f"{DOMAINS}/{added['id']}")
    assert (missing.status_code, missing.json()["exists_in_mode"]) == (404, "test")


async def test_each_change_is_an_event(alice: Person, conn: Conn) -> None:
    path = f"{DOMAINS}/{(await add(alice, 'bücher.com', expires_at='2190-01-01', auto_renew=True))['id']}"
    for body in (
        {"auto_renew": False, "locked": True},
        {"auto_renew": False},
        {"expires_at": "2191-01-01"},
        {"status": "sold"},
    ):
        assert (await alice.patch(path, json=body)).status_code == 200
    await alice.delete(path)

    found = await events(conn, alice.account.id)

    assert [name for name, _ in found] == [
        "domain.added",
        *("domain.updated", "auto_renew.changed", "lock.changed"),
        *("domain.updated", "expiry.changed"),
        *("domain.updated", "domain.sold"),
        "domain.removed",
    ]
    assert {data["domain"] for _, data in found} == {"xn--bcher-kva.com"}
    assert found[1][1]["changed"] == ["auto_renew", "locked"]
    assert (found[2][1]["value"], found[2][1]["previous"]) == (False, True)
    assert (found[5][1]["expires_at"], found[5][1]["previous_expires_at"]) == (
        "2191-01-01T00:00:00Z",
        "2190-01-01T00:00:00Z",
    )


async def test_many_are_added_changed_and_removed_at_once(alice: Person, database: Database, conn: Conn) -> None:
    account_id = alice.account.id
    present = UUID((await add(alice, "a.com"))["id"])
    new = [NewDomain(name=domain_names.parse_name(name)) for name in ("c.com", "a.com", "b.com")]

    async with database.transaction() as tx:
        added = await domain_changes.add_domains(tx, account_id=account_id, new=new)
        assert await domain_changes.add_domains(tx, account_id=account_id, new=[]) == []
    assert [each.outcome for each in added] == [RowOutcome.CREATED, RowOutcome.UNCHANGED, RowOutcome.CREATED]
    assert (added[1].id, added[0].domain and added[0].domain.domain) == (present, "c.com")

    changes = [
        DomainChange(id=added[0].id, patch=domain_patch(tags=("x", "y"), auto_renew=True)),
        DomainChange(id=ids.new(), patch=domain_patch(tags=["x"])),
        DomainChange(id=present, patch=domain_patch(auto_renew=None)),
    ]
    async with database.transaction() as tx:
        changed = await domain_changes.change_domains(
            tx, account_id=account_id, changes=changes, source=ChangeSource.IMPORT, is_quiet=True
        )
    assert [each.outcome for each in changed] == [RowOutcome.UPDATED, RowOutcome.SKIPPED, RowOutcome.UNCHANGED]
    async with database.connection() as plain:
        by_name = await lookups.load_domains(plain, account_id=account_id, names=["c.com", "b.com", "none.com"])
        by_id = await lookups.load_domains_by_id(plain, account_id=account_id, ids=[present, ids.new()])
    assert {name: list(each.tags) for name, each in by_name.items()} == {"c.com": ["x", "y"], "b.com": []}
    assert by_id.keys() == {present}
    async with database.transaction() as tx:
        removed = await domain_changes.remove_domains(
            tx, account_id=account_id, ids=[*(each.id for each in added), ids.new()], is_quiet=True
        )
    assert set(removed) == {each.id for each in added}
    assert [name for name, _ in await events(conn, account_id)] == ["domain.added"]


async def test_tags_of_many_domains(alice: Person, bob: Person, conn: Conn) -> None:
    first = await add(alice, "a.com", tags=["keep", "old"])
    await add(alice, "b.com", tags=[f"t{number}" for number in range(50)])
    await add(alice, "c.com", tags=["new"])
    await add(bob, "bob.com")
    keys = [first["id"], "B.com", "c.com", "A.COM", "bob.com", "none"]

    answer = await alice.post(
        f"{DOMAINS}/bulk", json={"domains": keys, "add_tags": ["New"], "remove_tags": ["old"]}
    )

    assert answer.status_code == 200, answer.text
    results, summary = answer.json()["results"], answer.json()["summary"]
    assert [(each["index"], each["domain"], each["outcome"]) for each in results] == [
        *((0, "a.com", "updated"), (1, "b.com", "error"), (2, "c.com", "unchanged")),
        *((3, "a.com", "unchanged"), (4, "bob.com", "error"), (5, "none", "error")),
    ]
    assert [each["errors"][0]["code"] for each in results if each["errors"]] == [
        *("too_many_tags", "portfolio_domain_not_found", "portfolio_domain_not_found")
    ]
    assert (summary["updated"], summary["unchanged"], summary["errors"]) == (1, 2, 3)
    assert (await alice.get(f"{DOMAINS}/a.com")).json()["tags"] == ["keep", "new"]
    assert sorted(await names(alice, tag="new")) == ["a.com", "c.com"]
    assert [name for name, _ in await events(conn, alice.account.id)][-1:] == ["domain.updated"]
    empty = await alice.post(f"{DOMAINS}/bulk", json={"domains": keys})
    assert (empty.status_code, empty.json()["code"]) == (422, "changes_missing")


@pytest.mark.parametrize(
    ("source", "expected"),
    [(ExpirySource.REGISTRAR, ExpirySource.REGISTRAR), (None, ExpirySource.MANUAL)],
)
async def test_an_expiry_says_where_it_comes_from(
    alice: Person, database: Database, source: ExpirySource | None, expected: ExpirySource
) -> None:
    added = await add(alice)
    assert (await add(alice, "x.com", expires_at="2190-01-01"))["expiry_source"] == "manual"
    async with database.transaction() as tx:
        domain = await lookups.get_domain(tx, account_id=alice.account.id, key="x.com")
        patch = domain_patch(expires_at=domain.expires_at)
        if source is not None:
            patch = domain_patch(expires_at=domain.expires_at, expiry_source=source)
        change = DomainChange(id=UUID(added["id"]), patch=patch)
        [changed] = await domain_changes.change_domains(
            tx, account_id=alice.account.id, changes=[change], source=ChangeSource.REGISTRAR
        )
    assert changed.domain is not None
    assert changed.domain.expiry_source is expected


async def test_of_two_who_add_the_same_name_one_is_refused(alice: Person) -> None:
    answers = await asyncio.gather(*(alice.post(DOMAINS, json={"domain": "harbour.com"}) for _ in range(4)))

    assert sorted(each.status_code for each in answers) == [201, 409, 409, 409]
    assert {each.json().get("id", each.json().get("domain_id")) for each in answers} == {
        (await alice.get(DOMAINS)).json()["items"][0]["id"]
    }


async def test_a_repeated_request_is_answered_once_for_each_portfolio(alice: Person) -> None:
    headers = {"Idempotency-Key": "add-1"}
    first = await alice.post(DOMAINS, json={"domain": "harbour.com"}, headers=headers)
    second = await alice.post(DOMAINS, json={"domain": "harbour.com"}, headers=headers)
    assert (second.status_code, second.json()) == (201, first.json())

    other = {**headers, "X-Portfolio-Account": str(alice.account.id)}
    refused = await alice.post(DOMAINS, json={"domain": "harbour.com"}, headers=other)
    assert (refused.status_code, refused.json()["code"]) == (422, "key_reused")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"renewal_price": {"amount": "9.00", "currency": "ZZZ"}}, "renewal_price.currency"),
        ({"renewal_price": "9.00", "currency": "ZZZ"}, "currency"),
    ],
)
async def test_a_patch_with_an_unknown_currency_has_a_warning_that_names_it(
    alice: Person, body: dict[str, Any], field: str
) -> None:
    added = await add(alice, "harbour.com")

    changed = await alice.patch(f"{DOMAINS}/{added['id']}", json=body)

    [warning] = changed.json()["warnings"]
    assert (warning["field"], warning["code"]) == (field, "currency_unknown")
    assert "ZZZ" in warning["message"]
