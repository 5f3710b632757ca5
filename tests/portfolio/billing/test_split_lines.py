"""A split charge later: with the next sync, the other source, refunds, and when it is taken back."""

from collections.abc import Sequence
from decimal import Decimal

import pytest

from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values.money import Money
from builders.portfolio.billing import store
from builders.portfolio.billing.records import ChargeSource
from builders.portfolio.registrars.records import ChargeKind
from tests.cast import Person
from tests.portfolio.billing.make import (
    BOOKED,
    CHARGES,
    PARTS,
    add_domains,
    apply,
    bill,
    booked,
    charges,
    entries,
    line,
    ok,
    shared_charge,
    split,
    take_back,
)
from tests.portfolio.imports.make import load as load_domains, valid_rows
from tests.worker import Worker

DOMAINS = ("harbour.com", "pier.com")


@pytest.mark.parametrize("named", [(), ("harbour.com",)])
async def test_the_line_is_recorded_once_by_the_next_sync(alice: Person, named: Sequence[str]) -> None:
    path = await shared_charge(alice, "30.00", *named)
    await split(alice, path)
    [again] = await bill(alice, line("30.00", *named))
    assert (again.new, again.duplicates) == ([], 1)
    assert await booked(alice) == BOOKED


@pytest.mark.parametrize("order", ["1001", ""])
async def test_the_line_is_recorded_once_by_the_other_source(alice: Person, order: str) -> None:
    path = await shared_charge(alice, "30.00", "harbour.com", order_id=order)
    await split(alice, path)
    [again] = await bill(alice, line("30.00", "harbour.com", order_id=order), source=ChargeSource.IMPORT)
    assert (again.new, again.duplicates) == ([], 1)
    assert await booked(alice) == BOOKED


async def test_lines_of_the_other_source_for_the_parts_are_recorded_once(alice: Person) -> None:
    path = await shared_charge(alice)
    await split(alice, path)
    lines = [line(amount, name, line_id=name) for name, amount in PARTS]
    recorded = await bill(alice, *lines, source=ChargeSource.IMPORT)
    assert [(each.new, each.duplicates) for each in recorded] == [([], 1)] * 2
    assert await booked(alice) == BOOKED


async def test_another_portfolio_books_an_exported_split_once(alice: Person, bob: Person) -> None:
    await split(alice, await shared_charge(alice, "30.00", "harbour.com"))
    await load_domains(bob, await valid_rows(alice))
    assert await booked(bob) == BOOKED

    await bill(bob, line("30.00", "harbour.com"))
    [item] = (await charges(bob))["items"]
    assert (item["state"], item["linked"]) == ("applied", True)
    assert await booked(bob) == BOOKED

    await apply(bob, undo=True)
    done = await split(bob, f"{CHARGES}/{item['id']}")
    assert [(each["state"], each["linked"]) for each in done["parts"]] == [("applied", True)] * 2
    assert await booked(bob) == BOOKED


async def test_a_split_is_taken_back(alice: Person) -> None:
    path = await shared_charge(alice)
    await split(alice, path)
    back = await take_back(alice, path)
    assert (back["state"], back["match"]["domain_id"]) == ("unmatched", None)
    assert await entries(alice) == []
    assert [each["id"] for each in (await charges(alice))["items"]] == [back["id"]]
    assert await take_back(alice, path) == back


async def test_a_charge_is_split_again_when_its_split_is_taken_back(alice: Person) -> None:
    path = await shared_charge(alice)
    await split(alice, path, ("harbour.com", "1.00"), ("pier.com", "29.00"))
    await take_back(alice, path)
    await split(alice, path)
    assert await booked(alice) == BOOKED


async def test_a_charge_is_matched_again_when_its_split_is_taken_back(alice: Person) -> None:
    path = await shared_charge(alice, "30.00", "pier.com")
    await split(alice, path)
    await take_back(alice, path)
    await apply(alice)
    assert await booked(alice) == [("pier.com", Decimal(30))]


async def test_parts_are_undone_and_booked_again(alice: Person) -> None:
    path = await shared_charge(alice)
    await split(alice, path)
    assert (await apply(alice, undo=True))["undone"] == 2
    assert {each["state"] for each in (await charges(alice))["items"]} == {"split", "matched"}
    assert (await apply(alice))["applied"] == 2
    assert await booked(alice) == BOOKED


async def test_a_part_moves_to_another_domain(alice: Person) -> None:
    await add_domains(alice, "quay.com")
    path = await shared_charge(alice)
    [part, _] = (await split(alice, path))["parts"]
    ok(await alice.patch(f"{CHARGES}/{part['id']}", json={"domain": "quay.com"}))
    assert await booked(alice) == [("pier.com", Decimal(20)), ("quay.com", Decimal(10))]
    await take_back(alice, path)
    assert await entries(alice) == []


