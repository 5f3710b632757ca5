"""Circles of mail that nobody closes alone: a promotion, and what its owner changes while it is under way."""

import asyncio
from uuid import UUID

import pytest

from builders.aliases import loops, service as aliases
from builders.aliases.records import AliasPatch
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import Actor
from builders.kit.http.etags import WriteCondition
from builders.sandbox import service as sandbox
from tests.cast import Client, Person
from tests.kit.db.locks import waiting
from tests.sandbox.make import (
    PROMOTE,
    Domains,
    Json,
    alias,
    apply,
    begin,
    findings,
    order,
    parameters,
    plan,
    promote,
)

ALIASES = "/v1/aliases"
LOOP = "destination_loop"


async def id_of(person: Client, address: str) -> str:
    """The id of one of the person's names."""
    [found] = (await person.get(ALIASES, params={"q": address})).json()["items"]
    name: str = found["id"]
    return name


async def redirect(person: Person, address: str, to: str) -> int:
    """Has a name forward elsewhere, by hand; the status of the answer."""
    path = f"{ALIASES}/{await id_of(person, address)}"
    return (await person.patch(path, json={"destinations": [to]})).status_code


async def going_round(database: Database, person: Person) -> set[str]:
    """The names whose mail never arrives."""
    items = (await person.get(ALIASES)).json()["items"]
    async with database.connection() as conn:
        ids = [UUID(each["id"]) for each in items]
        found = await aliases.list_aliases(conn, account_id=person.account.id, alias_ids=ids)
    return {name.key for name in loops.find_looping_names(loops.map_routes(found))}


async def finish(database: Database, person: Person, promotion_id: UUID) -> Json:
    """Goes on with a promotion whose process died; as its owner reads it."""
    await sandbox.run_promotion(
        database, account_id=person.account.id, promotion_id=promotion_id, parameters=parameters(person)
    )
    read: Json = (await person.get(f"/v1/sandbox/promotions/{promotion_id}")).json()
    return read


def codes(promotion: Json) -> dict[str, str | None]:
    """Why steps failed, by address."""
    return {each["address"]: (each["error"] or {}).get("code") for each in promotion["steps"]}


async def test_an_update_closes_no_circle_with_a_change_made_since_it_began(
    alice: Person, database: Database, domain: str
) -> None:
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await apply(alice, alias(ada), alias(grace), alias(f"linus@{domain}"))
    wanted = alias(ada), alias(grace, ada), alias(f"linus@{domain}", note="new")
    begun = await begin(database, alice, await plan(alice, *wanted), on_error="continue")
    assert await redirect(alice, ada, grace) == 200
    promotion = await finish(database, alice, begun)
    assert codes(promotion) == {"alias.ada": None, "alias.grace": LOOP, "alias.linus": None}
    assert promotion["status"] == "partial"
    assert await going_round(database, alice) == set()
    answer = await alice.post(PROMOTE, json=order(await plan(alice, alias(ada), *wanted[1:]), resume=True))
    assert answer.json()["status"] == "succeeded", "planned again, it turns the change round"


@pytest.mark.parametrize("key", ["grace", "linus"])
async def test_a_claim_closes_no_circle_with_a_change_made_since_it_began(
    alice: Person, database: Database, domain: str, key: str
) -> None:
    """By a new name, and by one that takes another's place."""
    ada, grace, linus = (f"{each}@{domain}" for each in ("ada", "grace", "linus"))
    await apply(alice, alias(ada), alias(linus))
    rest = () if key == "linus" else (alias(linus),)
    begun = await begin(database, alice, await plan(alice, alias(ada), alias(grace, ada, key=key), *rest))
    assert await redirect(alice, ada, f"g.race+x@{domain}") == 200
    assert codes(await finish(database, alice, begun))[f"alias.{key}"] == LOOP
    assert await going_round(database, alice) == set()
    assert await id_of(alice, linus), "nothing of it was done"


