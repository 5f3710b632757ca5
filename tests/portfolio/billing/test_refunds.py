"""Refunds follow the charges that they reverse."""

from builders.kit.values.money import Money
from builders.portfolio.registrars.records import ChargeKind
from tests.cast import Person
from tests.portfolio.billing.make import CHARGES, add_domains, apply, bill, charges, line, ok


async def test_the_choice_of_a_member_counts_before_the_refunded_charge(alice: Person) -> None:
    held = await add_domains(alice, "pier.com", "quay.com")
    await bill(
        alice,
        line("11.00", "pier.com", order_id="2"),
        line("-11.00", order_id="3", parent_order_id="2", kind=ChargeKind.REFUND),
    )
    found = {each["order_id"]: each for each in (await charges(alice))["items"]}
    assert found["3"]["match"]["domain_id"] == str(held["pier.com"])
    path = f"{CHARGES}/{found['3']['id']}"
    chosen = ok(await alice.patch(path, json={"domain": "quay.com"}))
    assert (chosen["state"], chosen["match"]["domain_id"]) == ("applied", str(held["quay.com"]))
    assert chosen["refund_of"] == found["2"]["id"]


async def test_an_ignored_charge_and_its_refund_stay_ignored(alice: Person) -> None:
    await add_domains(alice, "pier.com")
    await bill(
        alice,
        line("11.00", "pier.com", order_id="2"),
        line("-11.00", order_id="3", parent_order_id="2", kind=ChargeKind.REFUND),
    )
    [charge_id] = [each["id"] for each in (await charges(alice))["items"] if each["order_id"] == "2"]
    path = f"{CHARGES}/{charge_id}"
    ignored = ok(await alice.patch(path, json={"ignored": True}))
    assert (ignored["state"], ignored["entry_id"]) == ("ignored", None)
    await apply(alice, undo=True)
    await apply(alice)
    states = {each["order_id"]: each["state"] for each in (await charges(alice))["items"]}
    assert states == {"2": "ignored", "3": "ignored"}
    await bill(alice, line("11.00", "pier.com", order_id="2"))
    assert (await charges(alice))["count"] == 2
    back = ok(await alice.patch(path, json={"ignored": False}))
    assert back["state"] == "applied"


async def test_lines_are_split_and_refunds_reverse_their_parts(alice: Person) -> None:
    await add_domains(alice, "a-pier.com", "b-pier.com", renewal_price=Money.of("10.00", "USD"))
    await add_domains(alice, "c-pier.com", renewal_price=Money.of("20.00", "USD"))
    shared = line("40.01", "a-pier.com", "b-pier.com", "c-pier.com", order_id="1", years=1)
    fresh = line("10.00", "a-pier.com b-pier.com, c-pier.com", order_id="2", kind=ChargeKind.REGISTRATION)
    back = line(
        "-40.01",
        "a-pier.com",
        "b-pier.com",
        "c-pier.com",
        order_id="3",
        parent_order_id="1",
        kind=ChargeKind.REFUND,
    )
    await bill(alice, back, shared, fresh)
    await bill(alice, shared, back)  # the overlap of the next sync
    found = (await charges(alice))["items"]
    parts = {
        order: sorted((each["domain"], each["total"]["amount"]) for each in found if each["order_id"] == order)
        for order in "123"
    }
    assert parts == {
        "1": [("a-pier.com", "10.01"), ("b-pier.com", "10.00"), ("c-pier.com", "20.00")],
        "2": [("a-pier.com", "3.34"), ("b-pier.com", "3.33"), ("c-pier.com", "3.33")],
        "3": [("a-pier.com", "-10.01"), ("b-pier.com", "-10.00"), ("c-pier.com", "-20.00")],
    }
    by_id = {each["id"]: each for each in found}
    for each in found:
        assert (each["match"]["method"], each["state"]) == ("order_item", "applied")
        if each["order_id"] == "3":
            assert by_id[each["refund_of"]]["domain"] == each["domain"]
