"""What each field of a domain accepts, in a new domain and in a patch alike, and how it is written."""

from typing import Any

import pytest

from builders.kit.values.resources import MONEY, members_of
from builders.portfolio.domains.records import FIELDS, REPORTED, DomainFields
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add

LEASED = {"ownership": "leased", "counterparty": "Carol"}
# Name of the field, what is sent, and what is shown.
ACCEPTED: list[tuple[str, Any, Any]] = [
    ("revenue_share", "0", "0.00"),
    ("revenue_share", 100, "100.00"),
    ("revenue_share", "99.90", "99.90"),
    ("registrar", "  Pork\u0062un  ", "Porkbun"),
    ("registrar", "O\u0308ko", "\u00d6ko"),  # composed
    ("registrar", "x" * 100, "x" * 100),
    ("registered_on", "2024-02-29", "2024-02-29"),
    ("acquired_on", "1985-03-15", "1985-03-15"),
    ("expires_at", "2190-03-01", "2190-03-01T00:00:00Z"),
    ("expires_at", "2190-03-01T01:30:00+02:00", "2190-02-28T23:30:00Z"),
    ("expires_at", "2190-03-01T01:30:00", "2190-03-01T01:30:00Z"),
    ("auto_renew", False, False),
    ("locked", True, True),
    ("privacy", True, True),
    (
        "nameservers",
        ["NS2.Example.com.", "ns1.example.com", "ns2.example.com"],
        ["ns2.example.com", "ns1.example.com"],
    ),
    ("nameservers", ["ns.b\u00fccher.de"], ["ns.xn--bcher-kva.de"]),
    ("nameservers", [f"ns{at}.example.com" for at in range(13)], [f"ns{at}.example.com" for at in range(13)]),
    ("renewal_price", {"amount": "0", "currency": "USD"}, {"amount": "0.00", "currency": "USD"}),
    ("asking_price", {"amount": "1500", "currency": "JPY"}, {"amount": "1500", "currency": "JPY"}),
    ("min_offer", {"amount": "1.5", "currency": "KWD"}, {"amount": "1.500", "currency": "KWD"}),
    ("estimated_value", {"amount": "9" * 15, "currency": "EUR"}, {"amount": "9" * 15 + ".00", "currency": "EUR"}),
    ("tags", [], []),
    ("tags", [" B\u00dcCHER ", "a", "b\u00fccher", "A"], ["b\u00fccher", "a"]),
    ("tags", [f"t{at}" for at in range(50)], [f"t{at}" for at in range(50)]),
    ("folder", " Ports ", "Ports"),
    ("notes", "x" * 5_000, "x" * 5_000),
    ("notes", "a\u202eb\r\n\tc  ", "ab\n    c"),
    ("pinned", True, True),
    ("pinned", False, False),
]
# Name of the field, what is sent, and where in it the error is.
REFUSED: list[tuple[str, Any, list[int | str]]] = [
    ("status", "gone", []),
    ("status", "", []),
    ("ownership", "rented", []),
    ("counterparty", "x" * 101, []),
    ("counterparty", 7, []),
    ("revenue_share", "-0.01", []),
    ("revenue_share", "100.01", []),
    ("revenue_share", "12.345", []),
    ("revenue_share", "half", []),
    ("registrar", "   ", []),
    ("registrar", "x" * 101, []),
    ("registrar", "Pork\u200bbun", []),
    ("registrar", "Pork\nbun", []),
    ("registrar", ["Porkbun"], []),
    ("registered_on", "2023-02-29", []),
    ("registered_on", "2024-03-01T12:00:00Z", []),
    ("acquired_on", "1.3.2024", []),
    ("acquired_on", "0001-01-01", []),
    ("expires_at", "soon", []),
    ("expires_at", "9999-12-31", []),
    ("auto_renew", "true", []),
    ("auto_renew", 1, []),
    ("locked", 0, []),
    ("privacy", "on", []),
    ("pinned", "yes", []),
    ("nameservers", "ns1.example.com", []),
    ("nameservers", ["ns1.example.com", "not a host"], [1]),
    ("nameservers", [""], [0]),
    ("nameservers", [f"ns{at}.example.com" for at in range(14)], []),
    ("renewal_price", {"amount": "-1", "currency": "USD"}, []),
    ("asking_price", {"amount": "1.005", "currency": "USD"}, []),
    ("asking_price", {"amount": "1", "currency": "usd"}, []),
    ("min_offer", {"currency": "USD"}, []),
    ("min_offer", True, []),
    ("estimated_value", "1e3", []),
    ("tags", "port", []),
    ("tags", ["port", "  "], [1]),
    ("tags", ["x" * 51], [0]),
    ("tags", ["a", "b;c"], [1]),
    ("tags", ["a|b"], [0]),
    ("tags", [f"t{at}" for at in range(51)], []),
    ("folder", "", []),
    ("folder", "a\u202eb", []),
    ("notes", "x" * 5_001, []),
    ("notes", " \n ", []),
]


def test_roles_without_finance_see_no_amount() -> None:
    assert all(MONEY in each.marks for each in members_of(DomainFields) if each.is_money)


def test_every_field_has_a_value_that_is_accepted_and_one_that_is_refused() -> None:
    settable = {*FIELDS} - REPORTED
    assert settable - {"status", "ownership", "counterparty"} == {name for name, *_ in ACCEPTED}
    assert settable == {name for name, *_ in REFUSED}


