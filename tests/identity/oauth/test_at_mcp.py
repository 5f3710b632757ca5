"""An access token at /mcp: the tools of its mandate, and nothing else anywhere else."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import httpx
import httpx2
import pytest
from mcp.client import Client as SdkClient
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from mcp.shared.exceptions import MCPError

from builders.app import Service
from builders.identity import keys
from builders.kit.db.connections import Conn
from builders.kit.http.callers import COOKIE
from builders.kit.limits.policies import FAILED_CREDENTIALS
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.identity.conftest import Trust
from tests.identity.issuer_tokens import PATH, bearer, person
from tests.identity.oauth.program import LOOPBACK, URL, Program
from tests.identity.provider import Provider
from tests.mandates import machine
from tests.mcp_server.make import message, post

LIST = message("tools/list")
SEARCH = message("tools/call", name="search_names", arguments={"words": "ada"})
PORTFOLIO = message("tools/call", name="portfolio_summary", arguments={})
PROJECTS = message("tools/call", name="read_operation", arguments={"operation_id": "projects_list_projects"})
METADATA = f"{URL}/.well-known/oauth-protected-resource/mcp"


async def send(program: Program, token: str, body: object = LIST, **headers: str) -> httpx.Response:
    """Send a message as the program does."""
    return await post(program.service, body, Authorization=f"Bearer {token}", **headers)


async def connect(program: Program, *toolsets: str, **changed: Any) -> str:
    """Connect the program; return its access token."""
    found = await program.connect(mandate={"toolsets": toolsets or ("names",)}, **changed)
    return str(found["access_token"])


async def connection_of(program: Program) -> str:
    """Return the path of its connection."""
    [made] = (await program.browser.get("/v1/auth/connections")).json()["items"]
    return f"/v1/auth/connections/{made['id']}"


def tools_of(answer: httpx.Response) -> set[str]:
    return {each["name"] for each in answer.json()["result"]["tools"]}


async def test_a_token_calls_a_tool_of_its_mandate(program: Program) -> None:
    answer = await send(program, await connect(program), SEARCH)

    assert (answer.status_code, answer.json()["result"]["isError"]) == (200, False)


async def test_a_tool_of_another_toolset_is_403_and_names_the_scope(program: Program) -> None:
    answer = await send(program, await connect(program), PORTFOLIO)
    error = answer.json()["error"]

    assert answer.status_code == 403
    challenge = f'Bearer resource_metadata="{METADATA}", error="insufficient_scope", scope="portfolio"'
    assert answer.headers["WWW-Authenticate"] == challenge
    assert (error["message"], error["data"]["code"]) == (
        "This needs the toolset portfolio, which the mandate lacks.",
        "mandate_exceeded",
    )


async def test_an_operation_of_another_toolset_is_403_and_names_the_scope(program: Program) -> None:
    answer = await send(program, await connect(program, "api"), PROJECTS)

    assert answer.status_code == 403
    assert answer.headers["WWW-Authenticate"].endswith('error="insufficient_scope", scope="plans"')
    assert answer.json()["error"]["data"]["scope"] == "projects:read"


async def test_an_operation_of_its_toolset_for_which_a_scope_is_missing_is_a_result(program: Program) -> None:
    """Another consent does not help: a person removed the scope."""
    token = await connect(program, "api", "plans")
    key_id = (await connection_of(program)).rpartition("/")[2]
    removed = await program.browser.post(
        f"/v1/api-keys/{key_id}/remove-scopes", json={"scopes": ["projects:read"]}
    )
    assert removed.status_code == 200, removed.text
    answer = await send(program, token, PROJECTS)
    refusal = answer.json()["result"]["structuredContent"]

    assert (answer.status_code, refusal["code"], refusal["scope"]) == (200, "insufficient_scope", "projects:read")


async def test_what_a_read_only_token_may_not_change_is_a_result(program: Program) -> None:
    token = await connect(program, "api", "plans")
    create = {"operation_id": "projects_create", "body": {"name": "Orders"}}
    answer = await send(program, token, message("tools/call", name="write_operation", arguments=create))

    assert (answer.status_code, "WWW-Authenticate" in answer.headers) == (200, False)


async def test_a_key_of_another_toolset_gets_a_result(program: Program, alice: Person) -> None:
    key = (await machine(alice, toolsets=["names"])).key
    answer = await post(program.service, PORTFOLIO, X_API_Key=key)
    refusal = answer.json()["result"]["structuredContent"]

    assert (answer.status_code, refusal["code"], refusal["toolset"]) == (200, "mandate_exceeded", "portfolio")


class Stored:
    """What a client of the SDK keeps: the connection that it has."""

    def __init__(self, tokens: dict[str, Any], client: OAuthClientInformationFull) -> None:
        self.tokens, self.client = OAuthToken.model_validate(tokens), client

    async def get_tokens(self) -> OAuthToken:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@pytest.mark.parametrize(("chosen", "is_error"), [("portfolio", False), ("money", True)])
async def test_a_client_of_the_sdk_asks_the_person_for_the_scope(
    program: Program, *, chosen: str, is_error: bool
) -> None:
    """It asks once: then the refusal is what the agent sees."""
    asked: list[str] = []
    own = {"redirect_uris": [LOOPBACK], "token_endpoint_auth_method": "none", "client_name": "Ada's Editor"}
    known = OAuthClientInformationFull.model_validate({**own, "client_id": program.publisher.client_id})

    async def consent(url: str) -> None:
        path = await program.begin(None, **dict(parse_qsl(urlsplit(url).query)))
        asked.extend((await program.browser.get(path)).json()["scopes"])
        decided = await program.decide(path, mandate={"toolsets": ["names", chosen]})
        codes.append(dict(parse_qsl(urlsplit(decided.json()["redirect_url"]).query)))

    async def redirected() -> AuthorizationCodeResult:
        return AuthorizationCodeResult.model_validate(codes.pop())

    codes: list[dict[str, str]] = []
    auth = OAuthClientProvider(
        f"{URL}/mcp",
        OAuthClientMetadata.model_validate(own),
        Stored(await program.connect(), known),
        consent,
        redirected,
        program.publisher.client_id,
    )
    async with (
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=program.service), auth=auth) as http,
        SdkClient(streamable_http_client(f"{URL}/mcp", http_client=http)) as agent,
    ):
        refused = False
        try:
            await agent.call_tool("portfolio_summary", {})
        except MCPError as refusal:
            refused = "the toolset portfolio" in str(refusal)

    assert (sorted(asked), refused) == (["names", "portfolio"], is_error)


async def test_a_token_sees_the_tools_of_its_mandate(program: Program) -> None:
    assert tools_of(await send(program, await connect(program, "names"))) == {"search_names", "list_names"}


async def test_a_read_only_connection_promotes_nothing(program: Program) -> None:
    token = await connect(program, "names", "plans", key_kind="live")
    arguments = {"plan_id": "0" * 8 + "-0000-0000-0000-" + "0" * 12, "digest": "x"}
    promote = message("tools/call", name="promote_plan", arguments=arguments)
    result = (await send(program, token, promote)).json()["result"]

    assert (result["isError"], result["structuredContent"]["code"]) == (True, "mandate_exceeded")


@pytest.mark.parametrize("path", ["/v1/aliases", "/v1/auth/session", "/v1/api-keys", "/v1/auth/connections"])
async def test_a_token_opens_nothing_of_the_api(program: Program, path: str) -> None:
    token = await connect(program)
    sent: Sequence[dict[str, str]] = (
        {"Authorization": f"Bearer {token}"},
        {"X-API-Key": token},
        {"Cookie": f"{COOKIE}={token}"},
    )
    answers = [await program.client.get(path, headers=each) for each in sent]

    assert [each.status_code for each in answers] == [401] * 3


async def test_a_token_in_another_header_is_401(program: Program) -> None:
    assert (await post(program.service, LIST, X_API_Key=await connect(program))).status_code == 401


async def test_a_token_beside_a_key_is_401(program: Program, alice: Person) -> None:
    assert (await send(program, await connect(program), X_API_Key=alice.key)).status_code == 401


async def test_a_refresh_token_is_401(program: Program) -> None:
    assert (await send(program, (await program.connect())["refresh_token"])).status_code == 401


async def test_a_code_is_401(program: Program) -> None:
    assert (await send(program, await program.get_code())).status_code == 401


async def test_no_token_of_another_resource_is_issued(program: Program) -> None:
    """So none can be presented; one that others issue is unknown here."""
    answer = await program.redeem(await program.get_code(), resource=f"{URL}/other")

    assert answer.json()["error"] == "invalid_target"


@pytest.mark.parametrize("token", ["eyJhbGciOiJub25lIn0.eyJhdWQiOiJodHRwczovL290aGVyLmV4YW1wbGUifQ.", "opaque"])
async def test_a_token_of_another_resource_is_401(program: Program, token: str) -> None:
    answer = await send(program, token)

    assert answer.status_code == 401
    expected = f'Bearer resource_metadata="{METADATA}", error="invalid_token"'
    assert answer.headers["WWW-Authenticate"] == expected


async def test_the_challenge_names_metadata_that_is_there(program: Program) -> None:
    challenge = (await post(program.service, LIST)).headers["WWW-Authenticate"]
    [where] = challenge.removeprefix("Bearer ").split(", ")
    found = await program.client.get(where.removeprefix('resource_metadata="').removesuffix('"'))

    assert found.json()["resource"] == f"{URL}/mcp"


async def test_the_person_ends_it_by_the_api(program: Program, alice: Person) -> None:
    token = await connect(program)
    assert (await send(program, token)).status_code == 200
    await alice.delete(await connection_of(program))

    assert (await send(program, token)).status_code == 401


async def test_the_program_ends_it(program: Program) -> None:
    found = await program.connect()
    form = {"token": found["refresh_token"], "client_id": program.publisher.client_id}
    await program.client.post("/oauth/revoke", data=form)

    assert (await send(program, found["access_token"])).status_code == 401


async def test_it_ends_with_all_machines(program: Program) -> None:
    token = await connect(program)
    await program.browser.delete("/v1/api-keys")

    assert (await send(program, token)).status_code == 401


async def test_an_expired_token_is_refused_with_what_to_do(program: Program) -> None:
    token = await connect(program)
    clock.move(timedelta(minutes=15))
    answer = await send(program, token)

    assert (answer.status_code, answer.json()["detail"]) == (401, "The access token is unknown or has ended.")
    assert "Refresh it" in answer.json()["next_action"]


@pytest.mark.parametrize(("is_known", "last"), [(True, 401), (False, 429)])
async def test_an_expired_token_is_no_guess(
    program: Program, limited: Service, conn: Conn, *, is_known: bool, last: int
) -> None:
    """A program refreshes when it sees the refusal: its network is not one of those that guess."""
    token = await connect(program)
    text = token if is_known else keys.generate_secret(keys.ACCESS, uuid4()).text
    await conn.execute("DELETE FROM kit_quotas")
    clock.move(timedelta(minutes=15))
    codes = [
        (await post(limited, LIST, Authorization=f"Bearer {text}")).status_code
        for _ in range(FAILED_CREDENTIALS.quota + 1)
    ]

    assert codes == [401] * FAILED_CREDENTIALS.quota + [last]


async def test_the_header_of_a_team_is_ignored(program: Program, bob: Person) -> None:
    token = await connect(program)
    answer = await send(program, token, SEARCH, X_Portfolio_Account=str(bob.account.id))

    assert answer.json()["result"]["isError"] is False


async def test_a_use_at_mcp_is_one_of_the_connection(program: Program) -> None:
    await send(program, await connect(program))
    await program.service.api.state.authenticate.flush()
    made = (await program.browser.get("/v1/auth/connections")).json()["items"]

    assert made[0]["last_used_at"] is not None


async def test_another_site_may_not_send_messages(program: Program) -> None:
    answer = await send(program, await connect(program), Origin="https://evil.example")

    assert answer.status_code == 403


async def test_a_token_of_an_issuer_that_is_trusted_is_401(provider: Provider, trust: Trust) -> None:
    """At the API it opens the account."""
    client = await trust(sign_up=True)
    token = provider.forger(**person()).make()
    assert (await client.get(PATH, headers=bearer(token))).status_code == 200

    assert (await client.post("/mcp", json=LIST, headers=bearer(token))).status_code == 401


async def test_a_token_of_a_session_is_none_of_a_connection(program: Program, alice: Person) -> None:
    async with Client(program.service, token=(await alice.sign_in()).token) as other:
        token = other.headers["Authorization"].removeprefix("Bearer ")

    assert (await send(program, token)).status_code == 401
