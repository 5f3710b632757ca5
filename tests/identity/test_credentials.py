from uuid import uuid4

import pytest

from builders.identity import keys
from builders.identity.records import KeyKind
from tests.cast import Client, Person
from tests.identity.make import PATH, mint

UNKNOWN = keys.generate_secret(KeyKind.LIVE, uuid4()).text  # well-formed, and of nobody
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl"


def offered(key: str, **given: str) -> dict[str, str]:
    """The headers of a request; `good` stands for the key."""
    names = {"x_api_key": "X-API-Key", "authorization": "Authorization", "cookie": "Cookie"}
    return {names[name]: value.replace("good", key) for name, value in given.items()}


def forge(real: str) -> str:
    """A well-formed key with the id and the account of a real one; the rest is made up."""
    body = f"{real[:-38]}{'0' * 32}"
    return body + keys.checksum(body)


@pytest.mark.parametrize(
    "given",
    [
        {"x_api_key": "good"},
        {"x_api_key": "  good\t"},
        {"authorization": "Bearer good"},
        {"authorization": "bearer good"},
        {"authorization": "BEARER   good"},
        # The first one decides, and what stands behind it is not looked at.
        {"x_api_key": "good", "authorization": f"Bearer {UNKNOWN}"},
        {"x_api_key": "good", "authorization": "Basic YTpi"},
        {"x_api_key": "good", "cookie": f"svc_access_token={JWT}"},
        {"authorization": "Bearer good", "cookie": f"svc_access_token={JWT}"},
        # What is empty is absent.
        {"x_api_key": "", "authorization": "Bearer good"},
        {"x_api_key": "  ", "authorization": "Bearer good"},
        {"x_api_key": "good", "authorization": "", "cookie": "svc_access_token="},
        {"authorization": "Bearer good", "cookie": "svc_access_token="},
        {"authorization": "Bearer good", "cookie": "theme=dark"},
    ],
)
async def test_the_first_credential_decides_when_it_is_valid(
    alice: Person, anyone: Client, given: dict[str, str]
) -> None:
    assert (await anyone.get(PATH, headers=offered(alice.key, **given))).status_code == 200


@pytest.mark.parametrize(
    "given",
    [
        {"x_api_key": UNKNOWN},
        {"x_api_key": "goodx"},
        {"x_api_key": "x good"},
        {"x_api_key": "Bearer good"},
        {"authorization": "good"},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": "Basic YTpi"},
        {"authorization": "Token good"},
        {"authorization": f"Bearer {JWT}"},
        {"authorization": "Bearer good good"},
        {"cookie": f"svc_access_token={JWT}"},
        # A bad one is refused, and the good one behind it is not tried.
        {"x_api_key": UNKNOWN, "authorization": "Bearer good"},
        {"x_api_key": "x", "authorization": "Bearer good"},
        {"x_api_key": JWT, "authorization": "Bearer good"},
        {"authorization": f"Bearer {UNKNOWN}", "cookie": "svc_access_token=good"},
        {"authorization": "Basic YTpi", "cookie": "svc_access_token=good"},
        # An API key is no cookie: a page of any origin could have it sent along.
        {"cookie": "svc_access_token=good"},
        {"x_api_key": "", "authorization": "", "cookie": "svc_access_token=good"},
    ],
)
async def test_the_first_credential_decides_when_it_is_bad(
    alice: Person, anyone: Client, given: dict[str, str]
) -> None:
    answer = await anyone.get(PATH, headers=offered(alice.key, **given))

    assert answer.status_code == 401
    assert answer.json()["code"] == "credentials_invalid"
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="builders", error="invalid_token"'
    assert alice.key not in answer.text


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"x_api_key": ""},
        {"x_api_key": " ", "authorization": " ", "cookie": "svc_access_token="},
        {"cookie": "theme=dark"},
        {"cookie": "not_svc_access_token=good"},
        {"cookie": "theme=svc_access_token"},
    ],
)
async def test_a_request_without_credentials_is_refused(
    alice: Person, anyone: Client, given: dict[str, str]
) -> None:
    answer = await anyone.get(PATH, headers=offered(alice.key, **given))

    assert answer.status_code == 401
    assert answer.json()["code"] == "credentials_missing"
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="builders"'
    assert "X-API-Key" in answer.json()["next_action"]


async def test_the_error_names_the_missing_scope(dana: Person) -> None:
    answer = await dana.post("/v1/sandbox/plan", json={})

    assert answer.status_code == 403
    assert answer.json()["code"] == "insufficient_scope"
    assert answer.json()["scope"] == "sandbox:write"
    assert answer.headers["WWW-Authenticate"] == 'Bearer error="insufficient_scope", scope="sandbox:write"'


async def test_credentials_come_before_all_else(anyone: Client) -> None:
    answers = [
        await anyone.post(PATH, content=b"{nonsense"),
        await anyone.post(PATH, json={"label": 7}),
        await anyone.get(PATH, params={"limit": "x"}),
        await anyone.get(f"{PATH}/x"),
    ]

    assert [each.status_code for each in answers] == [401] * 4


async def test_an_error_reveals_nothing_of_the_key(alice: Person, anyone: Client) -> None:
    revoked = await mint(alice)
    await alice.delete(f"{PATH}/{revoked['id']}")
    forged = forge(revoked["secret"])

    said = [
        (await anyone.get(PATH, headers={"X-API-Key": secret})).json() | {"request_id": None}
        for secret in (revoked["secret"], forged, UNKNOWN)
    ]

    assert keys.parse_secret(forged) is not None
    assert said[0]["status"] == 401
    assert said[0] == said[1] == said[2]


async def test_a_made_up_secret_for_a_real_key_is_refused(alice: Person, anyone: Client) -> None:
    forged = forge(alice.key)

    answer = await anyone.get(PATH, headers={"X-API-Key": forged})

    assert keys.parse_secret(forged) is not None
    assert answer.status_code == 401
