"""Refresh tokens and revocation: a stolen token ends with its connection, a lost response does not."""

import asyncio
from datetime import timedelta

import pytest

from builders.identity.oauth import tokens
from builders.kit.db.connections import Conn, Database
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Person
from tests.conftest import StopClock
from tests.identity.oauth.conftest import Find
from tests.identity.oauth.program import Program, error_of, reasons
from tests.worker import Worker

# Refresh tokens.


async def test_a_refresh_token_is_replaced(program: Program, find: Find) -> None:
    first = await program.connect()
    second = (await program.refresh(first["refresh_token"])).json()

    assert second["refresh_token"] != first["refresh_token"]
    assert await find(second["access_token"]) is not None
    assert (await program.refresh(second["refresh_token"])).status_code == 200


async def test_two_refreshes_at_once_get_the_same_successor(program: Program) -> None:
    first = await program.connect()
    answers = await asyncio.gather(*(program.refresh(first["refresh_token"]) for _ in range(2)))

    assert [each.status_code for each in answers] == [200, 200]
    assert len({each.json()["refresh_token"] for each in answers}) == 1


async def test_two_uses_of_a_code_at_once_leave_no_connection(program: Program, find: Find) -> None:
    code = await program.get_code()
    answers = await asyncio.gather(*(program.redeem(code) for _ in range(2)))
    [good] = [each.json() for each in answers if each.status_code == 200]

    assert sorted(each.status_code for each in answers) == [200, 400]
    assert await find(good["access_token"]) is None


async def test_two_decisions_at_once_give_one_connection(program: Program) -> None:
    path = await program.begin()
    answers = await asyncio.gather(*(program.decide(path) for _ in range(2)))

    assert sorted(each.status_code for each in answers) == [200, 404]
    assert len((await program.browser.get("/v1/auth/connections")).json()["items"]) == 1


@pytest.mark.parametrize("after", [0, 59])
async def test_a_lost_response_is_repeated(program: Program, after: int) -> None:
    first = await program.connect()
    second = (await program.refresh(first["refresh_token"])).json()
    clock.move(timedelta(seconds=after))
    again = (await program.refresh(first["refresh_token"])).json()

    assert again["refresh_token"] == second["refresh_token"]
    assert again["access_token"] == second["access_token"]
    assert again["expires_in"] <= 900 - after


async def test_a_repeat_after_60_seconds_ends_the_connection(
    program: Program, find: Find, alice: Person, stop_clock: StopClock
) -> None:
    now = clock.now() + timedelta(seconds=5)
    stop_clock(now)
    first = await program.connect()
    second = (await program.refresh(first["refresh_token"])).json()
    stop_clock(now + tokens.REPEAT_FOR)
    assert (await program.refresh(first["refresh_token"])).status_code == 200
    stop_clock(now + tokens.REPEAT_FOR + timedelta(microseconds=1))

    assert error_of(await program.refresh(first["refresh_token"])) == "invalid_grant"
    assert await find(second["access_token"]) is None
    assert error_of(await program.refresh(second["refresh_token"])) == "invalid_grant"
    assert await reasons(alice) == ["an old refresh token was used again"]


async def test_a_repeat_after_the_use_of_its_successor_ends_the_connection(
    program: Program, find: Find, alice: Person, database: Database, settings: Settings
) -> None:
    """Refresh theft: one of two who have the token refreshes twice, then the other one comes."""
    first = await program.connect()
    second = (await program.refresh(first["refresh_token"])).json()
    third = (await program.refresh(second["refresh_token"])).json()

    assert error_of(await program.refresh(first["refresh_token"])) == "invalid_grant"
    assert await find(third["access_token"]) is None
    assert await reasons(alice) == ["an old refresh token was used again"]
    mailed = await Worker(database, settings).list_emails(alice.account.email)
    assert any("ended" in each["Subject"] for each in mailed)


async def test_a_refresh_token_belongs_to_its_client(program: Program) -> None:
    first = await program.connect()

    answer = await program.refresh(first["refresh_token"], client_id="https://other.example/program.json")
    assert error_of(answer) == "invalid_grant"
    assert (await program.refresh(first["refresh_token"])).status_code == 200


