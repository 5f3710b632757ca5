"""GET /v1/auth/session, for each form of credential."""

import pytest

from builders.identity import scopes
from builders.identity.records import Preset, SessionKind
from tests.cast import Client, Person

PATH = "/v1/auth/session"


async def test_a_live_key_is_described_without_its_secret(alice: Person) -> None:
    answer = await alice.get(PATH)

    said = answer.json()
    assert alice.key not in answer.text
    assert said == {
        "authenticated": True,
        "method": "api_key",
        "account": {
            "id": str(alice.account.id),
            "name": "Alice",
            "email": alice.account.email,
            "email_verified": True,
        },
        "actor": {"type": "key", "id": said["key"]["id"], "label": "alice live"},
        "key": {"id": said["key"]["id"], "label": "alice live", "kind": "live", "preset": "developer_full"},
        "mandate": None,
        "session": None,
        "scopes": scopes.PRESET_SCOPES[Preset.DEVELOPER_FULL],
        "mode": "live",
        "livemode": True,
        "expires_at": None,
        "impersonation": None,
    }


async def test_a_test_key_speaks_for_the_real_account(alice: Person) -> None:
    said = (await alice.test.get(PATH)).json()

    assert said["account"]["id"] == str(alice.account.id)
    assert (said["mode"], said["livemode"], said["key"]["kind"]) == ("test", False, "test")


async def test_a_key_that_ends_says_when(alice: Person, anyone: Client) -> None:
    key_id = (await alice.get(PATH)).json()["key"]["id"]
    await alice.post(f"/v1/api-keys/{key_id}/rotate", json={"overlap_hours": 1})

    shown = (await alice.get(f"/v1/api-keys/{key_id}")).json()
    fresh = await anyone.get(PATH, headers={"Authorization": f"Bearer {alice.key}"})

    assert shown["expires_at"] is not None
    # Remembered or not, it never says later than it is.
    assert fresh.json()["expires_at"] in {None, shown["expires_at"]}


async def test_a_token_is_described(alice: Person) -> None:
    new = await alice.sign_in(kind=SessionKind.TOKEN)
    async with Client(alice.service, token=new.token) as client:
        said = (await client.get(PATH)).json()

    assert said["method"] == "jwt"
    assert said["key"] is None
    assert said["session"] == {"id": str(new.session.id), "created_at": f"{new.session.created_at:%FT%TZ}"}
    assert said["actor"] == {"type": "user", "id": str(new.session.id), "label": "Alice"}
    assert said["scopes"] == scopes.sort_scopes(scopes.ALL)
    assert said["expires_at"] == f"{new.session.expires_at:%FT%TZ}"
    assert (said["mode"], said["impersonation"]) == ("live", None)


async def test_a_cookie_is_described(alice: Person) -> None:
    new = await alice.sign_in()
    async with Client(alice.service, cookie=new.token) as client:
        said = (await client.get(PATH)).json()

    assert said["method"] == "cookie"
    assert said["session"]["id"] == str(new.session.id)
    assert said["scopes"] == [*scopes.DESCRIPTIONS]


@pytest.mark.parametrize("kind", [SessionKind.TOKEN, SessionKind.LOGIN_AS])
async def test_a_cookie_of_no_person_does_not_decide_on_plans(alice: Person, kind: SessionKind) -> None:
    new = await (alice.admit_support(may_write=True) if kind is SessionKind.LOGIN_AS else alice.sign_in(kind=kind))
    async with Client(alice.service, cookie=new.token) as client:
        assert "plans:approve" not in (await client.get(PATH)).json()["scopes"]


async def test_support_is_described_as_who_it_is(alice: Person) -> None:
    new = await alice.admit_support()
    grant = new.session.impersonation
    async with Client(alice.service, cookie=new.token) as client:
        said = (await client.get(PATH)).json()

    assert grant is not None
    assert said["account"]["id"] == str(alice.account.id)
    assert said["actor"] == {"type": "support", "id": str(grant.grant_id), "label": "sam@vendor.example"}
    assert said["impersonation"] == {
        "grant_id": str(grant.grant_id),
        "operator": "sam@vendor.example",
        "reason": "a ticket",
        "expires_at": said["expires_at"],
        "may_write": False,
        "act": {"sub": "sam@vendor.example"},
    }
    assert said["scopes"] == scopes.sort_scopes({scope for scope in scopes.ALL if scope.endswith(":read")})
    assert "mail:read" not in said["scopes"]


async def test_support_with_write_access_lacks_the_owners_scopes(alice: Person) -> None:
    new = await alice.admit_support(may_write=True)
    async with Client(alice.service, token=new.token) as client:
        said = (await client.get(PATH)).json()

    assert scopes.ALL - set(said["scopes"]) == scopes.OWNER_ONLY
    assert said["impersonation"]["may_write"] is True


async def test_a_request_without_credentials_has_no_session(anyone: Client) -> None:
    answer = await anyone.get(PATH)

    assert (answer.status_code, answer.json()["code"]) == (401, "credentials_missing")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


async def test_what_support_may_not_do_is_refused_as_that(alice: Person) -> None:
    reads, writes = await alice.admit_support(), await alice.admit_support(may_write=True)
    wanted = {"label": "mine", "key_kind": "live", "preset": "developer_full"}
    order = {"plan_id": "x", "digest": "x"}

    for new in (reads, writes):
        async with Client(alice.service, token=new.token) as client:
            answers = [
                await client.post("/v1/api-keys", json=wanted),
                await client.post("/v1/sandbox/promote", json=order),
            ]
            assert [(each.status_code, each.json()["code"]) for each in answers] == [
                (403, "impersonation_forbidden")
            ] * 2
            assert (await client.get("/v1/api-keys")).status_code == 200


async def test_who_signed_in_does_not_promote(alice: Person) -> None:
    async with Client(alice.service, token=(await alice.sign_in()).token) as client:
        answer = await client.post("/v1/sandbox/promote", json={"plan_id": "x", "digest": "x"})

    assert answer.status_code in {403, 422}
    if answer.status_code == 403:
        assert answer.json()["code"] == "live_key_required"
