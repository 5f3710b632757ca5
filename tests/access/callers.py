"""The callers of the matrix: who asks, with which credential, and what the answer says about their rights."""

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, NamedTuple

import httpx

from builders.app import Service
from builders.identity.records import MAIL_CODE, Preset, SignIn
from builders.identity.scopes import PRESETS, expand
from builders.kit.db.restores import Known
from builders.kit.effects import Effect
from builders.kit.values import clock
from codegen.generate import document
from codegen.snippets import Call, calls
from tests.access.test_modes import MAKERS
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.contract.document import Json, operations
from tests.identity.make import mint
from tests.identity.oauth.program import Program
from tests.identity.oauth.test_suspensions import suspend
from tests.mandates import FREE
from tests.mcp_server.make import message, post
from tests.portfolio.team.make import invite, of
from tests.published import published

OPERATIONS: Mapping[str, Json] = operations(published().document)
YES = "yes"  # the rights suffice
OWN = "own"  # the header of a portfolio is ignored, or the request has no id: the caller's own account is meant
NOT_FOUND = "not found"
PORTFOLIO = "X-Portfolio-Account"
LAST = "POST /v1/auth/logout"  # it ends the session that asks: what follows would be refused
_PARAMETER = re.compile(r"\{\w+\}")


CALLS = {f"{each.operation.method} {each.operation.path}": each for each in calls(document())}
# Of Alice, made with the examples of the document: the path of the request, and that of the list.
MADE = {
    "/v1/account/exports": "/v1/account/exports",
    "/v1/builders/projects": "/v1/builders/projects",
    "/v1/domains": "/v1/domains",
    "/v1/notifications/webhooks": "/v1/notifications/webhooks",
    "/v1/portfolio/domains": "/v1/portfolio/domains",
    "/v1/portfolio/import": "/v1/portfolio/imports",
    "/v1/portfolio/team/invites": "/v1/portfolio/team/invites",
    "/v1/sandbox/plan": "/v1/sandbox/plans",
}
REFUSED_BY_TOOLS = {"operation_unknown", "person_required", "insufficient_scope", "mandate_exceeded"}


class World(NamedTuple):
    """What a caller is made of."""

    service: Service
    people: MakePerson
    program: Program  # that a person connects
    stack: AsyncExitStack  # closes what a caller opens


Ask = Callable[[str], Awaitable[str]]
Caller = Callable[[World], Awaitable[Ask]]


def outcome(answer: httpx.Response) -> str:
    """Return the code of a refusal that concerns rights, else YES: the rest of the request was looked at."""
    body = answer.json() if answer.headers.get("content-type", "").startswith("application/problem+json") else {}
    code = str(body.get("code", ""))
    if code in {"credentials_missing", "credentials_invalid", "insufficient_scope"}:
        assert answer.headers["WWW-Authenticate"].startswith("Bearer ")  # RFC 6750, 3
    if answer.status_code in {401, 403} or code in {"portfolio_not_found", "awaiting_acceptance"}:
        return code if code != "mandate_exceeded" else f"mandate: {body['reason']}"
    assert answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR, answer.text
    return YES


async def send(client: Client, name: str) -> httpx.Response:
    """Send an otherwise invalid request, so that nothing changes: most rights are checked first."""
    method, path = name.split(" ")
    return await client.request(method, _PARAMETER.sub("x", path), content=b"{")


async def send_example(client: Client, call: Call, **path: str) -> httpx.Response:
    """Send the example of an operation, with these parameters of its path."""
    form = {} if call.body is None else {"data" if call.operation.form else "json": call.body}
    address = call.operation.path.format(**{**call.path, **path})
    return await client.request(call.operation.method, address, params=dict(call.query), **form)  # type: ignore[arg-type] # one of two members


async def make_all(world: World, alice: Person) -> Mapping[str, str]:
    """Make resources of Alice; return the id of one for each path of a list."""
    secret = (await mint(alice, preset=Preset.DOMAINER_FULL.value))["secret"]
    domainer = await world.stack.enter_async_context(Client(world.service, secret))
    clients = {Preset.DEVELOPER_FULL: alice, Preset.DOMAINER_FULL: domainer}
    found = {root.rpartition("/")[0]: await make(alice, alice) for root, make in MAKERS.items()}
    for path, listed in MADE.items():
        call = CALLS[f"POST {path}"]
        answer = await send_example(clients[preset_with(call.operation.scope or "")], call)
        assert answer.is_success, answer.text
        made = answer.json()
        found[listed] = made["import_id"] if "import_id" in made else made["id"]
    found["/v1/portfolio/webhooks"] = found["/v1/notifications/webhooks"]
    found["/v1/api-keys"] = (await alice.get("/v1/api-keys")).json()["items"][0]["id"]
    found["/v1/auth/sessions"] = str((await alice.sign_in()).session.id)
    return found


