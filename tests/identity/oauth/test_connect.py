"""A program is connected: the request, the decision, the code, the tokens."""

import re
from datetime import timedelta

import pytest

from builders.app import Service
from builders.identity.oauth.requests import MAX_PARAMETERS
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import Credential, CredentialsInvalid
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.identity.oauth.conftest import Find
from tests.identity.oauth.program import LOOPBACK, URL, Program, Publisher, answer_of, browsing
from tests.plans.approval.make import appoint
from tests.worker import Worker


async def test_a_program_gets_tokens(program: Program) -> None:
    found = await program.connect(mandate={"toolsets": ["names", "plans"]})

    assert (found["token_type"], found["expires_in"], found["scope"]) == ("Bearer", 900, "names plans")
    assert found["access_token"].startswith("svc_agent_")
    assert found["refresh_token"].startswith("svc_refresh_")


async def test_the_connection_has_the_mandate_that_the_person_gave(program: Program, find: Find) -> None:
    mandate = {"toolsets": ["plans"], "max_total_per_plan": [{"amount": "20.00", "currency": "USD"}]}
    access = await find((await program.connect(mandate=mandate, key_kind="live"))["access_token"])

    assert access is not None
    assert (access.kind, access.label) == ("live", "Ada s Editor")
    assert access.mandate["toolsets"] == ["plans"]


async def test_the_answer_names_its_issuer_and_the_state(program: Program) -> None:
    answer = await program.decide(await program.begin())

    assert answer.json()["redirect_url"].startswith(f"{LOOPBACK}?code=svc_code_")
    sent = answer_of(answer.json()["redirect_url"])
    assert (sent["state"], sent["iss"]) == (program.state, URL)


async def test_a_query_of_the_redirect_is_kept(program: Program) -> None:
    where = "http://127.0.0.1:4000/callback?from=us"
    program.publisher.document["redirect_uris"] = ["http://127.0.0.1/callback?from=us"]
    answer = await program.decide(await program.begin(redirect_uri=where))

    assert answer.json()["redirect_url"].startswith(f"{where}&code=")


async def test_a_refusal_goes_back_to_the_program(program: Program) -> None:
    answer = await program.decide(await program.begin(), decision="deny", mandate=None)

    sent = answer_of(answer.json()["redirect_url"])
    assert sent == {"error": "access_denied", "state": program.state, "iss": URL}
    assert answer.json()["connection_id"] is None


async def test_nothing_is_given_by_default(program: Program, find: Find) -> None:
    access = await find((await program.connect())["access_token"])

    assert access is not None
    assert access.kind == "test"
    assert access.mandate["read_only"] is True
    assert access.mandate["max_total_per_plan"] == access.mandate["max_total_per_30_days"] == []
    listed = (await program.browser.get("/v1/auth/connections")).json()["items"]
    ends = clock.now() + timedelta(days=30)
    assert listed[0]["expires_at"][:16] in {
        f"{ends:%Y-%m-%dT%H:%M}",
        f"{ends - timedelta(seconds=30):%Y-%m-%dT%H:%M}",
    }


async def test_an_approval_needs_a_mandate(program: Program) -> None:
    answer = await program.decide(await program.begin(), mandate=None)

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "mandate"]


async def test_asked_scopes_give_nothing(program: Program, find: Find) -> None:
    path = await program.begin(scope="names money mail offline_access")
    assert (await program.browser.get(path)).json()["scopes"] == ["names", "money", "mail", "offline_access"]
    sent = answer_of((await program.decide(path)).json()["redirect_url"])
    access = await find((await program.redeem(sent["code"])).json()["access_token"])

    assert access is not None
    assert access.mandate["toolsets"] == ["names"]


async def test_a_program_that_is_connected_asks_again(program: Program) -> None:
    await program.connect()
    path = await program.begin()  # it leads to the page, and not to the program
    waiting = (await program.browser.get("/v1/auth/oauth/requests")).json()["items"]

    assert [each["id"] for each in waiting] == [path.rpartition("/")[2]]


async def test_a_refusal_is_in_the_audit(program: Program, alice: Person) -> None:
    await program.decide(await program.begin(), decision="deny", mandate=None)
    [entry] = (await alice.get("/v1/account/audit?action=connection.denied")).json()["items"]

    assert (entry["actor"]["type"], entry["about"]["client_id"]) == ("user", program.publisher.client_id)


async def test_a_connection_is_an_event(program: Program, alice: Person, conn: Conn) -> None:
    await program.connect()
    query = "SELECT name FROM kit_outbox WHERE account_id = %s ORDER BY id"
    names = await (await conn.execute(query, [alice.account.id])).fetchall()

    assert [name for (name,) in names][-2:] == ["api_key.created", "connection.created"]


async def test_the_people_who_decide_get_a_message(
    reading: Service, publisher: Publisher, alice: Person, dana: Person, database: Database, settings: Settings
) -> None:
    await appoint(alice, dana)
    async with browsing(reading, alice) as browser:
        program = Program(reading, publisher, browser)
        await program.connect()
        await program.client.aclose()
    worker = Worker(database, settings)

    for address in (alice.account.email, dana.account.email):
        subjects = [each["Subject"] for each in await worker.list_emails(address)]
        assert "A program was connected: Ada s Editor" in subjects


async def test_a_sign_in_carries_only_the_id_of_the_request(program: Program) -> None:
    path = await program.begin(program.client, state="s" * 3_600)
    page = f"/console/connect/{path.rpartition('/')[2]}"
    answer = await program.client.get(page, headers={"Accept": "text/html"})

    assert re.findall(r'name="return_to" value="([^"]*)"', answer.text) == [page]
    assert "s" * 50 not in answer.text


