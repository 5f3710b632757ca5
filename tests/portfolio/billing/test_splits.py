"""A member splits a charge among domains: what is booked, and what is refused."""

import asyncio
from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from builders.identity.records import Preset
from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.kit.values.money import decimals_of
from builders.portfolio.billing import bills
from builders.portfolio.billing.records import MAX_PARTS
from builders.portfolio.ledger.records import MAX_ENTRIES
from builders.portfolio.registrars.records import ChargeKind
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.portfolio.billing.make import (
    BOOKED,
    CHARGES,
    PARTS,
    Json,
    add_domains,
    apply,
    bill,
    booked,
    charges,
    database_of,
    entries,
    line,
    ok,
    send_split,
    shared_charge,
    split,
)
from tests.portfolio.billing.test_charge_limits import have_at_most
from tests.portfolio.billing.test_decisions import clear, published
from tests.portfolio.reads import add_entries
from tests.portfolio.team.make import code, join, of
from tests.random_cases import cases

DOMAINS = ("harbour.com", "pier.com")


async def test_the_parts_are_booked_like_charges_that_are_matched_by_hand(alice: Person) -> None:
    path = await shared_charge(alice)
    done = await split(alice, path)
    assert [(each["domain"], each["total"]["amount"]) for each in done["parts"]] == [*PARTS]
    for each in done["parts"]:
        found = each["state"], each["match"]["method"], each["match"]["confidence"], each["split_of"]
        assert found == ("applied", "manual", "1.00", path.rpartition("/")[2])
    assert {row[5] for row in await entries(alice)} == {each["id"] for each in done["parts"]}
    assert await booked(alice) == BOOKED


async def test_the_charge_itself_is_split_and_not_booked(alice: Person) -> None:
    path = await shared_charge(alice, "30.00", "harbour.com")
    done = (await split(alice, path))["charge"]
    assert (done["state"], done["entry_id"], done["match"]["domain_id"]) == ("split", None, None)
    assert (done["total"]["amount"], done["domain"], done["split_of"]) == ("30.00", "harbour.com", None)


async def test_the_list_has_the_charge_and_its_parts(alice: Person) -> None:
    path = await shared_charge(alice)
    done = await split(alice, path)
    found = await charges(alice)
    assert {each["id"] for each in found["items"]} == {each["id"] for each in (done["charge"], *done["parts"])}
    assert found["count"] == 3
    assert [each["id"] for each in (await charges(alice, state="split"))["items"]] == [done["charge"]["id"]]


async def test_the_sum_of_all_charges_counts_the_parts_alone(alice: Person) -> None:
    path = await shared_charge(alice)
    before = (await charges(alice))["totals"]["by_currency"][0]["total"]
    await split(alice, path)
    totals = (await charges(alice))["totals"]
    [sums] = totals["by_currency"]
    assert sums["total"] == before
    assert (sums["applied"]["amount"], sums["split"]["amount"]) == ("30.00", "30.00")
    assert {state: count for state, count in totals["by_state"].items() if count} == {"applied": 2, "split": 1}


async def test_tax_and_fees_have_the_ratio_of_the_parts(alice: Person) -> None:
    path = await shared_charge(alice, tax="4.79", fees="0.36")
    parts = (await split(alice, path))["parts"]
    found = [tuple(each[name]["amount"] for name in ("amount", "tax", "fees")) for each in parts]
    assert found == [("8.28", "1.60", "0.12"), ("16.57", "3.19", "0.24")]


