"""How certain the domain of a charge is, which years it pays for, and which entry of a member it is."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from builders.portfolio.billing.bill_text import read_years
from builders.portfolio.billing.lines import charges_of, split
from builders.portfolio.billing.matches import Earlier, Recorded, find_refunded
from builders.portfolio.billing.records import Candidate, Match, MatchMethod
from builders.portfolio.ledger.records import EntryKind, EntrySource, NewEntry
from builders.portfolio.registrars.records import ChargeKind
from tests.cast import Person
from tests.portfolio.billing.make import add_domains, apply, bill, charges, line, load, origin
from tests.portfolio.billing.test_bounds import charge, recorded_entry

Found = tuple[str, str | None, str | None]  # state, method, confidence


async def found_for(alice: Person, *, held: dict[str, Any] | None = None, **row: Any) -> Found:
    """Import a row about the domains that are held, harbour.com unless others are; return its match."""
    for name, fields in (held or {"harbour.com": {}}).items():
        await add_domains(alice, name, **fields)
    done = await load(alice, rows=[{"date": str(clock.now().date()), "amount": "10.00", **row}])
    assert done["summary"]["created"] == 1, done
    [item] = (await charges(alice))["items"]
    match = item["match"]
    if item["state"] == "suggested":
        match = match["candidates"][0]
    return item["state"], match["method"], match["confidence"]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param({"domain": "harbour.com"}, ("applied", "exact_name", "0.95"), id="the name in its field"),
        pytest.param({"domain": "HARBOUR.COM."}, ("applied", "exact_name", "0.95"), id="in capitals"),
        pytest.param({"domain": "www.harbour.com"}, ("applied", "exact_name", "0.95"), id="a host"),
        pytest.param({"domain": "harbour", "tld": ".com"}, ("applied", "exact_name", "0.95"), id="two columns"),
        pytest.param(
            {"description": "Renewal of harbour.com"}, ("applied", "description", "0.90"), id="in a description"
        ),
        pytest.param({"description": "Renewal of harbour"}, ("suggested", "label", "0.50"), id="its label alone"),
        pytest.param({"description": "Renewal of harbours"}, ("unmatched", None, None), id="another word"),
        pytest.param({"description": "Annual fee"}, ("unmatched", None, None), id="no name"),
        pytest.param({"domain": "harbour.net"}, ("unmatched", None, None), id="another suffix"),
        pytest.param(
            {"domain": "harbour.net", "description": "harbour.com"},
            ("unmatched", None, None),
            id="the field counts before the description",
        ),
    ],
)
async def test_the_words_of_a_charge(alice: Person, row: dict[str, Any], expected: Found) -> None:
    assert await found_for(alice, **row) == expected


@pytest.mark.parametrize(
    ("fields", "ago", "expected"),
    [
        pytest.param({}, 100, ("applied", "exact_name", "0.95"), id="ownership unknown"),
        pytest.param({"acquired_on": 10}, 17, ("applied", "exact_name", "0.95"), id="a week before"),
        pytest.param({"acquired_on": 10}, 18, ("applied", "exact_name", "0.80"), id="more than a week before"),
        pytest.param({"registered_on": 10}, 18, ("applied", "exact_name", "0.80"), id="before the registration"),
        pytest.param(
            {"acquired_on": 30, "registered_on": 10},
            18,
            ("applied", "exact_name", "0.95"),
            id="after the purchase",
        ),
    ],
)
async def test_the_time_of_a_charge(alice: Person, fields: dict[str, int], ago: int, expected: Found) -> None:
    today = clock.now().date()
    held = {"harbour.com": {name: today - timedelta(days=days) for name, days in fields.items()}}
    day = today - timedelta(days=ago)
    assert await found_for(alice, held=held, domain="harbour.com", date=str(day)) == expected


@pytest.mark.parametrize(
    ("registrar", "provider", "confidence"),
    [
        ("NameSilo", "namesilo", "1.00"),
        ("NAMESILO, LLC", "namesilo", "1.00"),
        ("Porkbun", "namesilo", "0.95"),
        (None, "namesilo", "0.95"),
        ("Dock", "manual:dock", "1.00"),
    ],
)
async def test_the_registrar_of_a_charge(
    alice: Person, registrar: str | None, provider: str, confidence: str
) -> None:
    await add_domains(alice, "harbour.com", registrar=registrar)
    await bill(alice, line("10.00", "harbour.com"), provider=provider)
    assert [each["match"]["confidence"] for each in (await charges(alice))["items"]] == [confidence]


async def test_two_names_in_a_description_are_suggested(alice: Person) -> None:
    held: dict[str, Any] = {"harbour.com": {}, "pier.com": {}}
    found = await found_for(alice, held=held, description="Renewal of harbour.com for the owner of pier.com")
    assert found == ("suggested", "description", "0.50")


async def test_two_domains_of_a_label_are_suggested_alike(alice: Person) -> None:
    held: dict[str, Any] = {"harbour.com": {}, "harbour.net": {}}
    assert await found_for(alice, held=held, description="Renewal of harbour") == ("suggested", "label", "0.30")


async def test_five_candidates_at_most_are_shown(alice: Person) -> None:
    await add_domains(alice, *(f"harbour.{tld}" for tld in ("com", "net", "org", "io", "de", "shop", "info")))
    await bill(alice, line("10.00", description="Renewal of harbour"))
    [item] = (await charges(alice))["items"]
    assert len(item["match"]["candidates"]) == 5


@pytest.mark.parametrize(("least", "applied"), [("0.5", 1), ("0.51", 0)])
async def test_a_suggestion_is_booked_from_its_certainty_on(alice: Person, least: str, applied: int) -> None:
    await add_domains(alice, "harbour.com")
    await bill(alice, line("10.00", description="Renewal of harbour"))
    assert (await apply(alice, min_confidence=least))["applied"] == applied


async def test_equally_certain_domains_are_never_booked(alice: Person) -> None:
    await add_domains(alice, "harbour.com", "harbour.net")
    await bill(alice, line("10.00", description="Renewal of harbour"))
    assert (await apply(alice, min_confidence=0))["applied"] == 0


@given(st.lists(st.decimals(0, 1, places=2), max_size=5), st.decimals(0, 1, places=2))
def test_a_domain_is_accepted_if_certain_and_ahead_of_the_next(sure: list[Decimal], least: Decimal) -> None:
    found = [
        Candidate(domain_id=UUID(int=at), domain=f"d{at}.com", confidence=each, method=MatchMethod.LABEL)
        for at, each in enumerate(sorted(sure, reverse=True))
    ]
    accepted = Match(candidates=found).accepted(least)
    ahead = bool(found) and [each.confidence for each in found].count(found[0].confidence) == 1
    assert (accepted is not None) == (ahead and found[0].confidence >= least)
    assert Match(candidates=found, is_ignored=True).accepted(least) is None


@pytest.mark.parametrize(
    ("kind", "fields", "years"),
    [
        pytest.param("renewal", {"years": 3, "description": "2 years"}, 3, id="the column"),
        pytest.param("renewal", {"description": "harbour.com, 2 years"}, 2, id="the words"),
        pytest.param("renewal", {"description": "harbour.com, 24 months"}, 2, id="months"),
        pytest.param("renewal", {"amount": "20.00"}, 2, id="the price of a year"),
        pytest.param("renewal", {"amount": "20.99"}, 2, id="nearly the price"),
        pytest.param("renewal", {"amount": "21.10"}, None, id="not the price"),
        pytest.param("renewal", {"amount": "110.00"}, None, id="too many years"),
        pytest.param("renewal", {"amount": "20.00", "currency": "EUR"}, None, id="another currency"),
        pytest.param("registration", {"amount": "20.00"}, None, id="a registration has other prices"),
        pytest.param("transfer", {}, 1, id="a transfer"),
        pytest.param("redemption", {"description": "harbour.com, 2 years"}, None, id="a redemption"),
    ],
)
async def test_the_years_of_a_charge(alice: Person, kind: str, fields: dict[str, Any], years: int | None) -> None:
    await add_domains(alice, "harbour.com", renewal_price=Money.of("10.00", "USD"))
    row = {"date": str(clock.now().date()), "domain": "harbour.com", "type": kind, "amount": "10.50"}
    await load(alice, rows=[{**row, **fields}])
    assert [each["years"] for each in (await charges(alice))["items"]] == [years]


@pytest.mark.parametrize(
    ("total", "years", "cost"), [("10.00", 3, "3.33"), ("-10.00", 2, "-5.00"), ("10.05", 2, "5.02")]
)
async def test_the_cost_of_a_year(alice: Person, total: str, years: int, cost: str) -> None:
    await bill(alice, line(total, "harbour.com", years=years))
    assert [each["annual_cost"]["amount"] for each in (await charges(alice))["items"]] == [cost]


@given(st.integers(1, 99), st.sampled_from(["{} years", "{}yr", "{} Year(s)", "{} Jahre", "for {}-year term"]))
def test_years_up_to_ten_are_read(years: int, form: str) -> None:
    assert read_years(form.format(years)) == (years if years <= 10 else None)


@given(st.integers(1, 120))
def test_months_are_whole_years_or_none(months: int) -> None:
    assert read_years(f"{months} months") == (None if months % 12 else months // 12)


AMOUNT = st.decimals("0.01", 5_000, places=2)


@given(st.dictionaries(st.sampled_from(["a.com", "b.com", "c.com", "d.com"]), AMOUNT, min_size=2), AMOUNT)
def test_the_parts_of_a_renewal_have_the_ratio_of_the_prices(prices: dict[str, Decimal], total: Decimal) -> None:
    priced = {name: Money(each, "USD") for name, each in prices.items()}
    parts = charges_of(line(str(total), *prices), origin=origin(), prices=priced, paid={})
    whole, count = sum(prices.values(), Decimal(0)), len(prices)
    assert sum(each.total for each in parts) == total
    for each in parts:
        assert abs(each.total - total * prices[each.domain or ""] / whole) < Decimal("0.01") * count


@given(st.lists(AMOUNT, min_size=2, max_size=6))
def test_a_whole_refund_is_divided_as_the_charge_was(paid: list[Decimal]) -> None:
    amounts = {f"d{at}.com": each for at, each in enumerate(paid)}
    refund = line(str(-sum(paid)), *amounts, kind=ChargeKind.REFUND, parent_order_id="1")
    parts = charges_of(refund, origin=origin(), prices={}, paid={"1": amounts})
    assert {each.domain: -each.total for each in parts} == amounts


@given(st.decimals(-999, 999, places=2), st.integers(1, 9))
def test_tax_and_fees_are_divided_with_the_total(total: Decimal, count: int) -> None:
    names = [f"d{at}.com" for at in range(count)]
    billed = line(str(total), *names, tax=total / 4, fees=Decimal("0.18"))
    parts = charges_of(billed, origin=origin(), prices={}, paid={})
    tax = (total / 4).quantize(Decimal("0.01"))
    assert sum(each.tax for each in parts) == tax
    assert sum(each.fees for each in parts) == Decimal("0.18")


def test_the_first_part_gets_what_cannot_be_divided() -> None:
    assert split(Decimal("-0.05"), "USD", weights=[Decimal(0)] * 3) == [
        *(Decimal("-0.03"), Decimal("-0.01"), Decimal("-0.01")),
    ]


@pytest.mark.parametrize(
    ("difference", "days", "is_linked"),
    [
        pytest.param("0.00", 0, True, id="the same"),
        pytest.param("0.50", 7, True, id="within a week and 5 percent"),
        pytest.param("-0.50", -7, True, id="before it and less"),
        pytest.param("0.51", 0, False, id="more than 5 percent"),
        pytest.param("0.00", 8, False, id="more than a week"),
    ],
)
def test_which_entry_a_charge_is_linked_with(difference: str, days: int, is_linked: bool) -> None:
    entry = recorded_entry(1)
    paid = new_entry("10.00")
    other = replace(
        entry, amount=Decimal("10.00") + Decimal(difference), occurred_on=paid.occurred_on + timedelta(days=days)
    )
    assert Recorded([other]).take(paid) == (other.id if is_linked else None)


@pytest.mark.parametrize(
    "fields",
    [
        {"currency": "EUR"},
        {"kind": EntryKind.TAX},
        {"years": 2},
        {"domain_id": UUID(int=9)},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_an_entry_of_something_else_is_not_linked(fields: dict[str, Any]) -> None:
    assert Recorded([replace(recorded_entry(1), **fields)]).take(new_entry("10.10")) is None


def test_the_closest_day_is_linked_first() -> None:
    paid = new_entry("10.10")
    near = replace(recorded_entry(1), occurred_on=paid.occurred_on + timedelta(days=2))
    far = replace(recorded_entry(2), occurred_on=paid.occurred_on + timedelta(days=3))
    recorded = Recorded([far, near])
    assert [recorded.take(paid) for _ in range(3)] == [near.id, far.id, None]


def test_an_acquisition_is_the_registration_that_is_charged() -> None:
    bought = replace(recorded_entry(1), kind=EntryKind.ACQUISITION)
    assert Recorded([bought]).take(new_entry("10.10", kind=EntryKind.REGISTRATION)) == bought.id


def new_entry(amount: str, **fields: Any) -> NewEntry:
    values: dict[str, Any] = {"kind": EntryKind.RENEWAL, "occurred_on": recorded_entry(0).occurred_on} | fields
    return NewEntry(
        domain_id=ids.NIL, money=Money.of(amount, "USD"), source=EntrySource.SYNC, charge_id=ids.NIL, **values
    )


@given(st.lists(st.tuples(st.decimals(5, 15, places=2), st.integers(-9, 9)), max_size=8), st.integers(1, 8))
def test_an_entry_is_linked_once(recorded: Sequence[tuple[Decimal, int]], count: int) -> None:
    paid = new_entry("10.00")
    entries = [
        replace(recorded_entry(at), amount=amount, occurred_on=paid.occurred_on + timedelta(days=days))
        for at, (amount, days) in enumerate(recorded)
    ]
    near = [
        each
        for each, (amount, days) in zip(entries, recorded, strict=True)
        if abs(days) <= 7 and abs(amount - 10) <= Decimal("0.50")
    ]
    known = Recorded(entries)
    taken = [found for _ in range(count) if (found := known.take(paid)) is not None]
    assert len(taken) == len(set(taken)) == min(count, len(near))
    assert set(taken) <= {each.id for each in near}


def refund(total: str = "-10.00", **fields: Any) -> Any:
    values = {"order_id": "9", "line_id": "r", "kind": ChargeKind.REFUND} | fields
    return replace(charge(99, total), **values)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        pytest.param({"parent_order_id": "1"}, 1, id="by its parent order"),
        pytest.param({"order_id": "1"}, 1, id="by its own order"),
        pytest.param({}, 2, id="by name and amount the last charge"),
        pytest.param({"domain": None}, None, id="without a name and an order none"),
        pytest.param({"domain": "quay.com"}, None, id="another domain"),
        pytest.param({"currency": "EUR"}, None, id="another currency"),
        pytest.param({"provider": "gandi"}, None, id="another registrar"),
        pytest.param({"total": Decimal("-9.00")}, None, id="another amount"),
        pytest.param({"total": Decimal("-9.00"), "parent_order_id": "1"}, 1, id="a part of the order's charge"),
        pytest.param({"domain": None, "parent_order_id": "1"}, 1, id="the only charge of the order"),
    ],
)
def test_which_charge_a_refund_reverses(fields: dict[str, Any], found: int | None) -> None:
    first, second = charge(1, "10.00", order_id="1"), charge(2, "10.00", order_id="2")
    reversed_charge = find_refunded(refund(**fields), Earlier([second, first]))
    assert reversed_charge == {1: first, 2: second, None: None}[found]


@pytest.mark.parametrize(("days", "is_found"), [(0, True), (60, True), (61, False), (-1, False)])
def test_a_refund_without_an_order_is_looked_up_for_sixty_days(days: int, is_found: bool) -> None:
    paid = charge(1, "10.00")
    asked = refund(charged_on=paid.charged_on + timedelta(days=days))
    assert (find_refunded(asked, Earlier([paid])) is not None) == is_found


def test_a_refund_of_an_order_with_several_domains_needs_a_name() -> None:
    paid = [charge(1, "10.00"), charge(2, "10.00", domain="quay.com")]
    assert find_refunded(refund(domain=None, parent_order_id="1"), Earlier(paid)) is None