def by(client: Client) -> Ask:
    """Return a caller with one credential."""

    async def ask(name: str) -> str:
        return outcome(await send(client, name))

    return ask


def preset_with(scope: str) -> Preset:
    """Return the preset that has the scope; that of developers if none has."""
    return next((each for each in Preset if scope in expand(PRESETS[each])), Preset.DEVELOPER_FULL)


def by_preset(clients: Mapping[Preset, Client]) -> Ask:
    """Return a caller who takes the key whose preset has the scope of the operation."""
    asks = {preset: by(client) for preset, client in clients.items()}

    async def ask(name: str) -> str:
        return await asks[preset_with(OPERATIONS[name].get("x-scope", ""))](name)

    return ask


async def nobody(world: World) -> Ask:
    """No credential."""
    return by(await world.stack.enter_async_context(Client(world.service)))


async def key(world: World) -> Ask:
    """A live key of a preset that has the scope, if there is one."""
    return by_preset({each: await world.people("alice", each) for each in Preset})


async def key_without_scope(world: World) -> Ask:
    """A live key from which a person has removed the scope of the operation."""
    alice: dict[Preset, Person] = {each: await world.people("alice", each) for each in Preset}
    asks: dict[str, Ask] = {}

    async def ask(name: str) -> str:
        scope = OPERATIONS[name].get("x-scope", "")
        if scope not in asks:
            person = alice[preset_with(scope)]
            made = await mint(person, preset=preset_with(scope).value)
            if scope in expand(PRESETS[preset_with(scope)]):
                async with person.browser() as browser:
                    path = f"/v1/api-keys/{made['id']}/remove-scopes"
                    assert (await browser.post(path, json={"scopes": [scope]})).status_code == 200
            asks[scope] = by(await world.stack.enter_async_context(Client(world.service, made["secret"])))
        return await asks[scope](name)

    return ask


async def test_key(world: World) -> Ask:
    """A test key of a preset that has the scope."""
    return by_preset({each: (await world.people("alice", each)).test for each in Preset})


async def _with_mandate(world: World, **mandate: Any) -> Ask:
    clients = {}
    for preset in Preset:
        person = await world.people("alice", preset)
        made = await mint(person, label="agent", preset=preset.value, mandate=FREE | mandate)
        clients[preset] = await world.stack.enter_async_context(Client(world.service, made["secret"]))
    return by_preset(clients)


async def mandate(world: World) -> Ask:
    """A live key with a mandate for everything that a mandate can allow."""
    return await _with_mandate(world)


async def mandate_read_only(world: World) -> Ask:
    """A live key with a mandate that only reads."""
    return await _with_mandate(world, read_only=True)


async def person(world: World) -> Ask:
    """A person who has just signed in, with the browser."""
    return by(await world.stack.enter_async_context((await world.people("alice")).browser()))


async def person_signed_in_before(world: World) -> Ask:
    """A person who signed in an hour ago."""
    signed_in = SignIn(by=MAIL_CODE, at=clock.now() - timedelta(hours=1))
    return by(await world.stack.enter_async_context((await world.people("alice")).browser(sign_in=signed_in)))


async def token(world: World) -> Ask:
    """The same session as a bearer token, which programs can have."""
    new = await (await world.people("alice")).sign_in()
    return by(await world.stack.enter_async_context(Client(world.service, token=new.token)))


async def support(world: World) -> Ask:
    """Support that reads in the account."""
    new = await (await world.people("alice")).admit_support()
    return by(await world.stack.enter_async_context(Client(world.service, token=new.token)))


async def support_that_writes(world: World) -> Ask:
    """Support with a grant for changes."""
    new = await (await world.people("alice")).admit_support(may_write=True)
    return by(await world.stack.enter_async_context(Client(world.service, token=new.token)))


