"""Projects, domains, webhooks and aliases in one manifest: created, changed and deleted together."""

from typing import Any

from builders.kit.db.connections import Conn
from tests.cast import Person
from tests.plans.make import (
    PLAN,
    Json,
    alias,
    apply_manifest,
    findings,
    full_manifest,
    list_actions,
    list_events,
    plan_manifest,
    promote,
    promotion_request,
    step_statuses,
    unique_domain,
    webhook,
)

PROJECTS, WEBHOOKS = "/v1/builders/projects", "/v1/notifications/webhooks"
MAILBOX = "ops@example.net"


def project(key: str = "acme", **members: Any) -> Json:
    return {"key": key, "name": key.title(), "default_destination": MAILBOX, **members}


async def test_one_promotion_creates_all_kinds_and_replanning_is_empty(
    alice: Person, conn: Conn, domain: str, own: str
) -> None:
    body = full_manifest(
        projects=[project(slug="acme")],
        domains=[{"key": "own", "domain": own, "default_destination": MAILBOX}],
        webhooks=[webhook("main"), webhook("copy", signing_secret_ref="main")],
        aliases=[alias(f"ada@{domain}"), alias(f"grace@{own}")],
        project="acme",
        prune=True,
    )
    planned = await plan_manifest(alice, body)
    assert list_actions(planned) == [
        ("project.acme", "create"),
        ("domain.own", "adopt"),
        ("webhook.main", "create"),
        ("webhook.copy", "create"),
        ("alias.ada", "create"),
        ("alias.grace", "create"),
    ]
    by_address = {each["address"]: each for each in planned["actions"]}
    assert [each["kind"] for each in planned["actions"]] == [
        *["project", "domain", "webhook", "webhook", "alias", "alias"]
    ]
    assert by_address["alias.ada"]["after_unknown"] == ["project_id"]
    assert by_address["alias.ada"]["requires"] == ["project.acme"]
    assert by_address["alias.grace"]["requires"] == ["project.acme", "domain.own"]
    assert by_address["webhook.copy"]["requires"] == ["webhook.main"]
    promotion = await promote(alice, planned)
    assert promotion["summary"] == {"succeeded": 6}
    published = dict(await list_events(conn, alice))["promotion.completed"]
    assert published["kinds"] == {"project": 1, "domain": 1, "webhook": 2, "alias": 2}
    assert (await plan_manifest(alice, body))["status"] == "empty"
    (made,) = (await alice.get(PROJECTS)).json()["items"]
    again = await plan_manifest(alice, body)
    assert {each["after"]["project_id"] for each in again["actions"] if each["kind"] == "alias"} == {made["id"]}
    assert made["managed_by"] == {"manifest": "acme-mail", "key": "acme"}


async def test_deletions_come_last_in_the_opposite_sequence(alice: Person, domain: str, own: str) -> None:
    settings = {"key": "own", "domain": own, "default_destination": MAILBOX}
    members: Json = {"projects": [project()], "domains": [settings], "webhooks": [webhook("main")]}
    await apply_manifest(alice, full_manifest(**members, aliases=[alias(f"ada@{domain}")]))
    left = await plan_manifest(alice, full_manifest(aliases=[alias(f"grace@{domain}")]))
    assert {code for _, code in findings(left["warnings"])} == {"left_alone"}
    planned = await plan_manifest(alice, full_manifest(aliases=[alias(f"grace@{domain}")], prune=True))
    assert list_actions(planned) == [
        ("alias.grace", "create"),
        ("alias.ada", "delete"),
        ("webhook.main", "delete"),
        ("domain.own", "delete"),
        ("project.acme", "delete"),
    ]
    assert planned["confirm_deletes"] == 4
    await promote(alice, planned)
    assert (await plan_manifest(alice, full_manifest(aliases=[alias(f"grace@{domain}")], prune=True)))[
        "status"
    ] == "empty"
    assert (await alice.get(PROJECTS)).json()["items"] == []
    assert (await alice.get(WEBHOOKS)).json()["items"] == []
    (still,) = [each for each in (await alice.get("/v1/domains")).json()["items"] if each["domain"] == own]
    assert (still["status"], still["default_destination"]) == ("live", None)


async def test_only_resources_of_the_same_manifest_are_pruned(alice: Person, domain: str) -> None:
    await alice.post(PROJECTS, json={"name": "By hand"})
    await apply_manifest(alice, full_manifest("one", projects=[project()], webhooks=[webhook("main")]))
    planned = await plan_manifest(alice, full_manifest("two", aliases=[alias(f"ada@{domain}")], prune=True))
    assert list_actions(planned) == [("alias.ada", "create")]


