"""With `direct_writes` `refuse`, programs change by plans what a manifest can describe; people do it directly."""

import json

import pytest

from builders.identity.records import SessionKind
from builders.kit.values import ids
from tests.cast import Client, Person
from tests.contract.document import operations
from tests.plans.approval.make import set_policy
from tests.plans.make import alias, plan, promote
from tests.published import published

OPERATIONS = operations(published().document)
# The resources of each kind of a manifest.
RESOURCES = ("/v1/builders/projects", "/v1/aliases", "/v1/domains", "/v1/notifications/webhooks")
OTHERS = {
    "POST /v1/aliases/destinations/resend": "sends a confirmation again; no manifest describes a confirmation",
    "POST /v1/aliases/{alias_id}/correspondents": "no manifest describes a correspondent",
    "DELETE /v1/aliases/{alias_id}/correspondents/{correspondent_id}": "as above",
    "PUT /v1/aliases/{alias_id}/receive-as-event": "only a person can do it; a manifest leaves the rule as it is",
    "DELETE /v1/aliases/{alias_id}/receive-as-event": "as above; a program may give its access up",
    "POST /v1/aliases/{alias_id}/mail/{message_id}/reply": "an answer is no resource: `direct_sends` refuses it",
    "POST /v1/aliases/destinations/confirm/page": "the recipient's button, without credentials",
}
CHANGES = sorted(
    name
    for name in OPERATIONS
    if name.split()[0] != "GET" and name.split()[1].startswith(RESOURCES) and name not in OTHERS
)


def example(name: str) -> object:
    """Return an example of the body of an operation, None without a body."""
    content = OPERATIONS[name].get("requestBody", {}).get("content", {}).get("application/json", {})
    reference = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    found = published().document["components"]["schemas"].get(reference, {}).get("examples", [None])
    return found[0]


async def send(client: Client, name: str) -> tuple[int, str | None]:
    method, path = name.split()
    path = "/".join(str(ids.new()) if each.startswith("{") else each for each in path.split("/"))
    body = example(name)
    answer = await client.request(method, path, json=body) if body else await client.request(method, path)
    return answer.status_code, answer.json().get("code")


@pytest.fixture(autouse=True)
async def policy(alice: Person) -> None:
    """Refuse direct writes of Alice's programs."""
    await set_policy(alice, require="never", direct_writes="refuse")


def test_the_operations_are_found() -> None:
    assert len(CHANGES) >= 15
    assert {*OTHERS} <= OPERATIONS.keys()


@pytest.mark.parametrize("name", CHANGES)
async def test_a_program_changes_nothing_directly(alice: Person, name: str) -> None:
    assert await send(alice, name) == (403, "approval_required")
    new = await alice.sign_in()
    async with Client(alice.service, token=new.token) as client:
        assert await send(client, name) == (403, "approval_required")


@pytest.mark.parametrize("name", CHANGES)
async def test_a_test_key_changes_its_sandbox(alice: Person, name: str) -> None:
    assert (await send(alice.test, name))[1] != "approval_required"


@pytest.mark.parametrize("name", sorted(OTHERS))
async def test_what_no_manifest_describes_is_not_refused(alice: Person, name: str) -> None:
    assert (await send(alice, name))[1] != "approval_required"


async def test_each_operation_says_so_in_the_document() -> None:
    unsaid = [name for name in CHANGES if "approval_required" not in json.dumps(OPERATIONS[name]["responses"])]
    assert unsaid == []


async def test_the_refusal_says_how_to_do_it(alice: Person) -> None:
    answer = await alice.post("/v1/builders/projects", json={"name": "Acme"})
    assert "POST /v1/sandbox/plan" in answer.json()["next_action"]


async def test_a_person_changes_a_resource_directly(alice: Person) -> None:
    async with alice.browser() as browser:
        assert (await browser.post("/v1/builders/projects", json={"name": "Acme"})).status_code == 201


async def test_a_session_of_the_command_line_is_no_person(alice: Person) -> None:
    async with alice.browser(kind=SessionKind.TOKEN) as client:
        answer = await client.post("/v1/builders/projects", json={"name": "Acme"})
    assert answer.json()["code"] == "approval_required"


async def test_a_plan_changes_what_a_program_does_not(alice: Person, domain: str) -> None:
    assert (await promote(alice, await plan(alice, alias(f"ada@{domain}"))))["status"] == "succeeded"


async def test_bob_has_a_policy_of_his_own(bob: Person) -> None:
    assert (await bob.post("/v1/builders/projects", json={"name": "Acme"})).status_code == 201
