import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from builders.identity import sessions
from builders.identity.records import NewGrant
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from tests.cast import Client, Person
from tests.identity.make import WANTED, Json

LOGIN_AS = "/v1/auth/login-as"
SESSION = "/v1/auth/session"
OURS = {"Sec-Fetch-Site": "same-origin"}
REASON = "Ticket 4711: an alias does not deliver"

EVENTS = "SELECT data::json FROM kit_outbox WHERE account_id = %s AND name = 'support.signed_in'"
KEPT = "SELECT row_to_json(granted)::text FROM identity_grants AS granted WHERE id = %s"


async def granted(database: Database, person: Person, *, may_write: bool = False) -> NewGrant:
    """Create a grant as the command line does."""
    async with database.transaction() as conn:
        return await sessions.create_grant(
            conn, account_id=person.account.id, operator="grace", reason=REASON, may_write=may_write
        )


async def redeemed(client: Client, database: Database, person: Person, *, may_write: bool = False) -> Json:
    """Redeem a grant; return the session, whose cookie the client keeps."""
    grant = await granted(database, person, may_write=may_write)
    answer = await client.post(LOGIN_AS, json={"grant": grant.text})
    assert answer.status_code == 200, answer.text
    session: Json = answer.json()
    return session


async def audited(person: Person, **query: str) -> list[Json]:
    found: list[Json] = (await person.get("/v1/account/audit", params=query)).json()["items"]
    return found


async def test_support_signs_in_as_the_customer_for_an_hour(
    anyone: Client, alice: Person, database: Database
) -> None:
    before = clock.now()
    session = await redeemed(anyone, database, alice)

    assert session["account"]["id"] == str(alice.account.id)
    assert session["actor"]["type"] == "support"
    assert session["actor"]["label"] == "grace"
    support = session["impersonation"]
    assert support["act"] == {"sub": "grace"}
    assert (support["operator"], support["reason"], support["may_write"]) == ("grace", REASON, False)
    assert {**(await anyone.get(SESSION)).json(), "warnings": []} == session
    clock.move(timedelta(minutes=59) - (clock.now() - before))
    assert (await anyone.get(SESSION)).status_code == 200
    clock.move(timedelta(minutes=1))
    assert (await anyone.get(SESSION)).status_code == 401


async def test_a_grant_works_once(anyone: Client, alice: Person, database: Database) -> None:
    grant = await granted(database, alice)
    first, second = [await anyone.post(LOGIN_AS, json={"grant": grant.text}) for _ in range(2)]

    assert first.status_code == 200
    assert (second.status_code, second.json()["code"]) == (400, "grant_invalid")
    assert "set-cookie" not in second.headers


async def test_of_twenty_concurrent_redemptions_one_succeeds(
    anyone: Client, alice: Person, database: Database
) -> None:
    grant = await granted(database, alice)

    answers = await asyncio.gather(*(anyone.post(LOGIN_AS, json={"grant": grant.text}) for _ in range(20)))

    assert sorted(each.status_code for each in answers) == [200] + [400] * 19
    assert len(await audited(alice, action="login_as.redeemed")) == 1


async def test_a_grant_expires_after_ten_minutes(anyone: Client, alice: Person, database: Database) -> None:
    late, soon = await granted(database, alice), await granted(database, alice)
    clock.move(timedelta(minutes=10) - timedelta(seconds=1))
    in_time = await anyone.post(LOGIN_AS, json={"grant": soon.text})
    clock.move(timedelta(seconds=1))
    too_late = await anyone.post(LOGIN_AS, json={"grant": late.text})

    assert (in_time.status_code, too_late.status_code) == (200, 400)


