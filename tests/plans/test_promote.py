"""`POST /v1/sandbox/promote` executes a reviewed plan once, and records it in the audit list."""

from datetime import datetime, timedelta

from builders.app import Service
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from tests.cast import Client, Person
from tests.catalog.make import catch_up
from tests.plans.make import (
    PROMOTE,
    Json,
    alias,
    apply,
    findings,
    list_events,
    make_addresses,
    plan,
    promote,
    promotion_request,
    start_promotion,
    step_statuses,
)

KEYS = "/v1/api-keys"


async def test_a_live_key_promotes_the_plan_of_a_test_key(
    alice: Person, bob: Person, service: Service, domain: str
) -> None:
    """A test key plans, a live key promotes; the name is taken, and promoting again changes nothing."""
    planned = await plan(alice.test, alias(f"ada@{domain}"))
    promotion = await promote(alice, planned)
    assert (promotion["status"], promotion["summary"]) == ("succeeded", {"succeeded": 1})
    assert promotion["plan_id"] == planned["id"]
    await catch_up(service.api.state.catalog)
    check = await bob.get("/v1/catalog/check", params={"local_part": "ada", "domain": domain})
    assert (check.json()["available"], check.json()["reason"]) == (False, "taken")
    assert await promote(alice, planned) == promotion
    seen = await plan(bob, alias(f"ada@{domain}"))
    assert findings(seen["errors"]) == {("alias.ada", "taken")}
    assert (await plan(alice, alias(f"ada@{domain}")))["status"] == "empty"


async def test_a_promotion_can_be_read(alice: Person, domain: str) -> None:
    promotion = await apply(alice, alias(f"ada@{domain}", alice.account.email))
    for client in (alice, alice.test):
        assert (await client.get(f"/v1/sandbox/promotions/{promotion['id']}")).json() == promotion
    (step,) = promotion["steps"]
    assert (step["address"], step["action"], step["attempts"], step["error"]) == ("alias.ada", "create", 1, None)
    assert ids.find(step["resource_id"]) is not None
    assert step["finished_at"] is not None
    read = await alice.get(f"/v1/sandbox/plans/{promotion['plan_id']}")
    assert (read.json()["status"], read.json()["promotable"]) == ("promoted", False)


async def test_a_promotion_records_its_key(alice: Person, domain: str) -> None:
    planned = await plan(alice.test, alias(f"ada@{domain}"))
    promotion = await promote(alice, planned)
    keys = {each["id"]: each["key_kind"] for each in (await alice.get(KEYS)).json()["items"]}
    assert (keys[planned["created_by"]], keys[promotion["created_by"]]) == ("test", "live")


async def test_each_change_is_published_once(alice: Person, conn: Conn, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", "ada@example.net", note="n"), alias(f"grace@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}", "new@example.net"), prune=True)
    for _ in range(3):
        await promote(alice, planned)
    published = await list_events(conn, alice)
    assert [name for name, _ in published] == [
        "alias.created",
        "alias.created",
        "promotion.completed",
        "alias.updated",
        "alias.deleted",
        "promotion.completed",
    ]
    created, updated, deleted = published[0][1], published[3][1], published[4][1]
    assert created["address"] == f"ada@{domain}"
    assert (created["manifest"], created["manifest_key"]) == ("acme-mail", "ada")
    assert (updated["id"], updated["destinations"]) == (created["id"], ["n***@example.net"])
    assert (deleted["address"], deleted["manifest_key"], deleted["enabled"]) == (f"grace@{domain}", "grace", False)
    assert {"succeeded": 2, "failed": 0, "skipped": 0}.items() <= published[5][1].items()