async def test_a_request_is_decided_once(program: Program) -> None:
    path = await program.begin()
    digest = (await program.browser.get(path)).json()["client_digest"]
    await program.decide(path)
    again = await program.browser.post(f"{path}/decision", json={"decision": "deny", "client_digest": digest})

    assert again.json()["code"] == "authorization_request_not_found"


async def test_a_request_ends_after_ten_minutes(program: Program) -> None:
    path = await program.begin()
    with clock.moved(timedelta(minutes=9, seconds=58)):
        assert (await program.browser.get(path)).status_code == 200
    with clock.moved(timedelta(minutes=10)):
        await program.browser.get(path)
        fresh = await program.browser.get("/v1/auth/oauth/requests")
    assert fresh.json()["items"] == []


async def test_a_request_of_4000_characters_survives_the_sign_in(program: Program, window: Client) -> None:
    program.state = "s" * 3_600
    path = await program.begin()
    answer = await window.get(f"/console/connect/{path.rpartition('/')[2]}", headers={"Accept": "text/html"})
    assert answer.status_code == 200
    redirect = (await program.decide(path)).json()["redirect_url"]

    assert answer_of(redirect)["state"] == program.state


async def test_a_longer_request_is_refused(program: Program) -> None:
    sent = program.parameters | {"state": "s" * MAX_PARAMETERS}
    answer = await program.client.get("/oauth/authorize", params=sent)

    assert answer.json()["code"] == "authorization_request_invalid"


async def test_an_access_token_is_a_caller_with_a_mandate(program: Program) -> None:
    token = (await program.connect())["access_token"]
    authenticate = program.service.api.state.authenticate
    caller = await authenticate(Credential("oauth", token), fresh=True)

    assert (caller.method, caller.mode, caller.actor.type, caller.actor.label) == (
        "oauth",
        "test",
        "agent",
        "Ada s Editor",
    )
    assert caller.mandate.toolsets == ("names",)
    assert "aliases:read" in caller.scopes
    assert "keys:write" not in caller.scopes


async def test_an_access_token_does_not_work_at_the_api(program: Program) -> None:
    token = (await program.connect())["access_token"]
    answers = [
        await program.client.get("/v1/aliases", headers={"Authorization": f"Bearer {token}"}),
        await program.client.get("/v1/aliases", headers={"X-API-Key": token}),
        await program.client.get("/v1/aliases", headers={"Cookie": f"svc_access_token={token}"}),
    ]

    assert [each.status_code for each in answers] == [401, 401, 401]


async def test_the_metadata_names_what_is_supported(program: Program) -> None:
    server = (await program.client.get("/.well-known/oauth-authorization-server")).json()
    resource = (await program.client.get("/.well-known/oauth-protected-resource/mcp")).json()

    assert server["issuer"] == URL == resource["authorization_servers"][0]
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["token_endpoint_auth_methods_supported"] == ["none"]
    assert server["authorization_response_iss_parameter_supported"] is True
    assert server["client_id_metadata_document_supported"] is True
    assert resource["resource"] == f"{URL}/mcp"
    assert resource["bearer_methods_supported"] == ["header"]


async def test_pages_of_any_origin_may_read_the_metadata_and_ask_for_tokens(program: Program) -> None:
    origin = {"Origin": "https://editor.example"}
    preflight = origin | {"Access-Control-Request-Method": "POST"}
    answers = [
        await program.client.get("/.well-known/oauth-authorization-server", headers=origin),
        await program.client.get("/.well-known/oauth-protected-resource/mcp", headers=origin),
        await program.client.options("/oauth/token", headers=preflight),
        await program.client.post("/oauth/token", headers=origin),
    ]

    assert {each.headers["access-control-allow-origin"] for each in answers} == {"*"}
    assert not any("access-control-allow-credentials" in each.headers for each in answers)


async def test_a_revocation_reaches_each_process_within_a_second(program: Program, service: Service) -> None:
    """The process of `service` remembers results for a second."""
    token = Credential("oauth", (await program.connect())["access_token"])
    authenticate = service.api.state.authenticate
    await authenticate(token, fresh=False)
    [made] = (await program.browser.get("/v1/auth/connections")).json()["items"]
    async with program.service.api.state.database.transaction() as conn:  # as another process writes it
        await conn.execute("UPDATE identity_keys SET revoked_at = now() WHERE id = %s", [made["id"]])
    clock.move(timedelta(seconds=1))

    with pytest.raises(CredentialsInvalid):
        await authenticate(token, fresh=False)


async def test_the_process_that_revokes_a_connection_refuses_it_at_once(
    program: Program, service: Service, alice: Person
) -> None:
    token = Credential("oauth", (await program.connect())["access_token"])
    authenticate = service.api.state.authenticate
    await authenticate(token, fresh=False)
    [made] = (await program.browser.get("/v1/auth/connections")).json()["items"]
    await alice.delete(f"/v1/auth/connections/{made['id']}")

    with pytest.raises(CredentialsInvalid):
        await authenticate(token, fresh=False)


async def test_a_use_is_recorded(program: Program) -> None:
    found = await program.connect()
    authenticate = program.service.api.state.authenticate
    await authenticate(Credential("oauth", found["access_token"]), fresh=True)
    await authenticate.flush()
    [made] = (await program.browser.get("/v1/auth/connections")).json()["items"]

    assert made["last_used_at"] is not None