async def test_updates_of_each_kind_list_their_fields(alice: Person, own: str) -> None:
    settings = {"key": "own", "domain": own}
    await apply_manifest(
        alice, full_manifest(projects=[project()], domains=[settings], webhooks=[webhook("main")])
    )
    planned = await plan_manifest(
        alice,
        full_manifest(
            projects=[project(alias_limit=3, slug="other")],
            domains=[{**settings, "default_destination": MAILBOX, "catch_all": True}],
            webhooks=[webhook("main", enabled=False)],
        ),
    )
    assert [each["changed_fields"] for each in planned["actions"]] == [
        ["slug", "alias_limit"],
        ["default_destination", "catch_all"],
        ["enabled"],
    ]
    assert step_statuses(await promote(alice, planned)) == {
        "project.acme": "succeeded",
        "domain.own": "succeeded",
        "webhook.main": "succeeded",
    }


async def test_an_alias_without_destinations_uses_its_projects_default(alice: Person, domain: str) -> None:
    bare = {"key": "ada", "address": f"ada@{domain}"}
    planned = await plan_manifest(
        alice, full_manifest(projects=[project()], aliases=[{**bare, "project": "acme"}])
    )
    assert planned["actions"][1]["after"]["destinations"] == [MAILBOX]
    lost = await plan_manifest(alice, full_manifest(aliases=[bare]))
    assert findings(lost["errors"]) == {("alias.ada", "destination_missing")}


async def test_an_alias_refers_to_a_project_by_key_slug_or_id(alice: Person, domain: str) -> None:
    made = (await alice.post(PROJECTS, json={"name": "By hand", "slug": "by-hand"})).json()
    for reference in ("by-hand", made["id"]):
        planned = await plan_manifest(alice, full_manifest(aliases=[alias(f"ada@{domain}")], project=reference))
        assert planned["actions"][0]["after"]["project_id"] == made["id"]
        assert planned["actions"][0]["requires"] == []
    lost = await plan_manifest(alice, full_manifest(aliases=[alias(f"ada@{domain}", project="nobodys")]))
    assert findings(lost["errors"]) == {("alias.ada", "project_not_found")}


async def test_bobs_project_is_unknown_to_alice(alice: Person, bob: Person, domain: str) -> None:
    bobs = (await bob.post(PROJECTS, json={"name": "His", "slug": "his"})).json()
    planned = await plan_manifest(alice, full_manifest(aliases=[alias(f"ada@{domain}")], project=bobs["id"]))
    assert findings(planned["errors"]) == {("alias.ada", "project_not_found")}


async def test_an_archived_project_refuses_plan_and_promotion(alice: Person, domain: str) -> None:
    made = (await alice.post(PROJECTS, json={"name": "Old", "slug": "old"})).json()
    body = full_manifest(aliases=[alias(f"ada@{domain}")], project="old")
    planned = await plan_manifest(alice, body)
    await alice.delete(f"{PROJECTS}/{made['id']}")
    answers = [
        await alice.post(PLAN, json=body),
        await alice.post("/v1/sandbox/promote", json=promotion_request(planned)),
    ]
    assert [(each.status_code, each.json()["code"]) for each in answers] == [(409, "project_archived")] * 2


async def test_an_update_in_a_project_archived_later_is_refused(alice: Person, domain: str) -> None:
    made = (await alice.post(PROJECTS, json={"name": "Old", "slug": "old"})).json()
    await apply_manifest(alice, full_manifest(aliases=[alias(f"ada@{domain}")], project="old"))
    planned = await plan_manifest(alice, full_manifest(aliases=[alias(f"ada@{domain}", note="x")], project="old"))
    await alice.delete(f"{PROJECTS}/{made['id']}")
    answer = await alice.post("/v1/sandbox/promote", json=promotion_request(planned))
    assert (answer.status_code, answer.json()["code"]) == (409, "project_archived")


