"""Forwarding loops that a promotion and a concurrent change of the owner would close together."""

import asyncio
from uuid import UUID

import pytest

from builders.aliases import claims, loops
from builders.kit.callers import Actor
from builders.kit.db.connections import Conn, Database
from builders.kit.http.etags import WriteCondition
from builders.plans.promotion import run
from tests.cast import Client, Person
from tests.kit.db.locks import waiting
from tests.plans.make import (
    PROMOTE,
    Domains,
    Json,
    alias,
    apply,
    findings,
    parameters,
    plan,
    promote,
    promotion_request,
    start_promotion,
)

ALIASES = "/v1/aliases"
LOOP = "destination_loop"


async def find_alias_id(person: Client, address: str) -> str:
    """Return the id of an alias of the person."""
    [found] = (await person.get(ALIASES, params={"q": address})).json()["items"]
    name: str = found["id"]
    return name


async def redirect_alias(person: Person, address: str, to: str) -> int:
    """Change the destination of an alias; return the status of the response."""
    path = f"{ALIASES}/{await find_alias_id(person, address)}"
    return (await person.patch(path, json={"destinations": [to]})).status_code


async def list_looping(database: Database, person: Person) -> set[str]:
    """Return the names whose mail loops."""
    items = (await person.get(ALIASES)).json()["items"]
    async with database.connection() as conn:
        ids = [UUID(each["id"]) for each in items]
        found = await claims.list_aliases(conn, account_id=person.account.id, alias_ids=ids)
    return {name.key for name in loops.list_looping_names(loops.map_routes(found))}


async def finish_promotion(database: Database, person: Person, promotion_id: UUID) -> Json:
    """Continue a promotion whose process stopped; return it as its owner reads it."""
    await run.run_promotion(
        database, account_id=person.account.id, promotion_id=promotion_id, parameters=parameters(person)
    )
    read: Json = (await person.get(f"/v1/sandbox/promotions/{promotion_id}")).json()
    return read


def step_codes(promotion: Json) -> dict[str, str | None]:
    """Return the error codes of steps by address."""
    return {each["address"]: (each["error"] or {}).get("code") for each in promotion["steps"]}


async def test_an_update_closes_no_loop_with_a_later_change(
    alice: Person, database: Database, domain: str
) -> None:
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await apply(alice, alias(ada), alias(grace), alias(f"linus@{domain}"))
    wanted = alias(ada), alias(grace, ada), alias(f"linus@{domain}", note="new")
    started = await start_promotion(database, alice, await plan(alice, *wanted), on_error="continue")
    assert await redirect_alias(alice, ada, grace) == 200
    promotion = await finish_promotion(database, alice, started)
    assert step_codes(promotion) == {"alias.ada": None, "alias.grace": LOOP, "alias.linus": None}
    assert promotion["status"] == "partial"
    assert await list_looping(database, alice) == set()
    answer = await alice.post(
        PROMOTE, json=promotion_request(await plan(alice, alias(ada), *wanted[1:]), resume=True)
    )
    assert answer.json()["status"] == "succeeded", "a new plan reverses the change"


@pytest.mark.parametrize("key", ["grace", "linus"])
async def test_a_claim_closes_no_loop_with_a_later_change(
    alice: Person, database: Database, domain: str, key: str
) -> None:
    """The claim is a new name or a replacement."""
    ada, grace, linus = (f"{each}@{domain}" for each in ("ada", "grace", "linus"))
    await apply(alice, alias(ada), alias(linus))
    rest = () if key == "linus" else (alias(linus),)
    started = await start_promotion(
        database, alice, await plan(alice, alias(ada), alias(grace, ada, key=key), *rest)
    )
    assert await redirect_alias(alice, ada, f"g.race+x@{domain}") == 200
    assert step_codes(await finish_promotion(database, alice, started))[f"alias.{key}"] == LOOP
    assert await list_looping(database, alice) == set()
    assert await find_alias_id(alice, linus), "the batch changed nothing"


async def test_an_adoption_closes_no_loop_with_a_later_change(
    alice: Person, database: Database, domain: str
) -> None:
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await apply(alice, alias(ada), alias(grace), name="other")
    started = await start_promotion(database, alice, await plan(alice, alias(grace, ada), on_conflict="adopt"))
    assert await redirect_alias(alice, ada, grace) == 200
    assert step_codes(await finish_promotion(database, alice, started)) == {"alias.grace": LOOP}
    assert await list_looping(database, alice) == set()


