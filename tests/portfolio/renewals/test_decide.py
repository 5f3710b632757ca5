"""Decisions about many renewals at once."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from builders.kit.values import ids
from builders.portfolio.domains import changes
from builders.portfolio.domains.records import ChangeSource, DomainChange, RenewalDecision, domain_patch
from builders.portfolio.renewals.records import Decision
from tests.cast import Client, Person
from tests.portfolio.parking.make import add_domains, database_of
from tests.portfolio.renewals.make import BULK, ahead, decide, report
from tests.portfolio.team.make import code, join, of

FIND_EVENTS = """
    SELECT data FROM kit_outbox
    WHERE account_id = %(account_id)s AND name = 'portfolio.renewal.decision_changed' ORDER BY id
"""


def outcomes(reply: dict[str, Any]) -> list[str]:
    return [each["outcome"] for each in reply["results"]]


async def item(owner: Client, domain: str) -> dict[str, Any]:
    return next(each for each in (await report(owner))["items"] if each["domain"] == domain)


async def test_one_bad_row_stops_no_other(alice: Person) -> None:
    found = await add_domains(alice, "harbour.com", "lighthouse.com", "pier.com", expires_at=ahead(9))
    rows: list[tuple[Any, str | None]] = [
        ({"domain_id": "HARBOUR.com", "decision": "renew", "years": 2, "note": "Earns well."}, None),
        ({"domain_id": str(found["lighthouse.com"]), "decision": "drop"}, None),
        ({"domain": "pier.com", "snooze_until": "2030-01-01", "renewal_price": "12.00", "currency": "EUR"}, None),
        ({"domain_id": "unknown.com", "decision": "drop"}, "portfolio_domain_not_found"),
        ({"domain_id": str(ids.new()), "decision": "drop"}, "portfolio_domain_not_found"),
        ({"domain_id": "harbour.com", "decision": "drop"}, "duplicate_row"),
        ({"domain_id": "harbour.com", "decision": "maybe"}, "enum"),
        ({"domain_id": "harbour.com", "years": 11}, "less_than_equal"),
        ({"domain_id": "harbour.com"}, "patch_empty"),
        ({"domain_id": "harbour.com", "renewal_price": "1.00"}, "money_currency"),
        ({"decision": "drop"}, "missing"),
        ([], "model_attributes_type"),
    ]
    reply = await decide(alice, {"items": [row for row, _ in rows]})
    codes = [[error["code"] for error in each["errors"]] for each in reply["results"]]
    assert codes == [[] if expected is None else [expected] for _, expected in rows]
    assert reply["summary"] | {"total": 0} == {
        "total": 0,
        "created": 0,
        "updated": 3,
        "unchanged": 0,
        "skipped": 0,
        "errors": len(rows) - 3,
    }
    harbour, pier = await item(alice, "harbour.com"), await item(alice, "pier.com")
    assert (harbour["decision"], harbour["years"], harbour["note"]) == ("renew", 2, "Earns well.")
    assert (pier["decision"], pier["snooze_until"]) == ("undecided", "2030-01-01")
    assert pier["renewal_price"] == {"amount": "12.00", "currency": "EUR"}
    again = await decide(alice, {"items": [row for row, expected in rows if expected is None]})
    assert outcomes(again) == ["unchanged"] * 3
    cleared = {"domain_id": "harbour.com", "years": None, "note": None}
    assert outcomes(await decide(alice, {"items": [cleared]})) == ["updated"]
    harbour = await item(alice, "harbour.com")
    assert (harbour["decision"], harbour["years"], harbour["note"]) == ("renew", None, None)


MANY: dict[str, Any] = {"domains": ["harbour.com", "lighthouse.com", "unknown.com"], "set": {"decision": "drop"}}


async def test_one_decision_for_many_domains(alice: Person) -> None:
    await add_domains(alice, "harbour.com", "lighthouse.com", expires_at=ahead(9))
    assert outcomes(await decide(alice, MANY)) == ["updated", "updated", "error"]
    assert [each["decision"] for each in (await report(alice))["items"]] == ["drop", "drop"]


async def test_a_dry_run_decides_nothing(alice: Person) -> None:
    await add_domains(alice, "harbour.com", "lighthouse.com", expires_at=ahead(9))
    assert outcomes(await decide(alice, {**MANY, "dry_run": True})) == ["updated", "updated", "error"]
    assert (await item(alice, "harbour.com"))["decision"] == "undecided"


async def test_what_a_dry_run_showed_is_decided_unless_a_decision_was_made_since(alice: Person) -> None:
    await add_domains(alice, "harbour.com", "lighthouse.com", expires_at=ahead(9))
    shown = await decide(alice, {**MANY, "dry_run": True})
    changes = [[each["member"], each["before"], each["after"]] for each in shown["results"][0]["changes"]]
    assert changes == [["decision", "undecided", "drop"]]

    await decide(alice, {"domains": ["harbour.com"], "set": {"decision": "renew"}})
    refused = await alice.patch(BULK, json={**MANY, "digest": shown["digest"]})
    again = await decide(alice, {**MANY, "dry_run": True})
    done = await decide(alice, {**MANY, "digest": again["digest"]})

    assert code(refused) == (409, "domains_changed")
    assert done == again
    assert [each["decision"] for each in (await report(alice))["items"]] == ["drop", "drop"]


async def test_a_row_without_a_registrar_is_not_connected(alice: Person) -> None:
    await add_domains(alice, "harbour.com", "lighthouse.com", expires_at=ahead(9))
    found = (await decide(alice, {**MANY, "push_to_registrar": True}))["results"]
    assert [each["pushed"] and each["pushed"]["state"] for each in found] == [
        *("not_connected", "not_connected", None),
    ]


async def test_a_decision_alone_is_sent_to_no_registrar(alice: Person) -> None:
    await add_domains(alice, "harbour.com", "lighthouse.com", expires_at=ahead(9))
    assert [each["pushed"] for each in (await decide(alice, MANY))["results"]] == [None] * 3


async def test_decisions_at_once_do_not_lose_each_other(alice: Person) -> None:
    names = [f"harbour{n}.com" for n in range(5)]
    await add_domains(alice, *names, expires_at=ahead(9))
    bodies = [
        {"domains": names, "set": {"decision": "renew"}},
        {"domains": names[::-1], "set": {"note": "Check."}},
        {"domains": names, "set": {"years": 2}},
    ]
    await asyncio.gather(*(decide(alice, each) for each in bodies))
    found = {(each["decision"], each["note"], each["years"]) for each in (await report(alice))["items"]}
    assert found == {("renew", "Check.", 2)}


async def test_a_renewal_makes_the_decision_obsolete(alice: Person) -> None:
    found = await add_domains(alice, "harbour.com", expires_at=ahead(9))
    await decide(alice, {"items": [{"domain_id": "harbour.com", "decision": "drop", "note": "Too dear."}]})
    for days, shown in ((11, ["drop"]), (374, [])):
        change = DomainChange(id=found["harbour.com"], patch=domain_patch(expires_at=ahead(days)))
        async with database_of(alice).transaction() as conn:
            await changes.change_domains(
                conn, account_id=alice.account.id, changes=[change], source=ChangeSource.REGISTRAR
            )
        items = (await report(alice, within_days=365))["items"]
        assert [each["decision"] for each in items] == shown
    async with database_of(alice).transaction() as conn:
        await changes.remove_domain(conn, account_id=alice.account.id, domain_id=found["harbour.com"])


def test_a_correction_of_the_expiry_keeps_the_decision() -> None:
    expiry = datetime(2026, 3, 1, tzinfo=UTC)
    made = Decision(
        domain_id=ids.NIL, decision=RenewalDecision.DROP, years=1, note="n", expires_at=expiry, decided_at=expiry
    )
    for days in (-400, 0, 3, 179):
        assert made.at_expiry(expiry + timedelta(days=days)) is made
    assert made.at_expiry(None) is made
    assert made.at_expiry(expiry + timedelta(days=365)) == Decision(domain_id=ids.NIL, note="n")


async def test_an_event_for_each_domain_with_another_decision(alice: Person) -> None:
    await add_domains(alice, "harbour.com", "lighthouse.com", expires_at=ahead(9))
    body = {"domains": ["harbour.com", "lighthouse.com"], "set": {"decision": "renew"}}
    await decide(alice, {**body, "dry_run": True})
    await decide(alice, body)
    await decide(alice, body)
    await decide(alice, {"domains": ["harbour.com"], "set": {"note": "Check."}})
    async with database_of(alice).connection() as conn:
        cursor = await conn.execute(FIND_EVENTS, {"account_id": alice.account.id})
        events = [json.loads(data) for (data,) in await cursor.fetchall()]
    assert [(each["domain"], each["decision"], each["previous"]) for each in events] == [
        ("harbour.com", "renew", "undecided"),
        ("lighthouse.com", "renew", "undecided"),
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"items": []},
        {"items": [{"domain_id": "harbour.com", "decision": "drop"}] * 1001},
        {"domains": ["harbour.com"]},
        {"set": {"decision": "drop"}},
        {"domains": ["harbour.com"], "set": {}},
        {"domains": ["harbour.com"], "set": {"decision": None}},
        {"domains": ["harbour.com"], "set": {"renewal_price": "1.00"}},
        {"items": [{}], "domains": ["harbour.com"], "set": {"decision": "drop"}},
        {"dry_run": True},
    ],
)
async def test_a_body_that_names_no_rows_is_refused(alice: Person, body: dict[str, object]) -> None:
    assert (await alice.patch(BULK, json=body)).status_code == 422


async def test_who_decides(alice: Person, bob: Person, charlie: Person, anyone: Client) -> None:
    await add_domains(alice, "harbour.com", expires_at=ahead(9))
    body = {"items": [{"domain_id": "harbour.com", "decision": "renew"}]}
    assert (await anyone.patch(BULK, json=body)).status_code == 401
    assert code(await bob.patch(BULK, json=body, headers=of(alice))) == (404, "portfolio_not_found")
    assert outcomes(await decide(bob, body)) == outcomes(await decide(alice.test, body)) == ["error"]
    await join(alice, charlie, "accountant")
    assert code(await charlie.patch(BULK, json=body, headers=of(alice))) == (403, "forbidden_role")
    member = f"/v1/portfolio/team/members/{charlie.account.id}"
    assert (await alice.patch(member, json={"role": "manager"})).status_code == 200
    assert outcomes(await decide(charlie, body, headers=of(alice))) == ["updated"]
