"""`GET /v1/sandbox/status`: the operations of this caller, and the obstacles."""

from datetime import timedelta

from builders.app import Service
from builders.kit.db.connections import Database
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.plans.make import STATUS, Json, alias, apply, plan, start_promotion
from tests.webhooks.make import create


async def status(client: Client) -> Json:
    answer = await client.get(STATUS)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def test_a_live_key_can_plan_and_promote(alice: Person) -> None:
    found = await status(alice)
    assert (found["mode"], found["livemode"]) == ("live", True)
    assert (found["can"], found["reasons"]) == ({"simulate": True, "plan": True, "promote": True}, [])
    assert found["why_not"] == {"simulate": [], "plan": [], "promote": []}


async def test_a_test_key_can_plan(alice: Person) -> None:
    found = await status(alice.test)
    assert (found["mode"], found["livemode"]) == ("test", False)
    assert found["can"] == {"simulate": True, "plan": True, "promote": False}
    assert found["reasons"] == found["why_not"]["promote"] == ["live_key_required"]


async def test_a_session_can_simulate_and_plan(alice: Person, service: Service) -> None:
    async with Client(service, token=(await alice.sign_in()).token) as signed_in:
        found = await status(signed_in)
    assert (found["mode"], found["livemode"]) == ("session", True)
    assert (found["can"], found["reasons"]) == (
        {"simulate": True, "plan": True, "promote": False},
        ["live_key_required"],
    )


async def test_an_operator_session_cannot_simulate_plan_or_promote(alice: Person, service: Service) -> None:
    async with Client(service, token=(await alice.admit_support(may_write=True)).token) as support:
        found = await status(support)
    assert found["can"] == {"simulate": False, "plan": False, "promote": False}
    assert found["why_not"]["simulate"] == found["why_not"]["plan"] == ["impersonation"]
    assert found["why_not"]["promote"] == ["live_key_required", "insufficient_scope", "impersonation"]


async def test_a_key_without_write_scope_can_do_nothing(dana: Person) -> None:
    found = await status(dana)
    assert found["can"] == {"simulate": False, "plan": False, "promote": False}
    assert found["why_not"] == {name: ["insufficient_scope"] for name in ("simulate", "plan", "promote")}
    assert (await status(dana.test))["reasons"] == ["live_key_required", "insufficient_scope"]


async def test_an_account_with_an_unverified_email_can_plan(people: MakePerson) -> None:
    una = await people("una", verified=False)
    found = await status(una)
    assert found["can"] == {"simulate": True, "plan": True, "promote": False}
    assert found["reasons"] == ["email_unverified"]
    assert (await status(una.test))["reasons"] == ["live_key_required", "email_unverified"]


async def test_the_status_requires_credentials(anyone: Client) -> None:
    assert (await anyone.get(STATUS)).status_code == 401


async def test_open_plans_and_running_promotions_are_counted_for_both_keys(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    await plan(alice, alias(f"ada@{domain}"))
    await plan(alice, alias(f"postmaster@{domain}"))
    await plan(alice)
    started = await plan(alice.test, alias(f"grace@{domain}"))
    assert (await status(alice))["counts"] == {"plans_open": 2, "promotions_running": 0}
    await start_promotion(database, alice, started)
    counts = {"plans_open": 1, "promotions_running": 1}
    assert (await status(alice))["counts"] == (await status(alice.test))["counts"] == counts
    assert (await status(bob))["counts"] == {"plans_open": 0, "promotions_running": 0}
    clock.move(timedelta(hours=24))
    assert (await status(alice))["counts"] == {"plans_open": 0, "promotions_running": 1}


async def test_a_promoted_plan_is_not_open(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    assert (await status(alice))["counts"] == {"plans_open": 0, "promotions_running": 0}


async def test_open_plans_are_listed_newest_first(alice: Person, bob: Person, domain: str) -> None:
    planned = [await plan(alice, alias(f"name{at}@{domain}"), name=f"manifest-{at}") for at in range(6)]
    found = (await status(alice.test))["open_plans"]
    assert [each["id"] for each in found] == [each["id"] for each in reversed(planned[1:])]
    assert found[0] == {
        name: planned[-1][name] for name in ("id", "manifest", "status", "created_at", "expires_at")
    }
    assert (await status(bob))["open_plans"] == []


async def test_the_contents_of_the_sandbox_account_are_counted_for_every_key(alice: Person, domain: str) -> None:
    await create(alice.test)
    await create(alice)
    await apply(alice, alias(f"ada@{domain}"))
    for client in (alice, alice.test):
        assert (await status(client))["sandbox"] == {"aliases": 0, "projects": 0, "webhooks": 1}


async def test_limits_and_supported_features_are_listed(alice: Person) -> None:
    found = await status(alice)
    assert found["limits"]["max_resources"] == 2000
    assert found["limits"]["plan_ttl_s"] == 86400
    assert found["limits"]["manifest_bytes"] == 1024 * 1024
    assert (found["limits"]["checks"], found["limits"]["plans_per_minute"]) == (50, 60)
    assert found["supported"]["api_versions"] == ["v1"]
    assert found["supported"]["kinds"] == ["project", "domain", "webhook", "alias"]
    events = {"alias.created", "alias.deleted", "alias.updated", "promotion.completed", "promotion.failed"}
    assert events <= {*found["supported"]["events"]}
