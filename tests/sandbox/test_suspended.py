"""Names that the operator has suspended: they block nothing, and nothing of them is changed."""

from builders.kit.db import Conn
from tests.cast import Person
from tests.sandbox.make import alias, apply, plan, suspend


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


async def test_a_suspended_name_can_be_given_up(alice: Person, conn: Conn, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    await suspend(conn, alice, f"ada@{domain}")
    await apply(alice, prune=True)
    assert (await plan(alice))["warnings"] == []