async def test_a_refresh_gets_no_token_of_another_resource(program: Program) -> None:
    first = await program.connect()

    answer = await program.refresh(first["refresh_token"], resource="https://other.example/mcp")
    assert error_of(answer) == "invalid_target"


async def test_tokens_end_in_time(program: Program, find: Find) -> None:
    found = await program.connect(expires_in_days=365)
    with clock.moved(timedelta(minutes=14, seconds=55)):
        assert await find(found["access_token"]) is not None
    with clock.moved(timedelta(minutes=15)):
        assert await find(found["access_token"]) is None
    with clock.moved(timedelta(days=30)):
        assert error_of(await program.refresh(found["refresh_token"])) == "invalid_grant"
    with clock.moved(timedelta(days=30) - timedelta(minutes=1)):
        assert (await program.refresh(found["refresh_token"])).status_code == 200


async def test_no_token_lives_beyond_the_mandate(program: Program, find: Find, conn: Conn) -> None:
    found = await program.connect(expires_in_days=1)
    ends = await (
        await conn.execute("SELECT access_expires_at, refresh_expires_at FROM identity_oauth_tokens ORDER BY 2")
    ).fetchone()
    assert ends is not None
    assert ends[1] <= clock.now() + timedelta(days=1)
    clock.move(timedelta(days=1) - timedelta(minutes=5))
    later = (await program.refresh(found["refresh_token"])).json()

    assert 0 < later["expires_in"] <= 300
    clock.move(timedelta(minutes=5))
    assert await find(later["access_token"]) is None


# Revocation.


async def test_a_program_revokes_its_connection(program: Program, find: Find, alice: Person) -> None:
    found = await program.connect()
    form = {"token": found["refresh_token"], "client_id": program.publisher.client_id}
    answer = await program.client.post("/oauth/revoke", data=form)

    assert (answer.status_code, answer.content) == (200, b"")
    assert await find(found["access_token"]) is None
    assert await reasons(alice) == ["by the client"]


async def test_a_program_revokes_an_access_token_alone(program: Program, find: Find) -> None:
    found = await program.connect()
    form = {"token": found["access_token"], "client_id": program.publisher.client_id}
    await program.client.post("/oauth/revoke", data=form)

    assert await find(found["access_token"]) is None
    assert (await program.refresh(found["refresh_token"])).status_code == 200


async def test_another_client_revokes_nothing(program: Program, find: Find) -> None:
    found = await program.connect()
    form = {"token": found["refresh_token"], "client_id": "https://other.example/program.json"}

    assert error_of(await program.client.post("/oauth/revoke", data=form)) == "invalid_client"
    assert await find(found["access_token"]) is not None


async def test_an_unknown_token_is_revoked_in_silence(program: Program) -> None:
    answer = await program.client.post("/oauth/revoke", data={"token": "unknown", "client_id": "any"})

    assert answer.status_code == 200


async def test_a_person_revokes_a_connection(program: Program, find: Find, bob: Person) -> None:
    found = await program.connect()
    [listed] = (await program.browser.get("/v1/auth/connections")).json()["items"]
    path = f"/v1/auth/connections/{listed['id']}"

    assert (await bob.delete(path)).json()["code"] == "connection_not_found"
    assert (await program.browser.delete(path)).json()["revoked_at"] is not None
    assert await find(found["access_token"]) is None
    assert error_of(await program.refresh(found["refresh_token"])) == "invalid_grant"


async def test_all_keys_are_revoked_with_the_connections(program: Program, find: Find) -> None:
    found = await program.connect()
    await program.browser.delete("/v1/api-keys")

    assert await find(found["access_token"]) is None


async def test_a_key_is_no_connection(alice: Person) -> None:
    key = (await alice.get("/v1/api-keys")).json()["items"][0]

    assert (await alice.delete(f"/v1/auth/connections/{key['id']}")).json()["code"] == "connection_not_found"


async def test_a_connection_cannot_be_rotated(program: Program, alice: Person) -> None:
    await program.connect()
    [listed] = (await program.browser.get("/v1/auth/connections")).json()["items"]

    assert (await alice.post(f"/v1/api-keys/{listed['id']}/rotate")).json()["code"] == "api_key_revoked"