async def test_a_promotion_waits_for_a_concurrent_change_and_sees_it(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await apply(alice, alias(ada), name="other")
    await apply(alice, alias(grace))
    planned = await plan(alice, alias(grace, ada))
    async with database.transaction() as own:
        await claims.update_alias(
            own,
            account_id=alice.account.id,
            alias_id=UUID(await find_alias_id(alice, ada)),
            actor=Actor(type="user", id=alice.account.id),
            expected=WriteCondition(),
            patch={"destinations": [grace]},
        )
        promoting = asyncio.ensure_future(promote(alice, planned))
        while await waiting(conn) < 1 and not promoting.done():
            pass
    assert step_codes(await promoting)["alias.grace"] == LOOP
    assert await list_looping(database, alice) == set()


async def test_a_change_waits_for_a_concurrent_promotion_and_sees_it(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await apply(alice, alias(ada), alias(grace))
    started = await start_promotion(database, alice, await plan(alice, alias(ada), alias(grace, ada)))
    async with database.transaction() as own:  # block the journal, the last write of a batch
        await own.execute("SELECT FROM plans_steps WHERE promotion_id = %s FOR UPDATE", [started])
        promoting = asyncio.ensure_future(finish_promotion(database, alice, started))
        while await waiting(conn) < 1:
            pass
        changing = asyncio.ensure_future(redirect_alias(alice, ada, grace))
        while await waiting(conn) < 2 and not changing.done():
            pass
    assert step_codes(await promoting) == {"alias.ada": None, "alias.grace": None}
    assert await changing == 422
    assert await list_looping(database, alice) == set()


async def test_a_plan_with_a_temporary_loop_between_its_steps_is_promoted(
    alice: Person, database: Database, domain: str
) -> None:
    """The step that opens the loop follows the step that closes it: adopted, replaced and released names."""
    ada, grace, linus = (f"{each}@{domain}" for each in ("ada", "grace", "linus"))
    await apply(alice, alias(ada, grace))
    await apply(alice, alias(grace), name="other")
    released = await plan(alice, alias(grace, ada), prune=True, on_conflict="adopt")
    assert (await promote(alice, released))["status"] == "succeeded"
    await apply(alice, alias(linus, grace), name="other")
    turned = await plan(alice, alias(grace, linus), alias(linus), on_conflict="adopt")
    assert (await promote(alice, turned))["status"] == "succeeded"
    replaced = await plan(alice, alias(f"alan@{domain}", key="grace"), alias(linus, grace))
    assert (await promote(alice, replaced))["status"] == "succeeded"
    assert await list_looping(database, alice) == set()


@pytest.mark.parametrize("on_error", ["stop", "continue"])
async def test_no_loop_remains_if_the_step_that_opens_it_fails(
    alice: Person, database: Database, domain: str, on_error: str
) -> None:
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await apply(alice, alias(ada, grace), alias(grace))
    started = await start_promotion(
        database, alice, await plan(alice, alias(grace, ada), prune=True), on_error=on_error
    )
    answer = await alice.patch(f"{ALIASES}/{await find_alias_id(alice, ada)}", json={"note": "mine"})
    assert answer.status_code == 200
    promotion = await finish_promotion(database, alice, started)
    why = {"alias.ada": "alias_changed", "alias.grace": LOOP if on_error == "continue" else None}
    assert (promotion["status"], step_codes(promotion)) == ("failed", why)
    assert await list_looping(database, alice) == set()


async def test_planning_finds_a_loop_through_names_outside_the_manifest(alice: Person, domains: Domains) -> None:
    """The manifest contains only the first name of the loop."""
    here, there, beyond = [await domains() for _ in range(3)]
    await apply(alice, alias(f"ada@{here}"), alias(f"linus@{beyond}", f"ada@{here}"), name="one")
    await apply(alice, alias(f"grace@{there}", f"linus@{beyond}"), name="two")
    wanted = alias(f"ada@{here}", f"grace@{there}"), alias(f"linus@{beyond}", f"ada@{here}")
    fresh = alias(f"alan@{here}", f"grace@{there}")
    planned = await plan(alice, *wanted, name="one")
    assert {code for _, code in findings(planned["errors"])} == {LOOP}
    assert (await plan(alice, fresh, name="three"))["errors"] == []
    assert await redirect_alias(alice, f"linus@{beyond}", f"alan@{here}") == 200
    planned = await plan(alice, fresh, name="three")
    assert findings(planned["errors"]) == {("alias.alan", LOOP)}
