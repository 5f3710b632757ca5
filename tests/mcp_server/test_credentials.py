import re

import pytest

from builders.app import Service
from builders.kit.http.callers import COOKIE
from tests.cast import Person
from tests.mcp_server.make import URL, message, post

LIST = message("tools/list")
METADATA = "http://builders.test/.well-known/oauth-protected-resource/mcp"


async def test_a_key_is_accepted(service: Service, alice: Person) -> None:
    response = await post(service, LIST, X_API_Key=alice.key)
    assert (response.status_code, response.json()["id"]) == (200, 1)


async def test_nothing_is_401_and_names_where_to_authorize(service: Service) -> None:
    response = await post(service, LIST)
    assert (response.status_code, response.json()["code"]) == (401, "credentials_missing")
    assert response.headers["WWW-Authenticate"] == f'Bearer resource_metadata="{METADATA}"'
    assert "X-API-Key" in response.json()["next_action"]


async def test_an_unknown_key_is_401(service: Service) -> None:
    response = await post(service, LIST, X_API_Key="svc_live_" + "0" * 40)
    assert response.status_code == 401
    assert 'error="invalid_token"' in response.headers["WWW-Authenticate"]


async def test_a_revoked_key_is_401(service: Service, alice: Person) -> None:
    async with alice.browser() as browser:
        created = await browser.post(
            "/v1/api-keys", json={"label": "agent", "preset": "developer_full", "key_kind": "live"}
        )
        key = created.json()
        assert (await post(service, LIST, X_API_Key=key["secret"])).status_code == 200
        await browser.delete(f"/v1/api-keys/{key['id']}")
    assert (await post(service, LIST, X_API_Key=key["secret"])).status_code == 401


async def test_a_key_for_other_networks_is_403(service: Service, alice: Person) -> None:
    body = {"label": "agent", "preset": "developer_full", "key_kind": "live", "allowed_ips": ["192.0.2.0/24"]}
    async with alice.browser() as browser:
        key = (await browser.post("/v1/api-keys", json=body)).json()["secret"]
    response = await post(service, LIST, X_API_Key=key)
    assert (response.status_code, response.json()["code"]) == (403, "address_not_allowed")


async def test_a_key_as_a_bearer_token_is_401(service: Service, alice: Person) -> None:
    assert (await post(service, LIST, Authorization=f"Bearer {alice.key}")).status_code == 401


async def test_a_token_of_a_session_is_401(service: Service, alice: Person) -> None:
    token = (await alice.sign_in()).token
    assert (await post(service, LIST, Authorization=f"Bearer {token}")).status_code == 401


async def test_a_support_session_is_401(service: Service, alice: Person) -> None:
    token = (await alice.admit_support(may_write=True)).token
    assert (await post(service, LIST, Authorization=f"Bearer {token}")).status_code == 401


async def test_a_cookie_is_401(service: Service, alice: Person) -> None:
    cookie = f"{COOKIE}={(await alice.sign_in()).token}"
    assert (await post(service, LIST, Cookie=cookie, Origin="http://builders.test")).status_code == 401


async def test_a_cookie_beside_a_key_is_401(service: Service, alice: Person) -> None:
    assert (await post(service, LIST, Cookie=f"{COOKIE}=x", X_API_Key=alice.key)).status_code == 401


async def test_two_credentials_are_401(service: Service, alice: Person) -> None:
    response = await post(service, LIST, X_API_Key=alice.key, Authorization="Bearer x")
    assert response.status_code == 401


@pytest.mark.parametrize("name", ["access_token", "api_key", "key", "token"])
async def test_a_credential_in_the_query_is_401(service: Service, alice: Person, name: str) -> None:
    response = await post(service, LIST, url=f"{URL}?{name}={alice.key}", X_API_Key=alice.key)
    assert response.status_code == 401


async def test_another_parameter_is_422(service: Service, alice: Person) -> None:
    assert (await post(service, LIST, url=f"{URL}?tools=names", X_API_Key=alice.key)).status_code == 422


async def test_the_header_of_a_team_is_ignored(service: Service, alice: Person, dana: Person) -> None:
    body = message("tools/call", name="portfolio_summary", arguments={})
    response = await post(service, body, X_API_Key=dana.key, X_Portfolio_Account=str(alice.account.id))
    assert response.json()["result"]["isError"] is False


async def test_a_batch_is_400(service: Service, alice: Person) -> None:
    response = await post(service, [LIST, LIST], X_API_Key=alice.key)
    assert (response.status_code, response.json()["code"]) == (400, "bad_request")


async def test_a_member_that_is_there_twice_is_422(service: Service, alice: Person) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":1,"a":2}}'
    assert (await post(service, body, X_API_Key=alice.key)).status_code == 422


async def test_what_is_no_json_is_400(service: Service, alice: Person) -> None:
    response = await post(service, b"{", X_API_Key=alice.key)
    assert (response.status_code, response.json()["error"]["code"]) == (400, -32700)


async def test_a_body_above_the_limit_is_413(service: Service, alice: Person) -> None:
    body = b'"' + b"a" * service.bodies.limit + b'"'
    assert (await post(service, body, X_API_Key=alice.key)).status_code == 413


async def test_another_host_is_421(service: Service, alice: Person) -> None:
    response = await post(service, LIST, url="http://evil.example/mcp", X_API_Key=alice.key)
    assert response.status_code == 421


async def test_another_origin_is_403(service: Service, alice: Person) -> None:
    response = await post(service, LIST, X_API_Key=alice.key, Origin="https://evil.example")
    assert response.status_code == 403


async def test_the_request_id_of_the_client_reaches_the_operation(service: Service, alice: Person) -> None:
    body = message("tools/call", name="show_plan", arguments={"plan_id": "0" * 8 + "-0000-0000-0000-" + "0" * 12})
    response = await post(service, body, X_API_Key=alice.key, X_Request_Id="agent-request-1")
    assert response.headers["X-Request-Id"] == "agent-request-1"
    assert re.search("plan_not_found|not_found", response.text)
