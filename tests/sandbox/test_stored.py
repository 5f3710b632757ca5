"""Plans that were stored before there were other kinds than aliases are read and promoted as they are."""

import json

from builders.kit.db.connections import Conn
from tests.cast import Person
from tests.sandbox.make import Json, alias, apply, plan, promote

ADDED = ("kind", "after_unknown", "requires", "secret")


def as_before(action: Json) -> Json:
    """An action in the form that the first release stored."""
    old = {name: value for name, value in action.items() if name not in ADDED}
    old["alias_id"] = old.pop("resource_id")
    if old["place"] is not None:
        del old["place"]["is_own"]
    for view in (old["before"], old["after"]):
        if view is not None:
            del view["project_id"]
    return old


async def test_an_old_plan_is_read_and_promoted(alice: Person, conn: Conn, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"), alias(f"linus@{domain}", key="boss"))
    planned = await plan(
        alice,
        alias(f"ada@{domain}", note="x"),
        alias(f"alan@{domain}", key="boss"),
        alias(f"norman@{domain}"),
        prune=True,
    )
    cursor = await conn.execute("SELECT actions FROM sandbox_plans WHERE id = %s", [planned["id"]])
    row = await cursor.fetchone()
    assert row is not None
    old = [as_before(action) for action in row[0]]
    assert {*ADDED, "resource_id"}.isdisjoint(old[0])
    as_old = "UPDATE sandbox_plans SET actions = %s, manifest_digest = NULL WHERE id = %s"
    await conn.execute(as_old, [json.dumps(old), planned["id"]])
    read = (await alice.get(f"/v1/sandbox/plans/{planned['id']}")).json()
    assert read["actions"] == planned["actions"]
    assert (await promote(alice, planned))["summary"] == {"succeeded": 4}
