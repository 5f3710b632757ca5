"""Rate limits as a client sees them."""

import asyncio
import re
from collections import Counter
from datetime import timedelta

import pytest

from builders.app import Service
from builders.kit.limits import policies
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.contract.document import operations
from tests.published import published

KEYS = "/v1/api-keys"
CHECK = "/v1/catalog/check?local_part=ada&domain=harbour.example"
NEW_KEY = {"label": "new", "key_kind": "live", "preset": "developer_full"}
# Operations with a limit instead of the general one: beacons must not use up the checks of their visitor.
ALONE = {
    "POST /v1/catalog/events": "funnel",
    "GET /v1/t/o/{token}": "tracked",
    "GET /v1/t/c/{token}": "tracked",
}
UNLIMITED = {"GET /livez", "GET /health", "GET /readyz", "GET /.well-known/jwks.json"}


async def statuses(client: Client, path: str, times: int, **options: str) -> Counter[int]:
    """Return the statuses of sequential requests."""
    return Counter([(await client.get(path, headers=options)).status_code for _ in range(times)])


async def test_every_response_has_the_limits_and_the_remaining_requests(ada: Person, eve: Person) -> None:
    answers = [
        await ada.get(KEYS),
        await ada.get(f"{KEYS}/nothing"),
        await ada.get(f"{KEYS}?limit=0"),
        await ada.post(KEYS, content=b"{"),
        await eve.post("/v1/sandbox/plan", json={}),
    ]

    assert [answer.status_code for answer in answers] == [200, 404, 422, 415, 403]
    for answer in answers[:3]:
        assert answer.headers["RateLimit-Policy"] == '"key";q=60;w=60, "account";q=180;w=60'
        assert re.fullmatch(r'"key";r=\d+;t=\d+', answer.headers["RateLimit"])
    assert [answer.headers["RateLimit"].split(";")[1] for answer in answers] == [
        *("r=59", "r=58", "r=57", "r=2", "r=5")  # the refused plan is given back after its headers
    ]
    assert answers[3].headers["RateLimit-Policy"].startswith('"mint";q=3;w=600, "key";')


async def test_without_credentials_the_address_is_counted(limited: Service) -> None:
    async with Client(limited) as anyone:
        answer = await anyone.get("/v1/catalog/categories")
    assert answer.headers["RateLimit-Policy"] == '"address";q=60;w=60'
    assert answer.headers["RateLimit"].startswith('"address";r=59;t=')


async def test_beyond_the_quota_it_is_429_until_the_window_ends(ada: Person) -> None:
    assert await statuses(ada, KEYS, 60) == {200: 60}
    answer = await ada.get(KEYS)

    assert answer.status_code == 429
    wait = int(answer.headers["Retry-After"])
    assert 0 < wait <= 60
    assert answer.headers["RateLimit"] == f'"key";r=0;t={wait}'
    assert answer.headers["Content-Type"] == "application/problem+json"
    found = answer.json()
    assert (found["code"], found["type"]) == ("rate_limited", "urn:builders:problem:rate_limited")
    assert (found["retry_after"], found["violated_policies"]) == (wait, ["key"])
    assert found["request_id"] == answer.headers["X-Request-ID"]
    clock.move(timedelta(seconds=wait))
    assert (await ada.get(KEYS)).status_code == 200


async def test_fifty_concurrent_requests_get_the_remaining_quota(ada: Person) -> None:
    await statuses(ada, KEYS, 40)
    answers = await asyncio.gather(*(ada.get(KEYS) for _ in range(50)))
    assert Counter(answer.status_code for answer in answers) == {200: 20, 429: 30}


async def test_two_accounts_do_not_share(ada: Person, eve: Person) -> None:
    assert await statuses(ada, KEYS, 61) == {200: 60, 429: 1}
    assert await statuses(eve, KEYS, 61) == {200: 60, 429: 1}


async def test_all_keys_of_an_account_share_a_limit(limited: Service, ada: Person) -> None:
    secrets = [(await ada.post(KEYS, json=NEW_KEY)).json()["secret"] for _ in range(2)]
    await statuses(ada.test, KEYS, 60)
    found = Counter[int]()
    for secret in secrets:
        async with Client(limited, secret) as client:
            found += await statuses(client, KEYS, 60)
    assert found == {200: 180 - 60 - 2, 429: 2}
    answer = await ada.get(KEYS)
    assert (answer.status_code, answer.json()["violated_policies"]) == (429, ["account"])