async def test_a_part_whose_entry_is_voided_is_not_applied(
    alice: Person, database: Database, settings: Settings
) -> None:
    [part, _] = (await split(alice, await shared_charge(alice)))["parts"]
    ok(await alice.patch("/v1/portfolio/domains/harbour.com/finance", json={"entries_void": [part["entry_id"]]}))
    await Worker(database, settings).work()
    assert [each["id"] for each in (await charges(alice, state="matched"))["items"]] == [part["id"]]


async def test_a_split_is_taken_back_after_a_domain_was_removed(alice: Person) -> None:
    path = await shared_charge(alice)
    await split(alice, path)
    assert (await alice.delete("/v1/portfolio/domains/pier.com?history=delete")).status_code == 204
    assert (await take_back(alice, path))["state"] == "unmatched"
    assert await entries(alice) == []


async def test_an_entry_of_a_member_is_the_part(alice: Person) -> None:
    path = await shared_charge(alice)
    entry = {"kind": "renewal", "amount": {"amount": "10.00", "currency": "USD"}, "years": 1}
    ok(await alice.patch("/v1/portfolio/domains/harbour.com/finance", json={"entries_add": [entry]}))
    done = await split(alice, path)
    assert [each["linked"] for each in done["parts"]] == [True, False]
    await take_back(alice, path)
    assert await booked(alice) == BOOKED[:1]


async def test_a_refund_of_a_part_reverses_the_charge(alice: Person) -> None:
    path = await shared_charge(alice, order_id="1")
    await split(alice, path)
    await bill(alice, line("-20.00", order_id="2", parent_order_id="1", kind=ChargeKind.REFUND))
    [refund] = [each for each in (await charges(alice))["items"] if each["order_id"] == "2"]
    held = ok(await alice.get("/v1/portfolio/domains/pier.com"))["id"]
    assert (refund["state"], refund["match"]["domain_id"]) == ("applied", held)
    assert refund["refund_of"] == path.rpartition("/")[2]


async def test_a_refund_of_the_whole_charge_needs_a_decision(alice: Person) -> None:
    path = await shared_charge(alice, order_id="1")
    await split(alice, path)
    await bill(alice, line("-30.00", order_id="2", parent_order_id="1", kind=ChargeKind.REFUND))
    [refund] = [each for each in (await charges(alice))["items"] if each["order_id"] == "2"]
    assert (refund["state"], refund["refund_of"]) == ("unmatched", path.rpartition("/")[2])
    parts = await split(alice, f"{CHARGES}/{refund['id']}", ("harbour.com", "-10.00"), ("pier.com", "-20.00"))
    assert {each["refund_of"] for each in parts["parts"]} == {path.rpartition("/")[2]}


async def test_a_split_changes_no_later_line_of_the_other_source(alice: Person) -> None:
    path = await shared_charge(alice, order_id="1")
    back = line("-30.00", *DOMAINS, order_id="2", parent_order_id="1", kind=ChargeKind.REFUND)
    await bill(alice, back)
    await split(alice, path)
    [again] = await bill(alice, back, source=ChargeSource.IMPORT)
    assert again.new == []


async def test_the_years_of_a_part_are_those_of_its_own_amount(alice: Person) -> None:
    await add_domains(alice, "quay.com", "quay.net", "quay.org", renewal_price=Money.of("10.00", "USD"))
    await bill(alice, line("30.00", description="Renewal of quay.com, and others"), applies=False)
    [item] = (await charges(alice))["items"]
    assert item["years"] == 3
    parts = [(name, "10.00") for name in ("quay.com", "quay.net", "quay.org")]
    done = await split(alice, f"{CHARGES}/{item['id']}", *parts)
    assert [(each["years"], each["annual_cost"]["amount"]) for each in done["parts"]] == [(1, "10.00")] * 3


async def test_the_years_of_the_line_are_kept(alice: Person) -> None:
    path = await shared_charge(alice, years=2)
    assert [each["years"] for each in (await split(alice, path))["parts"]] == [2, 2]


async def test_the_parts_are_no_new_charges_of_a_run(alice: Person, database: Database) -> None:
    path = await shared_charge(alice)
    await split(alice, path)
    async with database.connection() as conn:
        [part, _] = await store.list_parts(conn, account_id=alice.account.id, charge_id=path.rpartition("/")[2])
        run_id = part.run_id
        totals = await store.list_run_totals(conn, account_id=alice.account.id, run_id=run_id)
        counted = await store.count_run(
            conn, account_id=alice.account.id, run_id=run_id, connection_id=None, max_domains=9
        )
    assert [str(each) for each in totals] == ["30.00 USD"]
    assert counted["new"].charges == 1