async def test_to_take_over_a_name_closes_no_circle_with_a_change_made_since(
    alice: Person, database: Database, domain: str
) -> None:
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await apply(alice, alias(ada), alias(grace), name="other")
    begun = await begin(database, alice, await plan(alice, alias(grace, ada), on_conflict="adopt"))
    assert await redirect(alice, ada, grace) == 200
    assert codes(await finish(database, alice, begun)) == {"alias.grace": LOOP}
    assert await going_round(database, alice) == set()


async def test_a_promotion_waits_for_a_change_under_way_and_sees_it(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await apply(alice, alias(ada), name="other")
    await apply(alice, alias(grace))
    planned = await plan(alice, alias(grace, ada))
    async with database.transaction() as own:
        await aliases.update_alias(
            own,
            account_id=alice.account.id,
            alias_id=UUID(await id_of(alice, ada)),
            actor=Actor(type="user", id=alice.account.id),
            expected=WriteCondition(),
            patch=AliasPatch(destinations=[grace]),
        )
        promoting = asyncio.ensure_future(promote(alice, planned))
        while await waiting(conn) < 1 and not promoting.done():
            pass
    assert codes(await promoting)["alias.grace"] == LOOP
    assert await going_round(database, alice) == set()


async def test_a_change_waits_for_a_promotion_under_way_and_sees_it(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await apply(alice, alias(ada), alias(grace))
    begun = await begin(database, alice, await plan(alice, alias(ada), alias(grace, ada)))
    async with database.transaction() as own:  # in the way of the journal, the last of a batch
        await own.execute("SELECT FROM sandbox_steps WHERE promotion_id = %s FOR UPDATE", [begun])
        promoting = asyncio.ensure_future(finish(database, alice, begun))
        while await waiting(conn) < 1:
            pass
        changing = asyncio.ensure_future(redirect(alice, ada, grace))
        while await waiting(conn) < 2 and not changing.done():
            pass
    assert codes(await promoting) == {"alias.ada": None, "alias.grace": None}
    assert await changing == 422
    assert await going_round(database, alice) == set()


async def test_a_plan_whose_steps_would_close_a_circle_between_them_is_promoted(
    alice: Person, database: Database, domain: str
) -> None:
    """What gives the circle up is done later than what would close it: adopted, replaced and released names."""
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
    assert await going_round(database, alice) == set()


@pytest.mark.parametrize("on_error", ["stop", "continue"])
async def test_what_would_give_a_circle_up_cannot_be_done_and_none_is_closed(
    alice: Person, database: Database, domain: str, on_error: str
) -> None:
    ada, grace = f"ada@{domain}", f"grace@{domain}"
    await apply(alice, alias(ada, grace), alias(grace))
    begun = await begin(database, alice, await plan(alice, alias(grace, ada), prune=True), on_error=on_error)
    answer = await alice.patch(f"{ALIASES}/{await id_of(alice, ada)}", json={"note": "mine"})
    assert answer.status_code == 200
    promotion = await finish(database, alice, begun)
    why = {"alias.ada": "alias_changed", "alias.grace": LOOP if on_error == "continue" else None}
    assert (promotion["status"], codes(promotion)) == ("failed", why)
    assert await going_round(database, alice) == set()


async def test_a_circle_over_names_that_no_manifest_speaks_of_is_seen_when_it_is_planned(
    alice: Person, domains: Domains
) -> None:
    """However far: the manifest names but the first of them."""
    here, there, beyond = [await domains() for _ in range(3)]
    await apply(alice, alias(f"ada@{here}"), alias(f"linus@{beyond}", f"ada@{here}"), name="one")
    await apply(alice, alias(f"grace@{there}", f"linus@{beyond}"), name="two")
    wanted = alias(f"ada@{here}", f"grace@{there}"), alias(f"linus@{beyond}", f"ada@{here}")
    fresh = alias(f"alan@{here}", f"grace@{there}")
    planned = await plan(alice, *wanted, name="one")
    assert {code for _, code in findings(planned["errors"])} == {LOOP}
    assert (await plan(alice, fresh, name="three"))["errors"] == []
    assert await redirect(alice, f"linus@{beyond}", f"alan@{here}") == 200
    planned = await plan(alice, fresh, name="three")
    assert findings(planned["errors"]) == {("alias.alan", LOOP)}
