"""Changes and releases by the owner during a promotion of the same names."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import httpx
import pytest

from builders.kit.db.connections import Conn, Database
from tests.cast import Person
from tests.kit.db.locks import waiting
from tests.plans.failures import FaultyProxy, is_interrupted
from tests.plans.make import (
    PROMOTE,
    Json,
    alias,
    apply,
    list_events,
    plan,
    promote,
    promotion_request,
    start_promotion,
    step_statuses,
)
from tests.plans.test_loop_races import ALIASES, find_alias_id, finish_promotion, step_codes
from tests.plans.test_simulate_manifest import rehearse


async def shown(person: Person, address: str) -> httpx.Response:
    """Read an alias of the person."""
    return await person.get(f"{ALIASES}/{await find_alias_id(person, address)}")


@asynccontextmanager
async def waiting_promotion(
    database: Database, conn: Conn, alice: Person, of: UUID
) -> AsyncIterator[asyncio.Task[Json]]:
    """Run a promotion that has executed a batch and waits to write its journal."""
    async with database.transaction() as own:
        await own.execute("SELECT FROM plans_steps WHERE promotion_id = %s FOR UPDATE", [of])
        promoting = asyncio.create_task(finish_promotion(database, alice, of))
        while await waiting(conn) < 1:
            pass
        yield promoting


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_if_match_fails_after_a_concurrent_promotion(
    alice: Person, database: Database, conn: Conn, domain: str, method: str
) -> None:
    """With If-Match, the owner changes the version that they have read, or nothing."""
    ada = f"ada@{domain}"
    await apply(alice, alias(ada))
    before = await shown(alice, ada)
    started = await start_promotion(database, alice, await plan(alice, alias(ada, note="planned")))
    async with waiting_promotion(database, conn, alice, started) as promoting:
        body = {"note": "mine"} if method == "PATCH" else None
        path, tag = f"{ALIASES}/{before.json()['id']}", {"If-Match": before.headers["ETag"]}
        asked = asyncio.ensure_future(alice.request(method, path, headers=tag, json=body))
        while await waiting(conn) < 2 and not asked.done():
            pass
    assert (await promoting)["status"] == "succeeded"
    assert ((await asked).status_code, (await asked).json()["code"]) == (412, "version_mismatch")
    after = (await shown(alice, ada)).json()
    assert (after["note"], after["version"], after["status"]) == ("planned", 2, "active")


async def test_a_concurrent_release_waits_for_the_update_of_a_promotion(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    ada = f"ada@{domain}"
    await apply(alice, alias(ada))
    name = await find_alias_id(alice, ada)
    started = await start_promotion(database, alice, await plan(alice, alias(ada, note="planned")))
    async with waiting_promotion(database, conn, alice, started) as promoting:
        asked = asyncio.ensure_future(alice.delete(f"{ALIASES}/{name}"))
        while await waiting(conn) < 2 and not asked.done():
            pass
    assert ((await promoting)["status"], (await asked).status_code) == ("succeeded", 200)
    gone = (await alice.get(f"{ALIASES}/{name}")).json()
    assert (gone["status"], gone["note"], gone["version"]) == ("deleted", "planned", 3)
    published = [event for event, _ in await list_events(conn, alice)]
    assert sorted(published[2:]) == ["alias.deleted", "alias.updated", "promotion.completed"]


async def test_a_name_released_before_its_batch_stays_released(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await apply(alice, alias(ada), alias(grace))
    name = await find_alias_id(alice, ada)
    planned = await plan(alice, alias(ada, note="planned"), alias(grace, note="planned"))
    started = await start_promotion(database, alice, planned, on_error="continue")
    assert (await alice.delete(f"{ALIASES}/{name}")).status_code == 200
    promotion = await finish_promotion(database, alice, started)
    assert step_codes(promotion) == {"alias.ada": "alias_changed", "alias.grace": None}
    assert (await alice.get(f"{ALIASES}/{name}")).json()["status"] == "deleted"
    answer = await alice.post(PROMOTE, json=promotion_request(planned, resume=True))
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_stale")
    published = [event for event, _ in await list_events(conn, alice)]
    assert published[3:] == ["alias.deleted", "alias.updated", "promotion.failed"]


async def test_one_of_two_manifests_adopts_a_name(alice: Person, conn: Conn, domain: str) -> None:
    ada = f"ada@{domain}"
    await apply(alice, alias(ada), name="first")
    plans = [await plan(alice, alias(ada), name=name, on_conflict="adopt") for name in ("second", "third")]
    answers = await asyncio.gather(*(alice.post(PROMOTE, json=promotion_request(each)) for each in plans))
    assert sorted(each.status_code for each in answers) == [200, 409]
    won = [each.status_code for each in answers].index(200)
    refused = answers[1 - won]
    assert refused.json()["code"] in {"plan_stale", "promotion_running"}
    after = (await shown(alice, ada)).json()
    assert (after["managed_by"]["manifest"], after["version"]) == (["second", "third"][won], 2)
    answer = await alice.post(PROMOTE, json=promotion_request(plans[1 - won]))
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_stale")
    published = [event for event, _ in await list_events(conn, alice)]
    assert published.count("alias.updated") == 1


async def test_a_promotion_that_reverses_forwarding_survives_a_crash_after_any_commit(
    alice: Person, proxied_database: Database, proxy: FaultyProxy, domain: str
) -> None:
    """All steps are one batch; otherwise an interrupted promotion would leave a loop."""
    for at in (1, 2, 3, 4):
        name = f"of-{at}"
        old, new = f"ada{at}@{domain}", f"grace{at}@{domain}"
        await apply(alice, alias(old, new), name=name)
        turned = await plan(alice, alias(new, old), name=name, prune=True)
        proxy.set(after_commit=at)
        died = await is_interrupted(proxied_database, alice, turned)
        alone = {each["address"]: each["destinations"] for each in (await alice.get(ALIASES)).json()["items"]}
        assert len([each for each in alone if each in {old, new}]) == 1, "either name, never both"
        if not died:
            break
        again = await promote(alice, turned)
        assert step_statuses(again) == {
            f"alias.{old.partition('@')[0]}": "succeeded",
            f"alias.{new.partition('@')[0]}": "succeeded",
        }
    assert (at, proxy.commits) == (3, 2)  # start, and one batch, which completes it


async def test_a_rehearsal_and_an_owners_change_do_not_deadlock(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    """One locks the manifest, then the name; the other locks the name, then the manifest."""
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await rehearse(alice, alias(ada), alias(grace), persist=True)
    name = await find_alias_id(alice.test, grace)
    async with database.transaction() as own:
        await own.execute("SELECT FROM aliases WHERE id = %s FOR UPDATE", [name])
        changing = asyncio.create_task(alice.test.patch(f"{ALIASES}/{name}", json={"note": "mine"}))
        while await waiting(conn) < 1:
            pass
        rehearsing = asyncio.create_task(rehearse(alice, alias(ada, note="new"), of={"prune": True}, persist=True))
        while await waiting(conn) < 2 and not rehearsing.done():
            pass
    assert (await changing).status_code == 200
    assert step_codes((await rehearsing)["promotion"]) == {"alias.ada": None, "alias.grace": "alias_changed"}


async def test_a_rehearsal_reverses_forwarding_as_a_promotion_does(alice: Person, domain: str) -> None:
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await rehearse(alice, alias(ada, grace), persist=True)
    found = await rehearse(alice, alias(grace, ada), of={"prune": True}, persist=True)
    assert step_statuses(found["promotion"]) == {"alias.ada": "succeeded", "alias.grace": "succeeded"}