async def test_a_promotion_reaches_the_desired_state(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"), alias(f"linus@{domain}", key="l"))
    wanted = [
        alias(f"ada@{domain}", "b@example.net", "a@example.net", enabled=False, note="n", labels={"x": "y"}),
        alias(f"alan@{domain}", enabled=False),
        alias(f"edsger@{domain}", key="l"),
    ]
    planned = await plan(alice, *wanted, prune=True)
    assert planned["summary"] == {"update": 1, "create": 1, "replace": 1, "delete": 1}
    assert step_statuses(await promote(alice, planned)) == dict.fromkeys(
        ("alias.ada", "alias.alan", "alias.l", "alias.grace"), "succeeded"
    )
    after = await plan(alice, *wanted, prune=True)
    assert after["status"] == "empty"
    assert after["actions"][0]["after"]["destinations"] == ["b@example.net", "a@example.net"]


async def test_an_empty_plan_is_promoted_without_attempts(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    promotion = await promote(alice, await plan(alice, alias(f"ada@{domain}")))
    assert (promotion["status"], promotion["summary"]) == ("succeeded", {"succeeded": 1})
    assert promotion["steps"][0]["attempts"] == 0


async def test_an_expired_promoted_plan_still_returns_its_promotion(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    planned = await plan(alice, prune=True)
    promotion = await promote(alice, planned)
    with clock.moved(timedelta(days=60)):
        answer = await alice.post(PROMOTE, json={"plan_id": planned["id"], "digest": planned["digest"]})
    assert answer.json() == promotion


async def test_two_thousand_names_are_promoted(alice: Person, conn: Conn, domain: str) -> None:
    planned = await plan(alice, *map(alias, make_addresses(2000, domain)))
    promotion = await promote(alice, planned)
    assert promotion["summary"] == {"succeeded": 2000}
    published = [name for name, _ in await list_events(conn, alice)]
    assert (published.count("alias.created"), published.count("promotion.completed")) == (2000, 1)


async def test_times_follow_the_clock(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    with clock.moved(timedelta(hours=3)):
        promotion = await promote(alice, planned)
    created = datetime.fromisoformat(planned["created_at"])
    assert datetime.fromisoformat(promotion["started_at"]) - created > timedelta(hours=3)


async def test_an_idempotency_key_replays_the_response(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    headers = {"Idempotency-Key": str(ids.new())}
    first, second = [await alice.post(PROMOTE, json=promotion_request(planned), headers=headers) for _ in range(2)]
    assert first.json() == second.json()
    assert second.headers["Idempotent-Replayed"] == "true"


async def test_bob_learns_nothing_of_alices_promotion(alice: Person, bob: Person, domain: str) -> None:
    promotion = await apply(alice, alias(f"ada@{domain}"))
    alices, nobodys = [await bob.get(f"/v1/sandbox/promotions/{each}") for each in (promotion["id"], ids.new())]
    assert alices.status_code == nobodys.status_code == 404
    assert alices.json() | {"request_id": ""} == nobodys.json() | {"request_id": ""}
    assert (await bob.get("/v1/sandbox/promotions/x")).json()["code"] == "promotion_not_found"


async def test_dana_can_read_promotions_but_not_promote(dana: Person) -> None:
    answer = await dana.post(PROMOTE, json={"plan_id": str(ids.new()), "digest": "sha256:0"})
    assert (answer.status_code, answer.json()["code"]) == (403, "insufficient_scope")
    assert answer.json()["scope"] == "sandbox:promote"
    assert (await dana.get(f"/v1/sandbox/promotions/{ids.new()}")).status_code == 404


async def test_promoting_requires_credentials(anyone: Client) -> None:
    assert (await anyone.post(PROMOTE, json={"plan_id": "x", "digest": "x"})).status_code == 401
    assert (await anyone.get(f"/v1/sandbox/promotions/{ids.new()}")).status_code == 401


PATH = "/v1/account/audit"


async def promotions(person: Person) -> list[Json]:
    found: list[Json] = (await person.get(PATH, params={"action": "plan.promoted"})).json()["items"]
    return found


async def test_a_promotion_is_audited_once_with_its_key(alice: Person, bob: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    first, second = [await alice.post("/v1/sandbox/promote", json=promotion_request(planned)) for _ in range(2)]

    [entry] = await promotions(alice)

    assert first.json()["id"] == second.json()["id"] == entry["about"]["promotion_id"]
    assert entry["about"]["plan_id"] == planned["id"]
    assert entry["about"]["resumed"] is False
    assert entry["actor"] == {"type": "key", "id": first.json()["created_by"], "label": None}
    assert entry["request_id"] == first.headers["X-Request-ID"]
    assert await promotions(bob) == []


async def test_a_refused_promotion_is_not_audited(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))

    answer = await alice.post(
        "/v1/sandbox/promote", json={**promotion_request(planned), "digest": "sha256:" + "0" * 64}
    )

    assert answer.status_code == 409
    assert await promotions(alice) == []


async def test_an_interrupted_promotion_is_audited(alice: Person, database: Database, domain: str) -> None:
    promotion_id = await start_promotion(database, alice, await plan(alice, alias(f"ada@{domain}")))

    [entry] = await promotions(alice)

    assert entry["about"]["promotion_id"] == str(promotion_id)
    assert entry["actor"]["type"] == "operator"