def _member(role: str | None) -> Caller:
    async def member(world: World) -> Ask:
        alice, charlie = await world.people("alice", Preset.DOMAINER_FULL), await world.people("charlie")
        client = await world.stack.enter_async_context(charlie.browser())
        if role is not None:
            token = (await invite(alice, charlie, role))["accept_token"]
            answer = await client.post("/v1/portfolio/team/accept", json={"token": token})
            assert answer.status_code == 200, answer.text
        client.headers.update(of(alice))

        async def ask(name: str) -> str:
            if any(each["name"] == PORTFOLIO for each in OPERATIONS[name].get("parameters", ())):
                return outcome(await send_example(client, CALLS[name]))  # roles are checked after the form
            found = outcome(await send(client, name))
            return OWN if found == YES else found

        return ask

    member.__doc__ = f"A signed-in {role or 'person'} {'of the team' if role else 'outside the team'}."
    return member


async def stranger(world: World) -> Ask:
    """A live key of another account, with ids of Alice. It gets OWN without one: its answers have none of hers."""
    alice, bob = await world.people("alice"), {each: await world.people("bob", each) for each in Preset}
    ids = await make_all(world, alice)
    roots = {each.operation.path.partition("/{")[0] for each in CALLS.values() if "/{" in each.operation.path}
    assert ids.keys() <= roots

    async def ask(name: str) -> str:
        call = CALLS[name]
        root, _, rest = call.operation.path.partition("/{")
        client = bob[preset_with(OPERATIONS[name].get("x-scope", ""))]
        if not rest and not name.startswith("GET "):
            found = outcome(await send(client, name))
            return OWN if found == YES else found
        path = {rest.partition("}")[0]: ids[root]} if root in ids and rest else {}
        answer = await send_example(client, call, **path)
        assert not [each for each in ids.values() if each in answer.text], answer.text
        if answer.status_code == httpx.codes.NOT_FOUND:
            return NOT_FOUND
        found = outcome(answer)
        return OWN if found == YES else found

    return ask


async def connection_at_v1(world: World) -> Ask:
    """The access token of a program that a person has connected, at the API."""
    token = (await world.program.connect(mandate=FREE, key_kind="live"))["access_token"]
    return by(await world.stack.enter_async_context(Client(world.program.service, token=token)))


async def connection_at_mcp(world: World) -> Ask:
    """The same token at /mcp, with the tools that send an operation."""
    token = (await world.program.connect(mandate=FREE, key_kind="live"))["access_token"]

    async def ask(name: str) -> str:
        operation = OPERATIONS[name]
        reads = operation.get("x-effect") == Effect.READ
        path = {each["name"]: "x" for each in operation.get("parameters", ()) if each["in"] == "path"}
        arguments = {"operation_id": operation["operationId"], "path": path}
        arguments |= {} if reads else {"body": {"nothing": None}}
        tool = "read_operation" if reads else "write_operation"
        sent = message("tools/call", name=tool, arguments=arguments)
        answer = (await post(world.program.service, sent, Authorization=f"Bearer {token}")).json()
        if "error" in answer:
            return str(answer["error"]["data"]["code"])
        result = answer["result"]
        found = result["structuredContent"] if result["isError"] else {}
        return str(found["code"]) if found.get("code") in REFUSED_BY_TOOLS else YES

    return ask


async def suspended(world: World) -> Ask:
    """A live key with the scope, of an account that the operator has suspended."""
    alice = {each: await world.people("alice", each) for each in Preset}
    for each in alice.values():
        await suspend(each)
    return by_preset(alice)


async def restored(world: World) -> Ask:
    """A live key with the scope, at a service that was restored and that nobody has accepted."""
    ask, database = await key(world), world.service.api.state.database
    async with database.connection() as conn:
        await conn.execute("INSERT INTO kit_restores (epoch) VALUES (1790000000)")
    world.service.api.state.restores = Known(database)

    async def accept() -> None:
        async with database.connection() as conn:
            await conn.execute("DELETE FROM kit_restores")
        world.service.api.state.restores = Known(database)

    world.stack.push_async_callback(accept)
    return ask


CALLERS: Mapping[str, Caller] = {
    "nobody": nobody,
    "key": key,
    "key without scope": key_without_scope,
    "test key": test_key,
    "mandate": mandate,
    "read-only mandate": mandate_read_only,
    "person": person,
    "earlier person": person_signed_in_before,
    "token of a session": token,
    **{role: _member(role) for role in ("owner", "admin", "manager", "accountant", "viewer")},
    "no member": _member(None),
    "support": support,
    "support that writes": support_that_writes,
    "connection at /v1": connection_at_v1,
    "connection at /mcp": connection_at_mcp,
    "suspended": suspended,
    "restored": restored,
}