async def test_every_bad_grant_gets_the_same_answer(anyone: Client, alice: Person, database: Database) -> None:
    used, old, revoked = [await granted(database, alice) for _ in range(3)]
    await anyone.post(LOGIN_AS, json={"grant": used.text})
    async with database.transaction() as conn:
        await sessions.revoke_grant(conn, grant_id=revoked.grant.id)
    clock.move(timedelta(minutes=11))
    good = await granted(database, alice)
    texts = [
        *(used.text, old.text, revoked.text, alice.key),
        *(good.text[:-1], good.text[:-1] + ("x" if good.text[-1] != "x" else "y"), good.text.swapcase()),
        *("svc_grant_" + "0" * 51, "é" * 40),
    ]

    answers = [await anyone.post(LOGIN_AS, json={"grant": text}) for text in texts]

    said = [{**each.json(), "request_id": None} for each in answers]
    assert {each.status_code for each in answers} == {400}
    assert all(each == said[0] for each in said)
    assert (await anyone.post(LOGIN_AS, json={"grant": good.text})).status_code == 200


@pytest.mark.parametrize("grant", ["", "x" * 19, "x" * 513, 7, None])
async def test_an_invalid_grant_is_refused_with_its_location(anyone: Client, grant: object) -> None:
    answer = await anyone.post(LOGIN_AS, json={"grant": grant})

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "grant"]


async def test_credentials_beside_the_grant_are_ignored(
    anyone: Client, alice: Person, bob: Person, database: Database
) -> None:
    for headers in (
        {"X-API-Key": bob.key},
        {"X-API-Key": "svc_live_nonsense"},
        {"Authorization": "Basic eA=="},
        {"Cookie": "svc_access_token=x"},
    ):
        grant = await granted(database, alice)
        answer = await anyone.post(LOGIN_AS, json={"grant": grant.text}, headers=headers)
        assert answer.status_code == 200, answer.text
        assert answer.json()["account"]["id"] == str(alice.account.id)


async def test_a_grant_is_no_credential_of_its_own(anyone: Client, alice: Person, database: Database) -> None:
    grant = await granted(database, alice)

    for headers in ({"X-API-Key": grant.text}, {"Authorization": f"Bearer {grant.text}"}):
        assert (await anyone.get(SESSION, headers=headers)).status_code == 401


async def test_a_request_from_another_origin_redeems_nothing(
    anyone: Client, alice: Person, database: Database
) -> None:
    grant = await granted(database, alice)

    refused = await anyone.post(LOGIN_AS, json={"grant": grant.text}, headers={"Sec-Fetch-Site": "cross-site"})

    assert (refused.status_code, refused.json()["code"]) == (403, "origin_forbidden")
    assert (await anyone.post(LOGIN_AS, json={"grant": grant.text})).status_code == 200


async def test_the_customer_sees_it_all_in_the_audit_list(
    anyone: Client, alice: Person, bob: Person, database: Database
) -> None:
    session = await redeemed(anyone, database, alice)
    await anyone.post("/v1/auth/logout", headers=OURS)

    ended, acted, redemption, grant = (await audited(alice))[:4]

    assert [each["action"] for each in (grant, redemption, acted, ended)] == [
        "login_as.granted",
        "login_as.redeemed",
        "support.acted",
        "session.ended",
    ]
    assert grant["actor"] == {"type": "operator", "id": None, "label": "grace"}
    assert (grant["about"]["reason"], grant["about"]["may_write"]) == (REASON, False)
    support = {"type": "support", "id": session["impersonation"]["grant_id"], "label": "grace"}
    assert redemption["actor"] == acted["actor"] == ended["actor"] == support
    assert acted["about"] == {"request": "POST /v1/auth/logout"}
    assert redemption["about"]["session_id"] == ended["about"]["session_id"] == session["session"]["id"]
    assert redemption["request_id"]
    assert [entry["action"] for entry in await audited(bob)] == ["api_key.minted"] * 2


async def test_a_redemption_publishes_an_event(
    anyone: Client, alice: Person, database: Database, conn: Conn
) -> None:
    session = await redeemed(anyone, database, alice)

    [[event]] = await (await conn.execute(EVENTS, [alice.account.id])).fetchall()

    assert event["session_id"] == session["session"]["id"]
    assert (event["operator"], event["reason"], event["may_write"]) == ("grace", REASON, False)


