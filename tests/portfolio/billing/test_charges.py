"""Charges are listed, matched with the portfolio and booked once."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from builders.kit.db.connections import Database
from builders.kit.values import clock
from builders.portfolio.domains import changes
from builders.portfolio.registrars.records import ChargeKind
from tests.cast import Person
from tests.portfolio.billing.make import (
    APPLY,
    CHARGES,
    add_domains,
    apply,
    bill,
    charges,
    database_of,
    day,
    entries,
    line,
    load,
    ok,
)
from tests.portfolio.team.make import code, join, of


def of_domain(found: dict[str, Any], name: str | None) -> dict[str, Any]:
    return next(each for each in found["items"] if each["domain"] == name)


async def billed(alice: Person) -> dict[str, UUID]:
    """A portfolio with charges in each state."""
    held = await add_domains(alice, "harbour.com", "lantern.com", "bücher.de", registrar="NameSilo")
    await bill(
        alice,
        line("10.98", "harbour.com", order_id="1", years=1, tax="1.00", fees="0.18"),
        line("21.96", order_id="2", description="Renewal of lantern.com for 2 years"),
        line("9.99", "Bücher.de", order_id="3", kind=ChargeKind.TRANSFER),
        line("8.00", "nobodys.com", order_id="4"),
        line("7.00", order_id="5", description="harbour privacy", kind=ChargeKind.PRIVACY),
        line("0.00", "harbour.com", order_id="6", kind=ChargeKind.PRIVACY),
    )
    return held


async def test_what_is_free_is_applied_without_an_entry(alice: Person) -> None:
    await billed(alice)
    assert (await charges(alice))["totals"]["by_state"]["applied"] == 4
    assert sorted((each[1], str(each[2]), each[4]) for each in await entries(alice)) == [
        *(("renewal", "10.9800", "sync"), ("renewal", "21.9600", "sync"), ("transfer_fee", "9.9900", "sync")),
    ]


async def test_a_charge_shows_its_match(alice: Person) -> None:
    held = await billed(alice)
    assert of_domain(await charges(alice), "lantern.com")["match"] == {
        "domain_id": str(held["lantern.com"]),
        "confidence": "0.90",
        "method": "description",
        "candidates": [],
    }


async def test_a_charge_of_two_years_shows_the_cost_of_one(alice: Person) -> None:
    await billed(alice)
    lantern = of_domain(await charges(alice), "lantern.com")
    assert (lantern["years"], lantern["annual_cost"]["amount"], lantern["kind"]) == (2, "10.98", "renewal")


async def test_a_name_in_unicode_is_shown_as_written(alice: Person) -> None:
    await billed(alice)
    idn = of_domain(await charges(alice), "xn--bcher-kva.de")
    assert (idn["domain_raw"], idn["match"]["method"], idn["match"]["confidence"]) == ("Bücher.de", "idn", "1.00")


async def test_a_suggestion_shows_its_candidate(alice: Person) -> None:
    await billed(alice)
    suggested = of_domain(await charges(alice, state="suggested"), None)
    [candidate] = suggested["match"]["candidates"]
    assert (candidate["domain"], candidate["confidence"], candidate["method"]) == ("harbour.com", "0.50", "label")


async def test_a_stranger_sees_no_charges(alice: Person, bob: Person) -> None:
    await billed(alice)
    assert (await charges(bob))["count"] == 0


async def test_charges_are_booked_once_taken_back_and_booked_again(alice: Person, database: Database) -> None:
    held = await billed(alice)
    booked = await entries(alice)
    repeated = await asyncio.gather(apply(alice), apply(alice))
    assert [(each["examined"], each["applied"], each["still_unmatched"]) for each in repeated] == [(2, 0, 2)] * 2
    assert await entries(alice) == booked
    # An undo is tried, done, and repeated; then all is booked again, with the same references.
    tried = await apply(alice, undo=True, dry_run=True)
    assert (tried["undone"], tried["dry_run"], len(await entries(alice))) == (4, True, 3)
    assert (await apply(alice, undo=True))["undone"] == 4
    assert (await apply(alice, undo=True))["undone"] == 0
    assert await entries(alice) == []
    assert (await charges(alice))["totals"]["by_state"]["matched"] == 4
    tried = await apply(alice, dry_run=True)
    assert (tried["applied"], await entries(alice)) == (4, [])
    assert {each["entry_id"] for each in tried["results"]} == {None}  # nothing is recorded
    again = await asyncio.gather(apply(alice), apply(alice))
    assert sorted(each["applied"] for each in again) == [0, 4]
    assert sorted(each[5] for each in await entries(alice)) == sorted(each[5] for each in booked)
    # A domain that comes later is found; one that goes takes its entries with it, and the charge is open again.
    await add_domains(alice, "nobodys.com")
    assert (await apply(alice))["applied"] == 1
    async with database.transaction() as conn:
        await changes.remove_domains(conn, account_id=alice.account.id, ids=[held["lantern.com"]], is_quiet=True)
    assert of_domain(await charges(alice), "lantern.com")["state"] == "unmatched"
    await add_domains(alice, "lantern.com")
    done = await apply(alice)
    assert (done["applied"], done["results"][0]["reason"] != "") == (1, True)


async def test_concurrent_applications_and_undos_leave_one_entry_of_each_charge(alice: Person) -> None:
    await billed(alice)
    for _ in range(3):
        await asyncio.gather(*(apply(alice, undo=undo) for undo in (True, False) * 3))
        found = [each for each in (await charges(alice))["items"] if each["entry_id"]]
        assert sorted(each["id"] for each in found) == sorted(each[5] for each in await entries(alice))
    await apply(alice)
    assert len(await entries(alice)) == 3


async def matched_domains(person: Person) -> list[str]:
    """The domains of the events about charges that were matched."""
    async with database_of(person).connection() as conn:
        rows = await conn.execute(
            "SELECT data::jsonb ->> 'domain' FROM kit_outbox WHERE account_id = %s "
            "AND name = 'portfolio.billing.charge_matched' ORDER BY id",
            [person.account.id],
        )
        return [name for (name,) in await rows.fetchall()]


async def test_a_member_decides_about_charges(alice: Person, bob: Person) -> None:
    held = await add_domains(alice, "harbour.com", "harbour.net", "pier.com")
    await bill(
        alice,
        line("10.00", order_id="1", description="harbour"),
        line("11.00", "pier.com", order_id="2"),
        line("-11.00", order_id="3", parent_order_id="2", kind=ChargeKind.REFUND),
    )
    found = {each["order_id"]: each for each in (await charges(alice))["items"]}
    assert [len(found[order]["match"]["candidates"]) for order in ("1", "2", "3")] == [2, 0, 0]
    assert (found["3"]["match"]["method"], found["3"]["refund_of"]) == ("parent_order", found["2"]["id"])
    path = f"{CHARGES}/{found['1']['id']}"
    assert code(await bob.patch(path, json={"ignored": True})) == (404, "charge_not_found")
    assert code(await alice.patch(path, json={"domain": "nobodys.com"})) == (404, "portfolio_domain_not_found")
    assert (await alice.patch(path, json={})).status_code == 422
    chosen = ok(await alice.patch(path, json={"domain": "HARBOUR.net"}))
    assert (chosen["state"], chosen["match"]["domain_id"], chosen["match"]["method"]) == (
        *("applied", str(held["harbour.net"]), "manual"),
    )
    ok(await alice.patch(path, json={"domain": "harbour.net"}))  # again: it is not found anew
    other = ok(await alice.patch(path, json={"domain": str(held["harbour.com"])}))
    assert await matched_domains(alice) == ["harbour.net", "harbour.com"]
    assert other["match"]["domain_id"] == str(held["harbour.com"])
    assert sorted((each[0], str(each[2])) for each in await entries(alice) if str(each[2]) == "10.0000") == [
        (held["harbour.com"], "10.0000")
    ]
    # A choice outlives an undo; null forgets it.
    await apply(alice, undo=True, ids=[found["1"]["id"]])
    assert (await apply(alice, ids=[found["1"]["id"]]))["results"][0]["reason"] == "A member chose it."
    assert ok(await alice.patch(path, json={"domain": None}))["state"] == "unmatched"


async def test_an_entry_of_a_member_is_linked_and_not_doubled(alice: Person) -> None:
    held = await add_domains(alice, "harbour.com", "lantern.com")
    today = clock.now().date()
    body = {"amount": "10.90", "currency": "USD", "renewed_on": str(today - timedelta(days=6))}
    for _ in range(2):
        path = f"/v1/portfolio/domains/{held['harbour.com']}/finance/renewals"
        ok(await alice.post(path, json=body))
    await bill(
        alice,
        line("10.98", "harbour.com", order_id="1", years=1),
        line("10.98", "harbour.com", order_id="2", years=1),
        line("10.98", "harbour.com", order_id="3", years=1),
        line("10.98", "lantern.com", order_id="4", years=1),
    )
    found = (await charges(alice))["items"]
    assert sorted((each["order_id"], each["linked"]) for each in found) == [
        *(("1", True), ("2", True), ("3", False), ("4", False)),
    ]
    assert len({each["entry_id"] for each in found}) == 4
    assert [each[4] for each in await entries(alice)] == ["manual", "manual", "sync", "sync"]
    # An undo leaves what the member recorded.
    assert (await apply(alice, undo=True))["undone"] == 4
    assert [each[4] for each in await entries(alice)] == ["manual", "manual"]
    again = await apply(alice)
    assert (again["applied"], again["linked_existing"]) == (4, 2)


async def test_a_file_adds_only_what_the_api_did_not_deliver(alice: Person) -> None:
    await add_domains(alice, "a-pier.com")
    today = clock.now().date()
    csv = (
        f"Date,Order ID,Domain,Type,Amount\n{today},9,a-pier.com,renewal,5.00\n{today},9,a-pier.com,renewal,5.00\n"
    )
    await bill(alice, line("5.00", "a-pier.com", order_id="9", line_id="1"))
    first = await load(alice, csv, provider="NameSilo")
    assert (first["summary"]["created"], first["summary"]["unchanged"], first["provider"]) == (1, 1, "namesilo")
    assert (await load(alice, csv, provider="namesilo"))["summary"]["unchanged"] == 2
    await bill(alice, line("5.00", "a-pier.com", order_id="9", line_id="1"))
    assert (await charges(alice, **{"from": str(today)}))["count"] == 2


async def bill_months(alice: Person) -> None:
    """Record five charges of three months, and one of another registrar of the year before."""
    days = [day(f"2026-0{1 + at // 3}-01") for at in range(5)]
    lines = (line("1.00", "harbour.com", order_id=str(at), charged_on=each) for at, each in enumerate(days))
    await bill(alice, *lines)
    await bill(alice, line("2.00", "pier.com", currency="EUR", charged_on=day("2025-12-31")), provider="godaddy")


async def test_pages_show_each_charge_once(alice: Person) -> None:
    await bill_months(alice)
    first = await charges(alice, limit=4)
    second = await charges(alice, limit=4, cursor=first["next_cursor"])
    assert ([len(first["items"]), len(second["items"])], second["next_cursor"]) == ([4, 2], None)
    assert len({each["id"] for each in (*first["items"], *second["items"])}) == 6


@pytest.mark.parametrize(("limit", "shown"), [(0, 1), (-5, 1), (10**9, 6)])
async def test_a_limit_out_of_bounds_is_the_nearest_one(alice: Person, limit: int, shown: int) -> None:
    await bill_months(alice)
    assert len((await charges(alice, limit=limit))["items"]) == shown


async def test_charges_are_listed_by_registrar(alice: Person) -> None:
    await bill_months(alice)
    assert [each["provider"] for each in (await charges(alice, provider="GoDaddy"))["items"]] == ["godaddy"]


async def test_the_sums_of_each_currency(alice: Person) -> None:
    await bill_months(alice)
    totals = (await charges(alice))["totals"]["by_currency"]
    assert [(each["currency"], each["total"]["amount"]) for each in totals] == [("EUR", "2.00"), ("USD", "5.00")]


async def test_a_viewer_sees_neither_amounts_nor_descriptions(alice: Person, charlie: Person) -> None:
    await bill_months(alice)
    await join(alice, charlie)
    hidden = await charges(charlie, headers=of(alice))
    assert (hidden["redacted"], hidden["items"][0]["total"], hidden["items"][0]["description"]) == (
        *(["finance"], None, None),
    )


async def test_a_repeated_key_with_another_query_is_another_request(alice: Person) -> None:
    headers = {"Idempotency-Key": "apply-1"}
    assert (await alice.post(APPLY, json={}, headers=headers)).status_code == 200
    answer = await alice.post(f"{APPLY}?dry_run=true", json={}, headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (422, "key_reused")
