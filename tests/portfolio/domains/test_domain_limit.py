"""How many domains a portfolio holds at most, however they are added."""

import asyncio
from typing import Any

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.rows import RowOutcome
from builders.portfolio.domains import changes, names
from builders.portfolio.domains.changes import MAX_TEST_DOMAINS
from builders.portfolio.domains.records import NewDomain
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.imports.make import counts, load
from tests.portfolio.team.make import code

INVENTORY = "/v1/portfolio/registrars/inventory/import"
FULL = (409, "portfolio_domain_limit")
LIST_COLUMNS = """
    SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute
    WHERE attrelid = 'portfolio_domains'::regclass AND attnum > 0 AND NOT attisdropped
      AND attname NOT IN ('id', 'domain')
"""
COPY = """
    INSERT INTO portfolio_domains (id, domain, {columns})
    SELECT gen_random_uuid(), 'copy-' || number || '.com', {columns}
    FROM portfolio_domains, generate_series(1, %s) AS number WHERE account_id = %s
"""


async def fill(alice: Person, conn: Conn, *, capacity: int) -> None:
    """Add domains to the portfolio of the test key, until it can hold only some more."""
    await add(alice.test, "first.com")
    [(columns,)] = await (await conn.execute(LIST_COLUMNS)).fetchall()
    copies = MAX_TEST_DOMAINS - capacity - 1
    await conn.execute(COPY.format(columns=columns).encode(), [copies, alice.account.sandbox_id])


@pytest.mark.maximum("test_portfolio_domains")
async def test_concurrent_requests_cannot_exceed_the_maximum_of_domains(alice: Person, conn: Conn) -> None:
    await fill(alice, conn, capacity=2)
    answers = await asyncio.gather(
        *(alice.test.post(DOMAINS, json={"domain": f"one-{at}.com"}) for at in range(5))
    )
    assert sorted(each.status_code for each in answers) == [201, 201, 409, 409, 409]
    assert {code(each) for each in answers if each.status_code == 409} == {FULL}
    assert all("one of test keys 10,000" in each.text for each in answers if each.status_code == 409)
    assert code(await alice.test.post(DOMAINS, json={"domain": "first.com"})) == (409, "duplicate_domain")
    assert (await alice.post(DOMAINS, json={"domain": "one-9.com"})).status_code == 201  # with a live key


async def test_rows_of_an_import_above_the_maximum_are_errors(alice: Person, conn: Conn) -> None:
    await fill(alice, conn, capacity=2)
    imported = await load(
        alice.test, "domain,folder,cost,bought\n" + "".join(f"{each}.com,F,5,2024-01-01\n" for each in ORDERED)
    )
    assert counts(imported) == {"created": 2, "updated": 1, "errors": 2}
    refused = [each for each in imported["results"] if each["outcome"] == "error"]
    assert [each["errors"][0]["code"] for each in refused] == ["portfolio_domain_limit"] * 2
    assert [each["domain"] for each in refused] == ["three.com", "two.com"]


ORDERED = ("first", "four", "one", "three", "two")


async def test_a_list_of_a_registrar_above_the_maximum_names_the_domains_that_were_not_added(
    alice: Person, conn: Conn
) -> None:
    await fill(alice, conn, capacity=1)
    body: dict[str, Any] = {"provider": "manual:park.io", "domains": ["first.com", "a.com", "b.com"]}
    answer = await alice.test.post(INVENTORY, json={**body, "add_to_portfolio": True})
    assert answer.status_code == 200, answer.text
    warned = {each["domain"]: [one["code"] for one in each["warnings"]] for each in answer.json()["results"]}
    assert warned == {"first.com": [], "a.com": [], "b.com": ["portfolio_domain_limit"]}


@pytest.mark.maximum("portfolio_domains")
async def test_a_batch_is_added_up_to_the_maximum(alice: Person, database: Database) -> None:
    new = [NewDomain(name=names.parse_name(f"harbour-{at}.com")) for at in range(4)]

    async def add_two(first: int) -> list[RowOutcome]:
        async with database.transaction() as conn:
            written = await changes.add_domains(
                conn, account_id=alice.account.id, new=new[first : first + 2], max_domains=3
            )
        return [each.outcome for each in written]

    outcomes = [each for pair in await asyncio.gather(add_two(0), add_two(2), add_two(0)) for each in pair]
    assert outcomes.count(RowOutcome.CREATED) == 3
    assert outcomes.count(RowOutcome.ERROR) >= 1