async def test_planning_checks_the_limits_of_a_project(alice: Person, domain: str) -> None:
    limited = project(alias_limit=1, allowed_domains=[domain])
    names = [alias(f"ada@{domain}"), alias(f"grace@{domain}"), alias(f"linus@{unique_domain()}")]
    planned = await plan_manifest(alice, full_manifest(projects=[limited], aliases=names[:2], project="acme"))
    assert findings(planned["errors"]) == {("alias.grace", "alias_limit")}
    await apply_manifest(alice, full_manifest(projects=[limited], aliases=names[:1], project="acme"))
    moved = [alias(f"linus@{domain}", key="ada")]
    assert (await plan_manifest(alice, full_manifest(projects=[limited], aliases=moved, project="acme")))[
        "errors"
    ] == []
    elsewhere = {**limited, "allowed_domains": [unique_domain()], "alias_limit": 5}
    planned = await plan_manifest(alice, full_manifest(projects=[elsewhere], aliases=names[:2], project="acme"))
    assert findings(planned["errors"]) == {("alias.grace", "domain_not_allowed")}


async def test_claiming_checks_the_limits_of_a_project(alice: Person, conn: Conn, domain: str) -> None:
    names = [alias(f"ada@{domain}"), alias(f"grace@{domain}")]
    planned = await plan_manifest(alice, full_manifest(projects=[project()], aliases=names, project="acme"))
    await conn.execute(  # as if the limit changed between plan and batch
        "CREATE FUNCTION pg_temp.limited() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN NEW.alias_limit := 1; RETURN NEW; END'"
    )
    await conn.execute(
        "CREATE TRIGGER limited BEFORE INSERT ON projects FOR EACH ROW EXECUTE FUNCTION pg_temp.limited()"
    )
    try:
        promotion = await promote(alice, planned, on_error="continue")
    finally:
        await conn.execute("DROP TRIGGER limited ON projects")
    assert step_statuses(promotion) == {
        "project.acme": "succeeded",
        "alias.ada": "succeeded",
        "alias.grace": "failed",
    }
    assert promotion["steps"][2]["error"]["code"] == "alias_limit"


async def test_a_step_fails_if_a_required_step_failed(alice: Person, conn: Conn, domain: str) -> None:
    planned = await plan_manifest(
        alice,
        full_manifest(
            projects=[project(slug="acme")],
            aliases=[alias(f"ada@{domain}", project="acme"), alias(f"grace@{domain}")],
        ),
    )
    await conn.execute(  # taken during the promotion
        "CREATE FUNCTION pg_temp.squat() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO projects (account_id, id, name, slug, created_at, updated_at)"
        " VALUES (NEW.account_id, gen_random_uuid(), 'Squat', 'acme', now(), now()); RETURN NEW; END $$"
    )
    await conn.execute(
        "CREATE TRIGGER squat AFTER INSERT ON plans_promotions FOR EACH ROW EXECUTE FUNCTION pg_temp.squat()"
    )
    try:
        promotion = await promote(alice, planned, on_error="continue")
    finally:
        await conn.execute("DROP TRIGGER squat ON plans_promotions")
    assert step_statuses(promotion) == {
        "project.acme": "failed",
        "alias.ada": "failed",
        "alias.grace": "succeeded",
    }
    codes = {each["address"]: each["error"] and each["error"]["code"] for each in promotion["steps"]}
    assert codes == {"project.acme": "slug_taken", "alias.ada": "requirement_failed", "alias.grace": None}


async def test_resources_of_another_manifest_are_adopted_on_request(alice: Person, own: str) -> None:
    members: Json = {
        "projects": [project(slug="acme")],
        "domains": [{"key": "own", "domain": own}],
        "webhooks": [webhook("main")],
    }
    await apply_manifest(alice, full_manifest("one", **members))
    refused = await plan_manifest(alice, full_manifest("two", **members))
    assert findings(refused["errors"]) == {
        ("project.acme", "project_exists"),
        ("domain.own", "domain_exists"),
        ("webhook.main", "webhook_exists"),
    }
    adopted = await plan_manifest(alice, full_manifest("two", **members, on_conflict="adopt"))
    assert {action for _, action in list_actions(adopted)} == {"adopt"}
    await promote(alice, adopted)
    assert (await plan_manifest(alice, full_manifest("two", **members)))["status"] == "empty"
    assert (await plan_manifest(alice, full_manifest("one", prune=True)))["actions"] == []


async def test_a_resource_keeps_its_identity_under_another_key(alice: Person) -> None:
    await apply_manifest(alice, full_manifest(projects=[project(slug="acme")], webhooks=[webhook("main")]))
    renamed = full_manifest(
        projects=[project("other", slug="acme")],
        webhooks=[{**webhook("main"), "key": "other"}],
        prune=True,
    )
    planned = await plan_manifest(alice, renamed)
    assert list_actions(planned) == [("project.other", "update"), ("webhook.other", "update")]
    await promote(alice, planned)
    assert (await plan_manifest(alice, renamed))["status"] == "empty"
