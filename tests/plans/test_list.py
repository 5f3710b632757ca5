"""`GET /v1/sandbox/plans`: the account's plans, newest first, without their actions."""

from datetime import timedelta

import pytest

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.plans.planning import MAX_PLANS
from tests.cast import Client, Person
from tests.plans.make import alias, plan, promote

PLANS = "/v1/sandbox/plans"
# Copies of a plan that are newer than it.
COPY = """
    INSERT INTO plans
    SELECT (jsonb_populate_record(
        original,
        jsonb_build_object('id', overlay(id::text placing 'ffffffff' || lpad(number::text, 4, '0') from 25))
    )).*
    FROM plans AS original, generate_series(1, %(count)s) AS number WHERE id = %(id)s
"""


async def test_plans_are_listed_newest_first_in_pages(alice: Person, domain: str) -> None:
    made = [await plan(alice, alias(f"n{at}@{domain}")) for at in range(3)]
    first = (await alice.get(PLANS, params={"limit": 2})).json()
    second = (await alice.get(PLANS, params={"limit": 2, "cursor": first["next_cursor"]})).json()
    listed = [each["id"] for each in [*first["items"], *second["items"]]]
    assert listed == [each["id"] for each in reversed(made)]
    assert second["next_cursor"] is None
    newest = first["items"][0]
    assert (newest["summary"], newest["errors"], newest["promotable"]) == ({"create": 1}, 0, True)
    assert newest["digest"] == made[-1]["digest"]
    assert "actions" not in newest


@pytest.mark.parametrize("status", ["ready", "blocked", "empty", "promoted", "expired"])
async def test_plans_are_filtered_by_status(alice: Person, domain: str, status: str) -> None:
    old = await plan(alice, alias(f"old@{domain}"))
    clock.move(timedelta(hours=25))
    done = await plan(alice, alias(f"done@{domain}"))
    await promote(alice, done)
    ready, blocked = [await plan(alice, alias(each)) for each in (f"ada@{domain}", f"postmaster@{domain}")]
    empty = await plan(alice, name="other")
    by_status = {"expired": old, "promoted": done, "ready": ready, "blocked": blocked, "empty": empty}
    found = (await alice.get(PLANS, params={"status": status})).json()["items"]
    assert [(each["id"], each["status"]) for each in found] == [(by_status[status]["id"], status)]


async def test_bob_sees_none_of_them(alice: Person, bob: Person, domain: str) -> None:
    await plan(alice, alias(f"ada@{domain}"))
    assert (await bob.get(PLANS)).json()["items"] == []


async def test_listing_plans_requires_credentials(anyone: Client) -> None:
    assert (await anyone.get(PLANS)).status_code == 401


@pytest.mark.maximum("plans")
async def test_only_the_newest_plans_and_promoted_ones_are_kept(alice: Person, conn: Conn, domain: str) -> None:
    promoted, open_plan = await plan(alice, alias(f"ada@{domain}")), await plan(alice, alias(f"bob@{domain}"))
    await promote(alice, promoted)
    await conn.execute(COPY, {"id": open_plan["id"], "count": MAX_PLANS})
    await plan(alice, alias(f"cleo@{domain}"))
    rows = await conn.execute(
        "SELECT status, count(*) FROM plans WHERE account_id = %s GROUP BY status", [alice.account.id]
    )
    assert dict(await rows.fetchall()) == {"promoted": 1, "ready": MAX_PLANS}
    assert (await alice.get(f"{PLANS}/{open_plan['id']}")).json()["code"] == "plan_not_found"
