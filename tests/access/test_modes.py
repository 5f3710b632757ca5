"""A 404 names the other mode when the account has the id there, and reveals nothing of other accounts."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from starlette.types import Message

from tests.aliases.make import Owner, fresh
from tests.cast import Client, Person
from tests.contract.document import operations
from tests.invoices import make as invoices
from tests.published import published
from tests.webhooks import make as webhooks

Json = dict[str, Any]


async def post(client: Client, path: str, body: Json) -> str:
    """Create a resource and return its id."""
    answer = await client.post(path, json=body)
    assert answer.is_success, answer.text
    found: str = answer.json()["id"]
    return found


async def make_project(client: Client) -> str:
    return await post(client, "/v1/builders/projects", {"name": "Harbour"})


async def make_domain(client: Client) -> str:
    return await post(client, "/v1/domains", {"domain": "modes.example"})


async def make_webhook(client: Client) -> str:
    wanted = {"label": "one", "url": "https://hooks.example/in", "enabled": True, "events": ["*"]}
    return await post(client, "/v1/notifications/webhooks", wanted)


def account_of(person: Person, client: Client) -> UUID:
    return person.account.sandbox_id if client is person.test else person.account.id


async def make_alias(person: Person, client: Client) -> str:
    owner = (Owner.of_sandbox if client is person.test else Owner.of)(person.service.api.state.database, person)
    return str(await owner.claim_one("ada", fresh()))


async def make_invoice(person: Person, client: Client) -> str:
    database = person.service.api.state.database
    account_id = account_of(person, client)
    made = await invoices.make_invoice(database, account_id=account_id, is_test=client is person.test)
    return str(made.id)


async def make_delivery(person: Person, client: Client) -> str:
    await webhooks.create(client)
    await webhooks.happen(person.service.api.state.database, account_of(person, client))
    [delivery] = (await client.get(webhooks.DELIVERIES)).json()["items"]
    return str(delivery["id"])


def by_request(make: Callable[[Client], Awaitable[str]]) -> "Make":
    return lambda _, client: make(client)


Make = Callable[[Person, Client], Awaitable[str]]
MAKERS: dict[str, Make] = {
    "/v1/aliases/{alias_id}": make_alias,
    "/v1/invoices/{invoice_id}": make_invoice,
    "/v1/notifications/deliveries/{id}": make_delivery,
    "/v1/builders/projects/{project_id}": by_request(make_project),
    "/v1/domains/{id}": by_request(make_domain),
    "/v1/notifications/webhooks/{webhook_id}": by_request(make_webhook),
}
CHANGES = {
    "/v1/aliases/{alias_id}": {"enabled": False},
    "/v1/builders/projects/{project_id}": {"name": "x"},
    "/v1/domains/{id}": {"catch_all": None},
    "/v1/notifications/webhooks/{webhook_id}": {"enabled": False},
}
# Refused before the id is looked for.
EARLIER = {
    "POST /v1/aliases/{alias_id}/correspondents": "needs a body",
    "DELETE /v1/aliases/{alias_id}/correspondents/{correspondent_id}": "its second id is no id",
    "PUT /v1/aliases/{alias_id}/receive-as-event": "needs a person",
    "GET /v1/aliases/{alias_id}/mail/{message_id}": "needs a scope of no preset",
    "GET /v1/aliases/{alias_id}/mail/{message_id}/attachments/{number}": "as above",
    "GET /v1/aliases/{alias_id}/mail/messages": "as above",
    "POST /v1/aliases/{alias_id}/mail/{message_id}/reply": "as above",
}
CASES = [
    (name.split()[0], name.split()[1], root)
    for name in sorted(operations(published().document))
    for root in MAKERS
    if name.split()[1].startswith(root) and not name.endswith("/replay") and name not in EARLIER
]


@pytest.mark.parametrize(("method", "path", "root"), CASES)
async def test_an_id_of_the_other_mode_is_a_404_that_says_so(
    alice: Person, method: str, path: str, root: str
) -> None:
    for owner, other, mode in ((alice, alice.test, "live"), (alice.test, alice, "test")):
        there = path.replace(root, root[: root.index("{")] + await MAKERS[root](alice, owner))
        own = path.replace(root, "")
        before = await owner.get(there.removesuffix(own))
        answer = await other.request(method, there, json=CHANGES[root] if method == "PATCH" else None)
        after = await owner.get(there.removesuffix(own))

        assert (answer.status_code, answer.json().get("exists_in_mode")) == (404, mode), answer.text
        assert f"{mode} key" in answer.json()["next_action"]
        assert (before.status_code, after.status_code, before.json()) == (200, 200, after.json())  # is not touched


def test_operations_of_each_resource_are_covered() -> None:
    assert {root for *_, root in CASES} == MAKERS.keys()
    assert len(CASES) > 17


@pytest.mark.parametrize("root", MAKERS)
async def test_an_id_of_another_account_is_not_revealed(alice: Person, bob: Person, root: str) -> None:
    path = root[: root.index("{")]
    for owner in (alice, alice.test):
        there = path + await MAKERS[root](alice, owner)
        for stranger in (bob, bob.test):
            answer = await stranger.get(there)
            unknown = await stranger.get(path + "01890a5d-ac96-774b-bcce-b302099a8057")
            assert answer.status_code == unknown.status_code == 404
            assert [answer.json() | {"request_id": ""}] == [unknown.json() | {"request_id": ""}]


async def test_a_session_gets_the_hint_about_the_sandbox(alice: Person) -> None:
    session = await alice.sign_in()
    project_id = await make_project(alice.test)
    async with Client(alice.service, token=session.token) as client:
        answer = await client.get(f"/v1/builders/projects/{project_id}")
    assert (answer.status_code, answer.json()["exists_in_mode"]) == (404, "test")


async def test_an_unknown_id_has_no_mode(alice: Person) -> None:
    for path in ("01890a5d-ac96-774b-bcce-b302099a8057", "x", "%00", "none"):
        answer = await alice.test.get(f"/v1/builders/projects/{path}")
        assert "exists_in_mode" not in answer.json()


async def test_an_undeclared_body_is_not_awaited(alice: Person) -> None:
    """A client that announces a body and does not send it gets its 404 at once."""
    sent: list[Message] = []
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "query_string": b"",
        "path": f"/v1/builders/projects/{await make_project(alice)}",
        "headers": [
            *((b"host", b"builders.test"), (b"x-api-key", (await alice.test.create_key()).encode())),
            *((b"content-type", b"application/json"), (b"content-length", b"100")),
        ],
    }

    async def receive() -> Message:
        raise AssertionError("the body was asked for")

    async def send(message: Message) -> None:
        sent.append(message)

    await alice.service(scope, receive, send)

    assert sent[0]["status"] == 404
    assert b'"exists_in_mode":"live"' in sent[1]["body"]
