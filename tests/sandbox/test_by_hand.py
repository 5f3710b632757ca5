"""What an owner changes or releases by hand while a promotion of the same names is under way: in turn."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import httpx
import pytest

from builders.kit.db.connections import Conn, Database
from tests.cast import Person
from tests.kit.db.locks import waiting
from tests.sandbox.cutter import Cutter
from tests.sandbox.make import PROMOTE, Json, alias, apply, begin, events, order, plan, promote, steps
from tests.sandbox.test_circles_raced import ALIASES, codes, finish, id_of
from tests.sandbox.test_crash import dies
from tests.sandbox.test_simulate_manifest import rehearse


async def shown(person: Person, address: str) -> httpx.Response:
    """One of the person's names."""
    return await person.get(f"{ALIASES}/{await id_of(person, address)}")


@asynccontextmanager
async def in_the_way(database: Database, conn: Conn, alice: Person, of: UUID) -> AsyncIterator[asyncio.Task[Json]]:
    """While a promotion, which is given, has done a batch and cannot write it into its journal."""
    async with database.transaction() as own:
        await own.execute("SELECT FROM sandbox_steps WHERE promotion_id = %s FOR UPDATE", [of])
        promoting = asyncio.create_task(finish(database, alice, of))
        while await waiting(conn) < 1:
            pass
        yield promoting


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_a_version_that_a_promotion_changes_is_seen_no_more(
    alice: Person, database: Database, conn: Conn, domain: str, method: str
) -> None:
    """With If-Match the owner changes what they have seen, or nothing."""
    ada = f"ada@{domain}"
    await apply(alice, alias(ada))
    before = await shown(alice, ada)
    begun = await begin(database, alice, await plan(alice, alias(ada, note="planned")))
    async with in_the_way(database, conn, alice, begun) as promoting:
        body = {"note": "mine"} if method == "PATCH" else None
        path, tag = f"{ALIASES}/{before.json()['id']}", {"If-Match": before.headers["ETag"]}
        asked = asyncio.ensure_future(alice.request(method, path, headers=tag, json=body))
        while await waiting(conn) < 2 and not asked.done():
            pass
    assert (await promoting)["status"] == "succeeded"
    assert ((await asked).status_code, (await asked).json()["code"]) == (412, "version_mismatch")
    after = (await shown(alice, ada)).json()
    assert (after["note"], after["version"], after["status"]) == ("planned", 2, "active")


async def test_a_name_released_while_a_promotion_changes_it_is_changed_and_then_released(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    ada = f"ada@{domain}"
    await apply(alice, alias(ada))
    name = await id_of(alice, ada)
    begun = await begin(database, alice, await plan(alice, alias(ada, note="planned")))
    async with in_the_way(database, conn, alice, begun) as promoting:
        asked = asyncio.ensure_future(alice.delete(f"{ALIASES}/{name}"))
        while await waiting(conn) < 2 and not asked.done():
            pass
    assert ((await promoting)["status"], (await asked).status_code) == ("succeeded", 200)
    gone = (await alice.get(f"{ALIASES}/{name}")).json()
    assert (gone["status"], gone["note"], gone["version"]) == ("deleted", "planned", 3)
    told = [event for event, _ in await events(conn, alice)]
    assert sorted(told[2:]) == ["alias.deleted", "alias.updated", "promotion.completed"]


async def test_a_name_released_before_its_batch_stays_released(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await apply(alice, alias(ada), alias(grace))
    name = await id_of(alice, ada)
    planned = await plan(alice, alias(ada, note="planned"), alias(grace, note="planned"))
    begun = await begin(database, alice, planned, on_error="continue")
    assert (await alice.delete(f"{ALIASES}/{name}")).status_code == 200
    promotion = await finish(database, alice, begun)
    assert codes(promotion) == {"alias.ada": "alias_changed", "alias.grace": None}
    assert (await alice.get(f"{ALIASES}/{name}")).json()["status"] == "deleted"
    answer = await alice.post(PROMOTE, json=order(planned, resume=True))
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_stale")
    told = [event for event, _ in await events(conn, alice)]
    assert told[3:] == ["alias.deleted", "alias.updated", "promotion.failed"]


async def test_of_two_manifests_that_take_over_one_name_one_does(alice: Person, conn: Conn, domain: str) -> None:
    ada = f"ada@{domain}"
    await apply(alice, alias(ada), name="first")
    plans = [await plan(alice, alias(ada), name=name, on_conflict="adopt") for name in ("second", "third")]
    answers = await asyncio.gather(*(alice.post(PROMOTE, json=order(each)) for each in plans))
    assert sorted(each.status_code for each in answers) == [200, 409]
    won = [each.status_code for each in answers].index(200)
    refused = answers[1 - won]
    assert refused.json()["code"] in {"plan_stale", "promotion_running"}
    after = (await shown(alice, ada)).json()
    assert (after["managed_by"]["manifest"], after["version"]) == (["second", "third"][won], 2)
    answer = await alice.post(PROMOTE, json=order(plans[1 - won]))
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_stale")
    told = [event for event, _ in await events(conn, alice)]
    assert told.count("alias.updated") == 1


async def test_a_promotion_that_turns_a_way_round_dies_after_any_of_its_commits(
    alice: Person, frail: Database, cut: Cutter, domain: str
) -> None:
    """All of it is one batch, or mail would go round for as long as nobody goes on with it."""
    for at in (1, 2, 3, 4):
        name = f"of-{at}"
        old, new = f"ada{at}@{domain}", f"grace{at}@{domain}"
        await apply(alice, alias(old, new), name=name)
        turned = await plan(alice, alias(new, old), name=name, prune=True)
        cut.set(after_commit=at)
        died = await dies(frail, alice, turned)
        alone = {each["address"]: each["destinations"] for each in (await alice.get(ALIASES)).json()["items"]}
        assert len([each for each in alone if each in {old, new}]) == 1, "the one or the other, and never both"
        if not died:
            break
        again = await promote(alice, turned)
        assert steps(again) == {
            f"alias.{old.partition('@')[0]}": "succeeded",
            f"alias.{new.partition('@')[0]}": "succeeded",
        }
    assert (at, cut.commits) == (4, 3)  # the beginning, all of it, the end


async def test_a_rehearsal_and_a_change_by_hand_do_not_lock_crosswise(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    """The one has the manifest and wants the name, the other the name and the manifest."""
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await rehearse(alice, alias(ada), alias(grace), persist=True)
    name = await id_of(alice.test, grace)
    async with database.transaction() as own:
        await own.execute("SELECT FROM aliases WHERE id = %s FOR UPDATE", [name])
        changing = asyncio.create_task(alice.test.patch(f"{ALIASES}/{name}", json={"note": "mine"}))
        while await waiting(conn) < 1:
            pass
        rehearsing = asyncio.create_task(rehearse(alice, alias(ada, note="new"), of={"prune": True}, persist=True))
        while await waiting(conn) < 2 and not rehearsing.done():
            pass
    assert (await changing).status_code == 200
    assert codes((await rehearsing)["promotion"]) == {"alias.ada": None, "alias.grace": "alias_changed"}


async def test_a_rehearsal_turns_a_way_round_as_a_promotion_does(alice: Person, domain: str) -> None:
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await rehearse(alice, alias(ada, grace), persist=True)
    found = await rehearse(alice, alias(grace, ada), of={"prune": True}, persist=True)
    assert steps(found["promotion"]) == {"alias.ada": "succeeded", "alias.grace": "succeeded"}