async def test_a_specific_limit_applies_beside_the_general_one(limited: Service) -> None:
    async with Client(limited) as anyone:
        assert await statuses(anyone, CHECK, 25) == {200: 24, 429: 1}
        assert (await anyone.get(CHECK)).json()["violated_policies"] == ["check"]
        assert await statuses(anyone, "/v1/catalog/suggest?q=ada", 25) == {200: 24, 429: 1}
        assert await statuses(anyone, "/v1/catalog/categories", 13) == {200: 12, 429: 1}


async def test_each_address_and_each_ipv6_network_has_a_limit(limited: Service) -> None:
    async with Client(limited) as anyone:
        for client in ("192.0.2.1", "192.0.2.2", "2001:db8:0:1::1", "2001:db8:0:2::1"):
            assert await statuses(anyone, CHECK, 25, **{"X-Forwarded-For": client}) == {200: 24, 429: 1}
        again = {"X-Forwarded-For": "2001:db8:0:1:ffff::1"}
        assert (await anyone.get(CHECK, headers=again)).status_code == 429


async def test_probes_and_documents_have_no_limit(limited: Service) -> None:
    async with Client(limited) as anyone:
        await statuses(anyone, "/v1/catalog/categories", 61)
        for path in ("/livez", "/health", "/readyz", "/docs", "/openapi.json", "/.well-known/jwks.json"):
            answer = await anyone.get(path)
            assert answer.status_code == 200
            assert "RateLimit" not in answer.headers


async def test_a_limited_post_does_not_use_its_idempotency_key(ada: Person) -> None:
    for _ in range(3):
        assert (await ada.post(KEYS, json=NEW_KEY)).status_code == 200
    key = {"Idempotency-Key": "once"}
    refused = await ada.post(KEYS, json=NEW_KEY, headers=key)
    assert (refused.status_code, refused.json()["violated_policies"]) == (429, ["mint"])
    clock.move(timedelta(seconds=int(refused.headers["Retry-After"])))

    made = await ada.post(KEYS, json=NEW_KEY, headers=key)
    replayed = await ada.post(KEYS, json=NEW_KEY, headers=key)

    assert (made.status_code, replayed.status_code) == (200, 200)
    assert replayed.json()["id"] == made.json()["id"]
    assert replayed.headers["RateLimit"].startswith('"mint";r=1;')


async def test_a_caller_without_the_scope_is_counted_on_its_own_key_only(eve: Person) -> None:
    for _ in range(60):
        answer = await eve.post("/v1/sandbox/plan", json={})
        assert answer.status_code == 403
    assert answer.headers["RateLimit"].startswith('"key";r=0;')
    answer = await eve.post("/v1/sandbox/plan", json={})
    assert (answer.status_code, answer.json()["violated_policies"]) == (429, ["key"])
    assert (await eve.test.get(KEYS)).headers["RateLimit"].startswith('"key";r=59;')


async def test_without_limits_there_are_no_headers(alice: Person) -> None:
    answers = [await alice.get(KEYS) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert not any("RateLimit" in answer.headers for answer in answers)


def test_the_document_names_the_limits_of_each_operation() -> None:
    found = operations(published().document)
    known = {policy.name for policy in policies.list_policies()}
    for name, operation in found.items():
        named = operation.get("x-rate-limit", [])
        assert ("429" in operation["responses"]) == bool(named), name
        assert set(named) <= known, name
        of_callers = ["key", "account", "session", "person"] if "x-scope" in operation else ["address"]
        general = [ALONE[name]] if name in ALONE else of_callers
        assert name in UNLIMITED or [each for each in named if each != "reserve"][-len(general) :] == general, name
    assert {name for name, operation in found.items() if "x-rate-limit" not in operation} == UNLIMITED
    assert found["GET /v1/catalog/check"]["x-rate-limit"] == ["check", "address"]
    assert found["POST /v1/api-keys"]["x-rate-limit"] == ["mint", "key", "account", "session", "person"]
    assert found["GET /v1/catalog/check"]["responses"]["429"]["headers"].keys() == {
        *("Retry-After", "RateLimit", "RateLimit-Policy")
    }


@pytest.mark.parametrize("key", ["svc_live_unknown", ""])
async def test_refused_credentials_show_their_own_limit(limited: Service, key: str) -> None:
    async with Client(limited, key) as client:
        answer = await client.get(KEYS)
    assert answer.status_code == 401
    assert answer.headers.get("RateLimit", "").startswith('"failed_credentials";r=2;') == bool(key)
