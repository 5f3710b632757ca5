"""What a mandate changes directly and by plans: resources of its projects, and nobody new outside."""

import pytest

from builders.kit.db.connections import Conn
from builders.kit.values import ids
from tests.cast import Person
from tests.mandates import confirm, machine, reason, refused, send
from tests.plans.make import alias, apply, full_manifest, plan, plan_manifest


async def make_project(alice: Person, name: str) -> str:
    made: str = (await alice.post("/v1/builders/projects", json={"name": name})).json()["id"]
    return made


async def test_a_mandate_of_a_project_claims_names_of_it(alice: Person, domain: str) -> None:
    project = await make_project(alice, "Lander")
    agent = await machine(alice, projects=[project])
    answer = await send(agent, await plan(alice, alias(f"ada@{domain}", project=project)))
    assert answer.json()["status"] == "succeeded"


async def test_a_mandate_of_a_project_claims_no_name_without_one(alice: Person, domain: str) -> None:
    agent = await machine(alice, projects=[await make_project(alice, "Lander")])
    assert reason(await send(agent, await plan(alice, alias(f"ada@{domain}")))) == refused("projects")


@pytest.mark.parametrize("is_into", [True, False], ids=["into", "out of"])
async def test_a_mandate_of_a_project_moves_no_name(alice: Person, domain: str, *, is_into: bool) -> None:
    project, other = await make_project(alice, "Lander"), await make_project(alice, "Other")
    before, after = (other, project) if is_into else (project, other)
    await apply(alice, alias(f"ada@{domain}", project=before))
    agent = await machine(alice, projects=[project])
    answer = await send(agent, await plan(alice, alias(f"ada@{domain}", project=after)))
    assert reason(answer) == refused("projects")


async def test_a_mandate_of_a_project_creates_none(alice: Person) -> None:
    agent = await machine(alice, projects=[await make_project(alice, "Lander")])
    planned = await plan_manifest(alice, full_manifest(projects=[{"key": "new", "name": "New"}]))
    assert reason(await send(agent, planned)) == refused("projects")


@pytest.mark.parametrize(("is_own", "expected"), [(True, 200), (False, 403)])
async def test_a_mandate_of_a_project_changes_its_names(
    alice: Person, domain: str, *, is_own: bool, expected: int
) -> None:
    project = await make_project(alice, "Lander")
    members = {"project": project} if is_own else {}
    promotion = await apply(alice, alias(f"ada@{domain}", **members))
    agent = await machine(alice, projects=[project])
    path = f"/v1/aliases/{promotion['steps'][0]['resource_id']}"
    assert (await agent.patch(path, json={"note": "new"})).status_code == expected
    assert (await agent.delete(path)).status_code == expected


@pytest.mark.parametrize(("is_own", "expected"), [(True, 200), (False, 403)])
async def test_a_mandate_of_a_project_changes_that_project(alice: Person, *, is_own: bool, expected: int) -> None:
    project, other = await make_project(alice, "Lander"), await make_project(alice, "Other")
    agent = await machine(alice, projects=[project])
    path = f"/v1/builders/projects/{project if is_own else other}"
    assert (await agent.patch(path, json={"name": "Renamed"})).status_code == expected
    assert (await agent.delete(path)).status_code == expected


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_direct_write_reaches_nobody_new(
    alice: Person, domain: str, conn: Conn, *, is_known: bool
) -> None:
    promotion = await apply(alice, alias(f"ada@{domain}"), alias(f"bob@{domain}", "bob@example.net"))
    if is_known:
        await confirm(conn, alice, "bob@example.net")
    agent = await machine(alice, outward=False)
    path = f"/v1/aliases/{promotion['steps'][0]['resource_id']}"
    answer = await agent.patch(path, json={"destinations": ["bob@example.net"]})
    assert (answer.status_code, answer.json().get("reason")) == ((200, None) if is_known else (403, "outward"))


async def test_a_webhook_is_created_on_known_hosts_only(alice: Person) -> None:
    body = {"label": "one", "url": "https://93.184.215.14/one", "enabled": True, "events": ["alias.*"]}
    agent, path = await machine(alice, outward=False), "/v1/notifications/webhooks"
    assert reason(await agent.post(path, json=body)) == refused("outward")
    made = (await alice.post(path, json=body)).json()
    assert (await agent.post(path, json=body)).status_code == 200
    changed = await agent.patch(f"{path}/{made['id']}", json={"url": "https://93.184.215.15/one"})
    assert reason(changed) == refused("outward")


async def test_a_domain_is_added_without_a_new_destination(alice: Person) -> None:
    agent = await machine(alice, outward=False)
    body = {"domain": f"own-{ids.new().hex[16:]}.example", "default_destination": "new@example.net"}
    assert reason(await agent.post("/v1/domains", json=body)) == refused("outward")


async def test_a_domain_gets_no_catch_all(alice: Person, own: str) -> None:
    [found] = (await alice.get("/v1/domains", params={"q": own})).json()["items"]
    agent = await machine(alice, outward=False)
    body = {"catch_all": True, "default_destination": alice.account.email}
    assert reason(await agent.patch(f"/v1/domains/{found['id']}", json=body)) == refused("outward")
