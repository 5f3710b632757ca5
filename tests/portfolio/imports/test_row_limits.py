"""A portfolio imports 1,000,000 rows in a day at most, and keeps the results of 2,000,000 rows."""

import asyncio
from datetime import timedelta

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.sheets.tables import MAX_ROWS
from builders.kit.values import clock
from builders.portfolio.imports import domain_imports
from tests.cast import Person
from tests.portfolio.imports.make import IMPORT, IMPORTS, Json, counts, load
from tests.portfolio.team.make import code

LARGE = b"domain,notes\n" + b"harbour.com,x\n" * 80_000


async def set_rows(conn: Conn, made: Json, rows: int) -> str:
    """Set the number of rows of an import; return its id."""
    await conn.execute(
        """
        UPDATE portfolio_runs_parts
        SET counts = counts || jsonb_build_object('rows_total', %(rows)s::int, 'rows_done', %(rows)s::int)
        WHERE run_id = %(id)s
        """,
        {"rows": rows, "id": made["import_id"]},
    )
    return str(made["import_id"])


async def import_one(alice: Person) -> Json:
    return await load(alice, [{"domain": "harbour.com"}])


@pytest.mark.maximum("import_rows")
async def test_the_rows_of_a_day_are_limited(alice: Person, conn: Conn) -> None:
    await set_rows(conn, await import_one(alice), domain_imports.MAX_ROWS_PER_DAY - 1)
    assert counts(await load(alice, [{"domain": "pier.com"}])) == {"created": 1}
    refused = await alice.post(IMPORT, json={"rows": [{"domain": "quay.com"}]})
    assert code(refused) == (429, "import_row_limit")
    assert refused.json()["next_action"]
    clock.move(timedelta(days=1, seconds=1))
    assert counts(await load(alice, [{"domain": "quay.com"}])) == {"created": 1}


async def test_large_imports_that_wait_count_as_the_largest_ones(alice: Person, conn: Conn) -> None:
    await set_rows(conn, await import_one(alice), domain_imports.MAX_ROWS_PER_DAY - 2 * MAX_ROWS)
    csv = {"Content-Type": "text/csv"}
    answers = await asyncio.gather(*(alice.post(IMPORT, content=LARGE, headers=csv) for _ in range(3)))
    assert sorted(each.status_code for each in answers) == [200, 200, 429]


@pytest.mark.maximum("import_results")
async def test_the_results_of_the_oldest_imports_are_deleted(
    alice: Person, conn: Conn, database: Database
) -> None:
    made = [await import_one(alice) for _ in range(2)]
    clock.move(timedelta(days=2))
    made += [await import_one(alice) for _ in range(2)]  # they can be undone
    most = domain_imports.MAX_RESULTS
    ids = [await set_rows(conn, each, rows) for each, rows in zip(made, (1, 1, most, 1), strict=True)]
    async with database.transaction() as transaction:
        assert not await domain_imports.prune_imports(transaction)
    listed = [each["import_id"] for each in (await alice.get(IMPORTS)).json()["items"]]
    assert listed == [ids[3], ids[2]]
    assert code(await alice.get(f"{IMPORTS}/{ids[0]}")) == (404, "import_not_found")
