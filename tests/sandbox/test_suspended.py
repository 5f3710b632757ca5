"""Names that the operator has suspended: they block nothing, and nothing of them is changed."""

from builders.kit.db.connections import Conn
from tests.cast import Person
from tests.sandbox.make import actions, alias, apply, findings, plan, promote, suspend


async def test_a_suspended_name_is_left_as_it_is_and_warned_of(alice: Person, conn: Conn, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    await suspend(conn, alice, f"ada@{domain}")
    wanted = (alias(f"ada@{domain}", "new@example.net"), alias(f"grace@{domain}", note="x"))
    planned = await plan(alice, *wanted)
    assert (planned["status"], planned["summary"]) == ("ready", {"no_op": 1, "update": 1})
    assert [each["code"] for each in planned["warnings"]] == ["alias_suspended"]
    assert planned["actions"][0]["before"] == planned["actions"][0]["after"]


async def test_a_suspended_name_is_neither_adopted_nor_renamed(alice: Person, conn: Conn, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    await suspend(conn, alice, f"ada@{domain}")
    adopted = await plan(alice, alias(f"ada@{domain}"), name="other", on_conflict="adopt")
    renamed = await plan(alice, alias(f"ada@{domain}", key="other"))
    assert [each["code"] for each in (*adopted["errors"], *renamed["errors"])] == ["alias_suspended"] * 2


async def test_what_the_operator_suspended_is_not_released(alice: Person, conn: Conn, domain: str) -> None:
    """Else claiming it again would end the suspension."""
    promotion = await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    await suspend(conn, alice, f"ada@{domain}")

    planned = await plan(alice, prune=True)
    replaced = await plan(alice, alias(f"linus@{domain}", key="ada"))
    path = f"/v1/aliases/{promotion['steps'][0]['resource_id']}"
    answer = await alice.delete(path)

    assert actions(planned) == [("alias.grace", "delete")]
    assert ("alias.ada", "alias_suspended") in findings(planned["warnings"])
    assert findings(replaced["errors"]) == {("alias.ada", "alias_suspended")}
    assert (answer.status_code, answer.json()["code"]) == (409, "alias_suspended")
    assert (await promote(alice, planned))["status"] == "succeeded"
    assert (await alice.get(path)).json()["status"] == "suspended"


async def test_what_is_suspended_for_an_invoice_can_be_released(alice: Person, conn: Conn, domain: str) -> None:
    promotion = await apply(alice, alias(f"ada@{domain}"))
    await suspend(conn, alice, f"ada@{domain}")
    ada = promotion["steps"][0]["resource_id"]
    await conn.execute("UPDATE aliases SET resumes_as = 'active' WHERE id = %s", [ada])
    await apply(alice, prune=True)
    assert (await alice.get(f"/v1/aliases/{ada}")).json()["status"] == "deleted"