@cases(25)
@given(data=st.data(), currency=st.sampled_from(["USD", "JPY", "KWD"]), is_refund=st.booleans())
async def test_no_coin_is_lost(alice: Person, data: st.DataObject, currency: str, is_refund: bool) -> None:
    decimals, sign = decimals_of(currency), -1 if is_refund else 1
    coins = data.draw(st.lists(st.integers(1, 10**14), min_size=2, max_size=5))
    amounts = [Decimal(sign * each).scaleb(-decimals) for each in coins]
    total = sum(amounts)
    tax, fees = (
        Decimal(sign * data.draw(st.integers(0, sum(coins) // 4))).scaleb(-decimals) for _ in ("tax", "fees")
    )
    held = [f"d{ids.new().hex}.com" for _ in amounts]
    await add_domains(alice, *held)
    kind = ChargeKind.REFUND if is_refund else ChargeKind.RENEWAL
    order = ids.new().hex
    await bill(
        alice,
        line(str(total), order_id=order, currency=currency, tax=str(tax), fees=str(fees), kind=kind),
        applies=False,
    )
    [item] = [each for each in (await charges(alice, limit=200))["items"] if each["order_id"] == order]
    before = {str(row[5]) for row in await entries(alice)}
    given_parts = [(name, f"{amount:f}") for name, amount in zip(held, amounts, strict=True)]
    parts = (await split(alice, f"{CHARGES}/{item['id']}", *given_parts, currency=currency))["parts"]

    assert [Decimal(each["total"]["amount"]) for each in parts] == amounts
    for name in ("total", "tax", "fees", "amount"):
        assert sum(Decimal(each[name]["amount"]) for each in parts) == Decimal(item[name]["amount"]), name
    new = [row for row in await entries(alice) if str(row[5]) not in before]
    assert sum(row[2] for row in new) == abs(total)


@pytest.mark.parametrize(
    ("parts", "place", "message"),
    [
        pytest.param(
            [("harbour.com", "10.00"), ("pier.com", "19.00")],
            ["body", "parts"],
            "The parts add up to 29.00 USD, which is 1.00 USD less than the total of the charge, 30.00 USD.",
            id="too little",
        ),
        pytest.param(
            [("harbour.com", "10.00"), ("pier.com", "20.01")],
            ["body", "parts"],
            "The parts add up to 30.01 USD, which is 0.01 USD more than the total of the charge, 30.00 USD.",
            id="too much",
        ),
        pytest.param([("harbour.com", "30.00")], ["body", "parts"], "at least 2 items", id="one part"),
        pytest.param(
            [(f"d{at}.com", "0.01") for at in range(MAX_PARTS + 1)],
            ["body", "parts"],
            f"at most {MAX_PARTS} items",
            id="too many parts",
        ),
        pytest.param(
            [("harbour.com", "10.00"), ("HARBOUR.com", "20.00")],
            ["body", "parts", 1, "domain"],
            "An earlier part is for harbour.com, too. Add up their amounts.",
            id="a domain twice",
        ),
        pytest.param(
            [("harbour.com", "40.00"), ("pier.com", "-10.00")],
            ["body", "parts", 1, "amount"],
            "Write an amount above zero, as the total of the charge is 30.00 USD.",
            id="another sign",
        ),
        pytest.param(
            [("harbour.com", "30.00"), ("pier.com", "0.00")],
            ["body", "parts", 1, "amount"],
            "Write an amount above zero",
            id="nothing",
        ),
        pytest.param(
            [("harbour.com", "10.005"), ("pier.com", "19.995")],
            ["body", "parts", 0, "amount", "amount"],
            "USD has 2 decimals, and the amount has more.",
            id="too many decimals",
        ),
    ],
)
async def test_parts_that_are_not_those_of_the_charge_are_refused(
    alice: Person, parts: Sequence[tuple[str, str]], place: list[str | int], message: str
) -> None:
    path = await shared_charge(alice)
    answer = await send_split(alice, path, *parts)
    assert answer.status_code == 422, answer.text
    [found] = answer.json()["detail"][:1]
    assert found["loc"] == place
    assert message in found["msg"]
    assert (await charges(alice))["items"][0]["state"] == "unmatched"


async def test_another_currency_is_refused(alice: Person) -> None:
    answer = await send_split(alice, await shared_charge(alice), *PARTS, currency="EUR")
    assert code(answer) == (422, "currency_conflict")


async def test_a_refund_is_split_into_refunds(alice: Person) -> None:
    path = await shared_charge(alice, "-30.00", kind=ChargeKind.REFUND)
    assert code(await send_split(alice, path, *PARTS)) == (422, "amount_invalid")
    await split(alice, path, ("harbour.com", "-10.00"), ("pier.com", "-20.00"))
    assert await booked(alice) == BOOKED
    assert {row[1] for row in await entries(alice)} == {"refund"}


async def test_a_charge_of_nothing_has_no_parts(alice: Person) -> None:
    path = await shared_charge(alice, "0.00")
    assert code(await send_split(alice, path, *PARTS)) == (422, "sum_conflict")


@pytest.mark.parametrize("unknown", ["nobodys.com", "no domain", "", str(ids.NIL)])
async def test_a_domain_that_is_not_held_is_named(alice: Person, unknown: str) -> None:
    path = await shared_charge(alice)
    answer = await send_split(alice, path, ("harbour.com", "10.00"), (unknown, "20.00"))
    assert code(answer) == (404, "portfolio_domain_not_found")
    assert f"part 2, '{unknown}'" in answer.json()["detail"]
    assert await entries(alice) == []


async def test_domains_are_given_by_id_too(alice: Person) -> None:
    path = await shared_charge(alice)
    held = ok(await alice.get("/v1/portfolio/domains/pier.com"))["id"]
    await split(alice, path, ("harbour.com", "10.00"), (held, "20.00"))
    assert await booked(alice) == BOOKED


@pytest.mark.parametrize("method", ["post", "delete"])
async def test_an_unknown_charge_is_not_found(alice: Person, method: str) -> None:
    await add_domains(alice, *DOMAINS)
    path = f"{CHARGES}/{ids.NIL}"
    answer = await (send_split(alice, path, *PARTS) if method == "post" else alice.delete(f"{path}/split"))
    assert code(answer) == (404, "charge_not_found")


async def test_a_booked_charge_is_not_split(alice: Person) -> None:
    path = await shared_charge(alice)
    ok(await alice.patch(path, json={"domain": "pier.com"}))
    answer = await send_split(alice, path, *PARTS)
    assert (code(answer), answer.json()["detail"]) == ((409, "charge_not_open"), "The charge is booked.")
    assert "undo=true" in answer.json()["next_action"]


async def test_a_charge_whose_booking_is_undone_is_split(alice: Person) -> None:
    path = await shared_charge(alice)
    ok(await alice.patch(path, json={"domain": "pier.com"}))
    await apply(alice, undo=True)
    await split(alice, path)
    assert await booked(alice) == BOOKED


async def test_an_ignored_charge_is_not_split(alice: Person) -> None:
    path = await shared_charge(alice)
    ok(await alice.patch(path, json={"ignored": True}))
    answer = await send_split(alice, path, *PARTS)
    assert (code(answer), answer.json()["detail"]) == ((409, "charge_not_open"), "The charge is ignored.")


async def test_a_split_charge_is_not_split_again(alice: Person) -> None:
    path = await shared_charge(alice)
    await split(alice, path)
    answer = await send_split(alice, path, *PARTS)
    assert (code(answer), answer.json()["detail"]) == ((409, "charge_not_open"), "The charge is split.")
    assert await booked(alice) == BOOKED


async def test_a_repeated_request_has_the_first_answer(alice: Person) -> None:
    path = await shared_charge(alice)
    once = {"Idempotency-Key": "once"}
    first = await split(alice, path, headers=once)
    assert await split(alice, path, headers=once) == first
    assert await booked(alice) == BOOKED


@pytest.mark.parametrize("method", ["post", "delete"])
async def test_a_part_is_not_split(alice: Person, method: str) -> None:
    path = await shared_charge(alice)
    [part, _] = (await split(alice, path))["parts"]
    await apply(alice, undo=True)
    place = f"{CHARGES}/{part['id']}"
    answer = await (send_split(alice, place, *PARTS) if method == "post" else alice.delete(f"{place}/split"))
    assert code(answer) == (409, "charge_not_open")
    assert path.rpartition("/")[2] in answer.json()["detail"]


@pytest.mark.parametrize("body", [{"domain": "pier.com"}, {"ignored": True}, {"domain": None}])
async def test_a_split_charge_is_not_decided_otherwise(alice: Person, body: Json) -> None:
    path = await shared_charge(alice)
    await split(alice, path)
    assert code(await alice.patch(path, json=body)) == (409, "charge_not_open")
    assert await booked(alice) == BOOKED


async def test_two_splits_at_once_leave_one(alice: Person) -> None:
    path = await shared_charge(alice)
    other = (("harbour.com", "1.00"), ("pier.com", "29.00"))
    answers = await asyncio.gather(*(send_split(alice, path, *parts) for parts in (PARTS, other) * 2))
    assert sorted(each.status_code for each in answers) == [200, 409, 409, 409]
    [won] = [each.json() for each in answers if each.status_code == 200]
    parts = sorted((each["domain"], Decimal(each["total"]["amount"])) for each in won["parts"])
    assert await booked(alice) == parts


async def test_a_split_and_a_match_at_once_book_the_charge_once(alice: Person) -> None:
    path = await shared_charge(alice)
    await asyncio.gather(
        *(
            each
            for _ in range(3)
            for each in (send_split(alice, path, *PARTS), alice.patch(path, json={"domain": "pier.com"}))
        )
    )
    assert sum(amount for _, amount in await booked(alice)) == 30


async def test_a_split_and_its_end_at_once_leave_all_or_nothing(alice: Person) -> None:
    path = await shared_charge(alice)
    await asyncio.gather(
        *(each for _ in range(3) for each in (send_split(alice, path, *PARTS), alice.delete(f"{path}/split")))
    )
    [item] = [each for each in (await charges(alice))["items"] if each["split_of"] is None]
    assert await booked(alice) == (BOOKED if item["state"] == "split" else [])


async def test_a_split_is_one_event_without_money(alice: Person) -> None:
    path = await shared_charge(alice)
    await clear(alice)
    await split(alice, path)
    [(name, data)] = await published(alice)
    assert (name, data["charges"], data["domains"]) == ("charge_matched", 2, ["harbour.com", "pier.com"])
    assert "20.00" not in str(data)


async def test_a_domain_that_can_hold_no_entry_refuses_the_split(alice: Person, conn: Conn) -> None:
    path = await shared_charge(alice)
    await add_entries(conn, account_id=alice.account.id, domain="pier.com", count=MAX_ENTRIES)
    before = await entries(alice)
    assert code(await send_split(alice, path, *PARTS)) == (409, "entry_limit")
    assert await entries(alice) == before
    assert (await charges(alice))["items"][0]["state"] == "unmatched"


async def test_a_split_is_within_the_maximum_of_charges(alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    path = await shared_charge(alice)
    have_at_most(monkeypatch, 2)
    assert code(await send_split(alice, path, *PARTS)) == (409, "charge_limit")
    have_at_most(monkeypatch, 3)
    await split(alice, path)
    assert bills.max_charges(is_sandbox=False) == 3


async def test_a_stranger_finds_no_charge(alice: Person, bob: Person) -> None:
    path = await shared_charge(alice)
    await add_domains(bob, *DOMAINS)
    assert code(await send_split(bob, path, *PARTS)) == (404, "charge_not_found")
    await split(alice, path)
    assert code(await bob.delete(f"{path}/split")) == (404, "charge_not_found")
    assert await booked(alice) == BOOKED


async def test_domains_of_somebody_else_are_not_found(alice: Person, bob: Person) -> None:
    path = await shared_charge(alice)
    await add_domains(bob, "theirs.com")
    answer = await send_split(alice, path, ("harbour.com", "10.00"), ("theirs.com", "20.00"))
    assert code(answer) == (404, "portfolio_domain_not_found")


async def test_without_the_scope_nothing_is_split(alice: Person, people: MakePerson, anyone: Client) -> None:
    path = await shared_charge(alice)
    dana = await people("dana", Preset.DEVELOPER_FULL)
    assert code(await send_split(dana, path, *PARTS)) == (403, "insufficient_scope")
    assert (await send_split(anyone, path, *PARTS)).status_code == 401
    assert code(await dana.delete(f"{path}/split")) == (403, "insufficient_scope")
    assert (await anyone.delete(f"{path}/split")).status_code == 401


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("accountant", 200)])
async def test_roles_that_book_charges_split_them(alice: Person, charlie: Person, role: str, status: int) -> None:
    path = await shared_charge(alice)
    await join(alice, charlie, role)
    assert (await send_split(charlie, path, *PARTS, headers=of(alice))).status_code == status
    assert (await charlie.delete(f"{path}/split", headers=of(alice))).status_code == status


async def test_a_viewer_sees_the_parts_without_money(alice: Person, charlie: Person) -> None:
    path = await shared_charge(alice)
    await split(alice, path)
    await join(alice, charlie)
    found = await charges(charlie, headers=of(alice))
    assert sorted(str(each["split_of"]) for each in found["items"]) == sorted(
        ["None", *[path.rpartition("/")[2]] * 2]
    )
    assert {each["total"] for each in found["items"]} == {None}
    assert [(each["total"], each["split"]) for each in found["totals"]["by_currency"]] == [(None, None)]


async def test_the_author_of_a_split_is_that_of_its_entries(alice: Person, charlie: Person) -> None:
    path = await shared_charge(alice)
    await join(alice, charlie, "accountant")
    await split(charlie, path, headers=of(alice))
    async with database_of(alice).connection() as conn:
        rows = await conn.execute(
            "SELECT DISTINCT created_by FROM portfolio_ledger_entries WHERE account_id = %s", [alice.account.id]
        )
        assert await rows.fetchall() == [(charlie.account.id,)]