@pytest.mark.parametrize(("name", "sent", "shown"), ACCEPTED)
async def test_a_value_is_written_in_one_form(alice: Person, name: str, sent: Any, shown: Any) -> None:
    lease = LEASED if name == "revenue_share" else {}

    added = await add(alice, **lease, **{name: sent})
    await add(alice, "pier.com", **lease)
    patched = await alice.patch(f"{DOMAINS}/pier.com", json={name: sent})

    assert added[name] == shown
    assert (patched.status_code, patched.json()[name]) == (200, shown)


@pytest.mark.parametrize(("name", "sent", "where"), REFUSED)
async def test_a_value_that_does_not_fit_is_refused_where_it_is(
    alice: Person, name: str, sent: Any, where: list[int | str]
) -> None:
    path = f"{DOMAINS}/{(await add(alice))['id']}"
    before = (await alice.get(path)).json()

    refused = [
        await alice.post(DOMAINS, json={"domain": "pier.com", **LEASED, name: sent}),
        await alice.patch(path, json={"folder": "Ports", **LEASED, name: sent}),
    ]

    for each in refused:
        assert each.status_code == 422, each.text
        [error] = each.json()["detail"]
        assert error["loc"][: 2 + len(where)] == ["body", name, *where]
    assert (await alice.get(path)).json() == before
    assert (await alice.get(f"{DOMAINS}/pier.com")).status_code == 404


CLEARED: dict[str, Any] = {
    "counterparty": "Carol",
    "revenue_share": "30.00",
    "registrar": "Gandi",
    "registered_on": "2020-01-01",
    "acquired_on": "2020-01-01",
    "expires_at": "2190-01-01T00:00:00Z",
    "auto_renew": True,
    "locked": False,
    "privacy": True,
    "nameservers": ["ns1.example.com"],
    "renewal_price": {"amount": "1.00", "currency": "USD"},
    "asking_price": {"amount": "2.00", "currency": "EUR"},
    "min_offer": {"amount": "3", "currency": "JPY"},
    "estimated_value": {"amount": "4.00", "currency": "USD"},
    "tags": ["a"],
    "folder": "Ports",
    "notes": "x",
}
COMPUTED = {
    "expires_at": {"expiry_source", "days_to_expiry", "lifecycle", "drop_dates"},
    "renewal_price": {"renewal_price_base"},
}


@pytest.mark.parametrize("name", CLEARED)
async def test_null_clears_one_field_and_no_other(alice: Person, name: str) -> None:
    added = await add(alice, ownership="leased", **CLEARED)
    assert added[name] == CLEARED[name]

    cleared = (await alice.patch(f"{DOMAINS}/{added['id']}", json={name: None})).json()

    empty: Any = [] if name in {"tags", "nameservers"} else None
    assert cleared[name] == empty
    changed = {each for each in added if added[each] != cleared[each]}
    assert changed - {"updated_at"} - COMPUTED.get(name, set()) == {name}


@pytest.mark.parametrize("name", ["status", "ownership", "pinned"])
async def test_a_field_that_always_has_a_value_is_not_cleared(alice: Person, name: str) -> None:
    path = f"{DOMAINS}/{(await add(alice))['id']}"

    refused = await alice.patch(path, json={name: None})

    [error] = refused.json()["detail"]
    assert (refused.status_code, error["loc"]) == (422, ["body", name])


async def test_a_patch_of_what_was_read_changes_nothing(alice: Person) -> None:
    added = await add(alice, ownership="leased", pinned=True, **CLEARED)
    path = f"{DOMAINS}/{added['id']}"
    read = (await alice.get(path)).json()

    settable = {name: read[name] for name in FIELDS if name not in REPORTED}
    answer = await alice.patch(path, json=settable)

    assert (answer.status_code, answer.json()["warnings"]) == (200, [])
    assert {**read, "warnings": []} == answer.json()


async def test_an_unknown_member_of_a_patch_is_named_with_the_known_one(alice: Person) -> None:
    path = f"{DOMAINS}/{(await add(alice))['id']}"

    answer = await alice.patch(path, json={"foldr": "x", "notes": "y"})

    [warning] = answer.json()["warnings"]
    assert (warning["field"], warning["code"], warning["did_you_mean"]) == ("foldr", "unknown_field", "folder")


async def test_a_patch_of_unknown_members_alone_is_refused(alice: Person) -> None:
    path = f"{DOMAINS}/{(await add(alice))['id']}"

    refused = await alice.patch(path, json={"foldr": "x"})

    [error] = refused.json()["detail"]
    assert (refused.status_code, error["loc"], error["type"]) == (422, ["body", "foldr"], "unknown_field")


@pytest.mark.parametrize("body", [[], "x", None, 7, [{"op": "remove", "path": "/notes"}]])
async def test_what_is_no_object_is_no_patch(alice: Person, body: Any) -> None:
    path = f"{DOMAINS}/{(await add(alice))['id']}"

    assert (await alice.patch(path, json=body)).status_code == 422


@pytest.mark.parametrize("member", ["dry_run", "preview", "validate_only"])
async def test_a_trial_is_refused_and_has_no_effect(alice: Person, member: str) -> None:
    added = await add(alice)

    patched = await alice.patch(f"{DOMAINS}/{added['id']}", json={"notes": "x", member: True})
    posted = await alice.post(DOMAINS, json={"domain": "pier.com", member: True})

    for each in (patched, posted):
        assert (each.status_code, each.json()["detail"][0]["type"]) == (422, "member_unsupported")
    [item] = (await alice.get(DOMAINS)).json()["items"]
    assert (item["domain"], item["notes"]) == ("harbour.com", None)