@pytest.mark.parametrize("may_write", [False, True])
async def test_support_mints_no_key_and_promotes_nothing(
    anyone: Client, alice: Person, database: Database, *, may_write: bool
) -> None:
    await redeemed(anyone, database, alice, may_write=may_write)
    key_id = (await alice.get("/v1/api-keys")).json()["items"][0]["id"]
    order = {"plan_id": str(ids.new()), "digest": "sha256:" + "0" * 64}
    answers = [
        await anyone.post("/v1/api-keys", json=WANTED, headers=OURS),
        await anyone.post(f"/v1/api-keys/{key_id}/rotate", headers=OURS),
        await anyone.delete(f"/v1/api-keys/{key_id}", headers=OURS),
        await anyone.post("/v1/sandbox/promote", json=order, headers=OURS),
    ]

    assert [(each.status_code, each.json()["code"]) for each in answers] == [(403, "impersonation_forbidden")] * 4
    assert len((await alice.get("/v1/api-keys")).json()["items"]) == 2


async def test_support_with_write_access_has_all_but_the_owners_scopes(
    anyone: Client, alice: Person, database: Database
) -> None:
    answers = []
    for may_write in (False, True):
        await redeemed(anyone, database, alice, may_write=may_write)
        answers.append(await anyone.post("/v1/builders/projects", json={"name": "by support"}, headers=OURS))
        assert (await anyone.get("/v1/api-keys")).status_code == 200

    assert [each.status_code for each in answers] == [403, 201]
    assert answers[0].json()["code"] == "impersonation_forbidden"
    [acted] = [each for each in await audited(alice) if each["action"] == "support.acted"]
    assert acted["about"] == {"request": "POST /v1/builders/projects"}
    assert acted["request_id"] == answers[1].headers["X-Request-ID"]


async def test_support_of_one_account_sees_nothing_of_another(
    anyone: Client, alice: Person, bob: Person, database: Database
) -> None:
    await redeemed(anyone, database, alice)
    his = (await bob.get("/v1/api-keys")).json()["items"]

    assert (await anyone.get(f"/v1/api-keys/{his[0]['id']}")).status_code == 404


async def test_to_revoke_a_grant_ends_the_session_it_opened(
    anyone: Client, alice: Person, database: Database
) -> None:
    session = await redeemed(anyone, database, alice)
    grant_id = UUID(session["impersonation"]["grant_id"])
    for _ in range(2):
        async with database.transaction() as own:
            revoked = await sessions.revoke_grant(own, grant_id=grant_id)
    clock.move(timedelta(seconds=6))  # beyond the cache time

    assert revoked.revoked_at is not None
    assert revoked.redeemed_at is not None
    assert (await anyone.get(SESSION)).status_code == 401
    [ended] = await audited(alice, action="session.ended")
    assert len(await audited(alice, action="login_as.revoked")) == 1
    assert ended["actor"]["type"] == "operator"


async def test_a_grant_revoked_during_its_redemption_leaves_no_session(
    anyone: Client, alice: Person, database: Database
) -> None:
    async def revoke(grant_id: UUID) -> None:
        async with database.transaction() as conn:
            await sessions.revoke_grant(conn, grant_id=grant_id)

    new = [await granted(database, alice) for _ in range(5)]
    await asyncio.gather(
        *(anyone.post(LOGIN_AS, json={"grant": each.text}) for each in new),
        *(revoke(each.grant.id) for each in new),
    )

    assert (await alice.get("/v1/auth/sessions")).json()["items"] == []


async def test_the_text_is_not_stored(alice: Person, database: Database, conn: Conn) -> None:
    new = await granted(database, alice)

    [[row]] = await (await conn.execute(KEPT, [new.grant.id])).fetchall()

    assert new.text not in repr(new)
    assert new.text.rpartition("_")[2] not in row
    assert len(new.text) == len("svc_grant_") + 12 + 1 + 22 + 32 + 6
    assert timedelta(minutes=10) == sessions.GRANT_LIFETIME


async def test_support_cannot_create_a_webhook_destination(
    anyone: Client, alice: Person, database: Database
) -> None:
    await redeemed(anyone, database, alice, may_write=True)

    answer = await anyone.post("/v1/notifications/webhooks", json={"url": "https://hook.example"}, headers=OURS)

    assert (answer.status_code, answer.json()["code"]) == (403, "impersonation_forbidden")
