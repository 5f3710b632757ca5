"""The same change of many domains at once: what it would change, and what it changes."""

import asyncio
from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders.kit.db.connections import Conn, Database
from tests.cast import Person
from tests.kit.db.locks import waiting
from tests.plans.make import Json
from tests.portfolio.domains.make import DOMAINS, add

BULK = f"{DOMAINS}/bulk"
NAMES = ["a.com", "b.com"]
SET: Json = {"folder": "Ports", "asking_price": "90.00", "currency": "USD", "auto_renew": True, "status": "listed"}


async def edit(owner: Person, *, status: int = 200, **members: Any) -> Json:
    answer = await owner.post(BULK, json={"domains": NAMES} | members)
    assert answer.status_code == status, answer.text
    edited: Json = answer.json()
    return edited


async def read(owner: Person, name: str = "a.com") -> Json:
    found: Json = (await owner.get(f"{DOMAINS}/{name}")).json()
    return found


@pytest.fixture
async def owner(alice: Person) -> Person:
    """Alice has two domains, and one like the first."""
    await add(alice, "a.com", tags=["sea"])
    await add(alice, "b.com", folder="Ports")
    await add(alice, "twin.com", tags=["sea"])
    return alice


async def test_each_change_is_shown_with_its_values_before_and_after(owner: Person) -> None:
    edited = await edit(owner, set=SET, add_tags=["sale"])

    assert [
        [(each["member"], each["before"], each["after"]) for each in row["changes"]] for row in edited["results"]
    ] == [
        [
            ("status", "owned", "listed"),
            ("auto_renew", None, "true"),
            ("asking_price", None, "90.00 USD"),
            ("tags", "sea", "sea, sale"),
            ("folder", None, "Ports"),
        ],
        [
            ("status", "owned", "listed"),
            ("auto_renew", None, "true"),
            ("asking_price", None, "90.00 USD"),
            ("tags", None, "sale"),
        ],
    ]


async def test_a_dry_run_changes_nothing(owner: Person) -> None:
    before = await read(owner)

    shown = await edit(owner, set=SET, add_tags=["sale"], dry_run=True)

    assert shown["summary"]["updated"] == 2
    assert await read(owner) == before


async def test_a_request_whose_key_was_taken_over_changes_nothing(
    owner: Person, database: Database, conn: Conn
) -> None:
    before = await read(owner)
    body = {"domains": NAMES, "set": SET}
    async with database.transaction() as other:
        await other.execute("SELECT FROM portfolio_domains WHERE domain = 'a.com' FOR UPDATE")
        asked = asyncio.create_task(owner.post(BULK, json=body, headers={"Idempotency-Key": "bulk-1"}))
        while not await waiting(conn) and not asked.done():
            pass
        await conn.execute("UPDATE kit_idempotency SET fence = fence + 1 WHERE key = 'bulk-1'")

    assert ((await asked).status_code, (await asked).json()["code"]) == (409, "idempotency_in_flight")
    assert await read(owner) == before


async def test_what_was_shown_is_done(owner: Person) -> None:
    shown = await edit(owner, set=SET, dry_run=True)
    done = await edit(owner, set=SET, digest=shown["digest"])
    assert done == shown


async def test_a_domain_that_has_changed_since_the_dry_run_refuses_the_change(owner: Person) -> None:
    shown = await edit(owner, set={"folder": "Sea"}, dry_run=True)
    await owner.patch(f"{DOMAINS}/b.com", json={"folder": "Harbours"})

    refused = await edit(owner, set={"folder": "Sea"}, digest=shown["digest"], status=409)

    assert refused["code"] == "domains_changed"
    assert (await read(owner))["folder"] is None


async def test_an_owned_domain_gets_no_counterparty_and_the_others_do(owner: Person) -> None:
    await owner.patch(f"{DOMAINS}/b.com", json={"ownership": "leased"})

    edited = await edit(owner, set={"counterparty": "Carol"})

    assert [each["outcome"] for each in edited["results"]] == ["error", "updated"]
    assert edited["results"][0]["errors"][0]["field"] == "counterparty"


async def test_a_stranger_changes_nothing(owner: Person, bob: Person) -> None:
    edited = await edit(bob, set=SET)
    assert [each["errors"][0]["code"] for each in edited["results"]] == ["portfolio_domain_not_found"] * 2
    assert (await read(owner))["folder"] is None


@pytest.mark.parametrize(
    ("members", "loc"),
    [
        ({}, []),
        ({"set": {"asking_price": "9"}}, ["set", "asking_price"]),
        ({"set": {"ownership": "owned", "counterparty": "Carol"}}, ["set", "counterparty"]),
        ({"set": {"domain": "c.com"}}, ["set", "domain"]),
        ({"set": {"folder": "x"}, "digest": "short"}, ["digest"]),
    ],
)
async def test_a_wrong_request_is_refused(owner: Person, members: Json, loc: list[str]) -> None:
    refused = await edit(owner, **members, status=422)
    assert refused["detail"][0]["loc"] == ["body", *loc]


CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "folder": st.none() | st.sampled_from(["Ports", "Sea"]),
        "asking_price": st.none()
        | st.integers(0, 10**6).map(lambda each: {"amount": f"{each}.50", "currency": "USD"}),
        "auto_renew": st.none() | st.booleans(),
        "expires_at": st.none() | st.dates(date(1980, 1, 1), date(2199, 12, 31)).map(str),
        "notes": st.none() | st.sampled_from(["a", "b"]),
        "pinned": st.booleans(),
    },
)


OWN = {"id", "domain", "domain_unicode", "created_at", "updated_at"}


@given(change=CHANGES.filter(bool))
async def test_a_change_of_many_is_that_of_one(owner: Person, change: Json) -> None:
    """Both domains keep the changes of the cases before."""
    await edit(owner, domains=["a.com"], set=change)
    await owner.patch(f"{DOMAINS}/twin.com", json=change)

    one, other = [await read(owner, name) for name in ("a.com", "twin.com")]
    assert {name: one[name] for name in one.keys() - OWN} == {name: other[name] for name in other.keys() - OWN}
