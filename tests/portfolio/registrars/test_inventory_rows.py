"""The result of each row of an imported list, and what it changes."""

from typing import Any

import pytest

from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.registrars.sync import INVENTORY, Json, ok

IMPORT, CORNER = f"{INVENTORY}/import", "manual:corner"


async def load(person: Person, *rows: Json, **more: Any) -> Json:
    return ok(await person.post(IMPORT, json={"provider": CORNER, "rows": rows, **more}))


async def held(person: Person, domain: str) -> Json:
    [found] = [each for each in ok(await person.get(INVENTORY))["items"] if each["domain"] == domain]
    return dict(found)


def outcomes(imported: Json) -> list[str]:
    return [each["outcome"] for each in imported["results"]]


async def test_a_new_row_is_created(alice: Person) -> None:
    assert outcomes(await load(alice, {"domain": "a.com"})) == ["created"]


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"expires_at": "2027-03-01"},
        {"auto_renew": True},
        {"locked": False},
        {"privacy": True},
        {"nameservers": ["ns1.example.net", "ns2.example.net"]},
        {"renewal_price": "12.50"},
    ],
    ids=str,
)
async def test_a_repeated_row_is_unchanged(alice: Person, row: Json) -> None:
    await load(alice, {"domain": "a.com", **row})
    assert outcomes(await load(alice, {"domain": "a.com", **row})) == ["unchanged"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"expires_at": "2027-03-01"}, {"expires_at": "2028-03-01"}),
        ({"auto_renew": True}, {"auto_renew": False}),
        ({"locked": True}, {"locked": False}),
        ({}, {"privacy": True}),
        ({"renewal_price": "12.50"}, {"renewal_price": "13.50"}),
    ],
)
async def test_a_row_with_another_value_is_updated(alice: Person, first: Json, second: Json) -> None:
    await load(alice, {"domain": "a.com", **first})
    assert outcomes(await load(alice, {"domain": "a.com", **second})) == ["updated"]


@pytest.mark.parametrize("member", ["expires_at", "auto_renew", "locked", "privacy", "nameservers"])
async def test_a_row_without_a_value_keeps_it(alice: Person, member: str) -> None:
    values = {"auto_renew": True, "locked": True, "privacy": False, "nameservers": ["ns1.example.net"]}
    await load(alice, {"domain": "a.com", "expires_at": "2027-03-01", **values})
    before = await held(alice, "a.com")
    await load(alice, {"domain": "a.com"})
    assert (await held(alice, "a.com"))[member] == before[member] is not None


async def test_a_second_row_of_a_domain_adds_to_the_first_one(alice: Person) -> None:
    await load(alice, {"domain": "a.com", "locked": True}, {"domain": "a.com", "auto_renew": True})
    found = await held(alice, "a.com")
    assert (found["locked"], found["auto_renew"]) == (True, True)


async def test_a_second_row_of_a_domain_counts_and_has_a_warning_that_names_the_first(alice: Person) -> None:
    expires = ("2027-03-01", "2028-03-01")
    imported = await load(
        alice, {"domain": "b.com"}, *({"domain": "a.com", "expires_at": each} for each in expires)
    )
    [warning] = imported["results"][2]["warnings"]
    assert (warning["code"], warning["message"]) == (
        "duplicate_row",
        "Row 1 has the same domain. The later row takes precedence.",
    )
    assert (await held(alice, "a.com"))["expires_at"][:10] == expires[1]


async def test_a_bad_row_does_not_affect_the_others(alice: Person) -> None:
    imported = await load(alice, {"domain": "nonsense"}, {"domain": "a.com"})
    assert outcomes(imported) == ["error", "created"]


async def test_a_list_with_a_bad_row_is_not_complete(alice: Person) -> None:
    await load(alice, {"domain": "a.com"})
    imported = await load(alice, {"domain": "nonsense"}, {"domain": "b.com"}, mode="replace_snapshot")
    assert (imported["complete"], imported["missing"]) == (False, 0)


async def test_a_merged_list_marks_nothing_missing(alice: Person) -> None:
    await load(alice, {"domain": "a.com"})
    imported = await load(alice, {"domain": "b.com"})
    assert (imported["complete"], imported["missing"]) == (False, 0)


async def test_a_complete_list_marks_the_others_missing(alice: Person) -> None:
    await load(alice, {"domain": "a.com"})
    assert (await load(alice, {"domain": "b.com"}, mode="replace_snapshot"))["missing"] == 1
    assert (await held(alice, "a.com"))["missing_since"] is not None


async def test_a_missing_domain_that_is_listed_again_is_held(alice: Person) -> None:
    await load(alice, {"domain": "a.com"})
    await load(alice, {"domain": "b.com"}, mode="replace_snapshot")
    await load(alice, {"domain": "a.com"})
    assert (await held(alice, "a.com"))["missing_since"] is None


async def test_a_domain_is_not_added_without_a_request(alice: Person) -> None:
    imported = await load(alice, {"domain": "a.com"})
    assert (imported["added_domains"], ok(await alice.get(DOMAINS))["items"]) == (0, [])


async def test_an_added_domain_has_the_values_of_its_row(alice: Person) -> None:
    row = {"domain": "a.com", "expires_at": "2027-03-01", "auto_renew": False}
    assert (await load(alice, row, add_to_portfolio=True))["added_domains"] == 1
    found = ok(await alice.get(f"{DOMAINS}/a.com"))
    assert (found["registrar"], found["expires_at"][:10], found["auto_renew"]) == ("corner", "2027-03-01", False)


async def test_the_expiry_of_a_domain_is_that_of_the_list(alice: Person) -> None:
    await add(alice, "a.com", expires_at="2026-01-01T00:00:00Z")
    assert (await load(alice, {"domain": "a.com", "expires_at": "2027-03-01"}))["updated_domains"] == 1
    assert ok(await alice.get(f"{DOMAINS}/a.com"))["expires_at"] == "2027-03-01T00:00:00Z"


async def test_a_known_time_of_the_same_day_stays(alice: Person) -> None:
    await add(alice, "a.com", expires_at="2027-03-01T15:30:00Z")
    await load(alice, {"domain": "a.com", "expires_at": "2027-03-01"})
    assert ok(await alice.get(f"{DOMAINS}/a.com"))["expires_at"] == "2027-03-01T15:30:00Z"


async def test_a_registrar_that_a_member_entered_stays(alice: Person) -> None:
    await add(alice, "a.com", registrar="Elsewhere")
    await load(alice, {"domain": "a.com"})
    assert ok(await alice.get(f"{DOMAINS}/a.com"))["registrar"] == "Elsewhere"


async def test_a_dry_run_reports_and_writes_nothing(alice: Person) -> None:
    imported = await load(alice, {"domain": "a.com"}, dry_run=True, add_to_portfolio=True)
    assert (outcomes(imported), imported["added_domains"]) == (["created"], 1)
    assert (ok(await alice.get(INVENTORY))["items"], ok(await alice.get(DOMAINS))["items"]) == ([], [])


async def test_a_dry_run_names_no_new_domain(alice: Person) -> None:
    imported = await load(alice, {"domain": "a.com"}, dry_run=True, add_to_portfolio=True)
    assert imported["results"][0]["id"] is None


async def test_an_empty_list_is_refused_or_changes_nothing(alice: Person) -> None:
    await load(alice, {"domain": "a.com"})
    await alice.post(IMPORT, json={"provider": CORNER, "rows": [], "mode": "replace_snapshot"})
    assert (await held(alice, "a.com"))["missing_since"] is None
