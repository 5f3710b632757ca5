"""Rows of all nodes that a new column needs filled."""

from builders.kit.db import backfills
from builders.kit.db.connections import Database
from builders.kit.db.migration_files import Backfill
from tests.cast import Person

OLD, NEW = "of the release before", "of this release"


async def test_rows_of_each_node_are_filled(alice: Person, bob: Person, database: Database) -> None:
    for person in (alice, bob):
        for name in ("Lander", "Pier"):
            answer = await person.post("/v1/builders/projects", json={"name": name, "description": OLD})
            assert answer.status_code == 201, answer.text
    wanted = Backfill(
        table="projects",
        key="account_id, id",
        rows=f"description = '{OLD}'",
        column="description",
        value=f"'{NEW}'",
    )

    async with database.transaction() as conn:
        assert await backfills.fill(conn, wanted, batch=3)
        assert not await backfills.fill(conn, wanted, batch=3)

    for person in (alice, bob):
        items = (await person.get("/v1/builders/projects")).json()["items"]
        assert [each["description"] for each in items] == [NEW, NEW]
