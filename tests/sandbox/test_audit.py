from builders.kit.db.connections import Database
from tests.cast import Person
from tests.sandbox.make import Json, alias, begin, order, plan

PATH = "/v1/account/audit"


async def promotions(person: Person) -> list[Json]:
    found: list[Json] = (await person.get(PATH, params={"action": "plan.promoted"})).json()["items"]
    return found


async def test_a_promotion_stands_in_the_audit_list_once_with_the_key_that_promoted(
    alice: Person, bob: Person, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    first, second = [await alice.post("/v1/sandbox/promote", json=order(planned)) for _ in range(2)]

    [entry] = await promotions(alice)

    assert first.json()["id"] == second.json()["id"] == entry["about"]["promotion_id"]
    assert entry["about"]["plan_id"] == planned["id"]
    assert entry["about"]["resumed"] is False
    assert entry["actor"] == {"type": "key", "id": first.json()["created_by"], "label": None}
    assert entry["request_id"] == first.headers["X-Request-ID"]
    assert await promotions(bob) == []


async def test_a_promotion_that_is_refused_stands_nowhere(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))

    answer = await alice.post("/v1/sandbox/promote", json={**order(planned), "digest": "sha256:" + "0" * 64})

    assert answer.status_code == 409
    assert await promotions(alice) == []


async def test_one_that_was_begun_and_cut_short_is_told(alice: Person, database: Database, domain: str) -> None:
    promotion_id = await begin(database, alice, await plan(alice, alias(f"ada@{domain}")))

    [entry] = await promotions(alice)

    assert entry["about"]["promotion_id"] == str(promotion_id)
    assert entry["actor"]["type"] == "operator"
