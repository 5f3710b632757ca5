"""The account's sessions: which there are, how they end."""

from datetime import timedelta
from typing import Any, Literal

import psycopg
import pytest

from builders.identity.authenticator import Authenticator, TokenAuthenticator
from builders.identity.records import Client as Browser, SessionKind
from builders.identity.sessions import KNOWN_NETWORK_AGE
from builders.kit.db import old_rows
from builders.kit.db.connections import Database
from builders.kit.http.callers import Credential, CredentialsInvalid
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.identity.make import need_person

PATH = "/v1/auth/sessions"
REMEMBERED = timedelta(seconds=1)  # as the settings of the tests say
COUNT = "SELECT count(*) FROM identity_sessions WHERE account_id = %s"
ROW = "SELECT session::text FROM identity_sessions AS session WHERE id = %s"
AUDIT = "SELECT actor_type, about FROM identity_audit WHERE account_id = %s AND action = %s ORDER BY id"


async def ids_of(client: Client) -> list[str]:
    """The ids of the sessions that are listed."""
    return [each["id"] for each in (await client.get(PATH)).json()["items"]]


async def status(anyone: Client, token: str) -> int:
    """How a request with this token is answered."""
    return (await anyone.get("/v1/auth/session", headers={"Authorization": f"Bearer {token}"})).status_code


async def test_sessions_are_listed_newest_first_with_what_one_knows_them_by(alice: Person) -> None:
    browser = Browser(address="198.51.100.7", user_agent="Firefox\x00 on a laptop" + "x" * 300)
    first = await alice.sign_in(client=browser)
    second = await alice.sign_in(kind=SessionKind.TOKEN)
    support = await alice.admit_support()

    items = (await alice.get(PATH)).json()["items"]

    assert [each["id"] for each in items] == [str(each.session.id) for each in (support, second, first)]
    assert [each["kind"] for each in items] == ["login_as", "token", "login"]
    assert items[0]["impersonation"]["operator"] == "sam@vendor.example"
    assert (items[2]["address"], items[2]["ended_at"], items[2]["current"]) == ("198.51.100.7", None, False)
    assert items[2]["user_agent"].startswith("Firefox on a laptopxxx")
    assert len(items[2]["user_agent"]) <= 200
    assert not any(each.token in str(items) for each in (first, second, support))


async def test_the_one_that_asks_is_marked(alice: Person) -> None:
    await alice.sign_in()
    mine = await alice.sign_in()
    async with Client(alice.service, token=mine.token) as client:
        items = (await client.get(PATH)).json()["items"]

    assert {each["id"]: each["current"] for each in items}[str(mine.session.id)] is True
    assert sum(each["current"] for each in items) == 1


async def test_sessions_come_in_pages(alice: Person) -> None:
    made = [str((await alice.sign_in()).session.id) for _ in range(5)]

    first = (await alice.get(PATH, params={"limit": 3})).json()
    rest = (await alice.get(PATH, params={"limit": 3, "cursor": first["next_cursor"]})).json()

    assert [each["id"] for each in first["items"] + rest["items"]] == made[::-1]
    assert rest["next_cursor"] is None


async def test_bob_neither_sees_nor_ends_alices(alice: Person, bob: Person, anyone: Client) -> None:
    new = await alice.sign_in()

    assert await ids_of(bob) == []
    answer = await bob.delete(f"{PATH}/{new.session.id}")

    assert (answer.status_code, answer.json()["code"]) == (404, "session_not_found")
    assert await status(anyone, new.token) == 200


async def test_a_test_key_sees_no_sessions_and_ends_none(alice: Person) -> None:
    new = await alice.sign_in()

    assert await ids_of(alice.test) == []
    assert (await alice.test.delete(f"{PATH}/{new.session.id}")).status_code == 404


@pytest.mark.parametrize("session_id", ["x", "0193a1b2-0000-7000-8000-000000000001"])
async def test_an_unknown_session_cannot_be_ended(alice: Person, session_id: str) -> None:
    assert (await alice.delete(f"{PATH}/{session_id}")).status_code == 404


@pytest.mark.parametrize("as_bearer", [False, True], ids=["key", "bearer"])
async def test_no_program_ends_a_session_of_an_account_that_needs_a_person(
    alice: Person, anyone: Client, database: Database, *, as_bearer: bool
) -> None:
    new = await alice.sign_in()
    await need_person(database, alice)
    async with Client(alice.service, token=(await alice.sign_in()).token) as bearer:
        answer = await (bearer if as_bearer else alice).delete(f"{PATH}/{new.session.id}")

    assert (answer.status_code, answer.json()["code"]) == (403, "person_required")
    assert await status(anyone, new.token) == 200


async def test_a_person_ends_another_session_soon_after_signing_in(alice: Person, database: Database) -> None:
    new = await alice.sign_in()
    await need_person(database, alice)
    async with alice.browser() as browser:
        with clock.moved(timedelta(minutes=10, seconds=2)):
            late = await browser.delete(f"{PATH}/{new.session.id}")
        soon = await browser.delete(f"{PATH}/{new.session.id}")

    assert (late.status_code, late.json()["code"]) == (401, "fresh_sign_in_required")
    assert soon.status_code == 200


async def test_a_program_still_ends_its_own_session(alice: Person, database: Database) -> None:
    new = await alice.sign_in()
    await need_person(database, alice)
    async with Client(alice.service, token=new.token) as bearer:
        assert (await bearer.delete(f"{PATH}/{new.session.id}")).status_code == 200


async def test_an_ended_session_is_refused_within_the_cache_time(alice: Person, anyone: Client) -> None:
    new = await alice.sign_in()
    assert await status(anyone, new.token) == 200

    ended = await alice.delete(f"{PATH}/{new.session.id}")
    clock.move(REMEMBERED)

    assert ended.status_code == 200
    assert ended.json()["ended_at"] is not None
    assert await status(anyone, new.token) == 401
    assert await ids_of(alice) == []
    assert (await alice.delete(f"{PATH}/{new.session.id}")).status_code == 404


async def test_without_a_cache_time_it_is_refused_at_once(alice: Person, database: Database) -> None:
    new, state = await alice.sign_in(), alice.service.api.state
    tokens = TokenAuthenticator(database, keyring=state.keyring, settings=state.settings, outbound=state.outbound)
    strict = Authenticator(database, cache_s=0, tokens=tokens)
    await strict(Credential("cookie", new.token), fresh=False)

    await alice.delete(f"{PATH}/{new.session.id}")

    kinds: list[Literal["cookie", "bearer"]] = ["cookie", "bearer"]
    for kind in kinds:
        with pytest.raises(CredentialsInvalid, match="has ended"):
            await strict(Credential(kind, new.token), fresh=False)


async def test_a_fresh_check_refuses_it_at_once(alice: Person, anyone: Client) -> None:
    new = await alice.sign_in()
    assert await status(anyone, new.token) == 200
    await alice.delete(f"{PATH}/{new.session.id}")

    answer = await anyone.post("/v1/api-keys", json={}, headers={"Authorization": f"Bearer {new.token}"})

    assert answer.status_code == 401


async def test_a_session_ends_at_its_expiry(alice: Person, anyone: Client) -> None:
    new = await alice.sign_in(kind=SessionKind.TOKEN, lifetime=timedelta(seconds=60))
    clock.move(timedelta(seconds=40))
    assert await status(anyone, new.token) == 200  # and now it is remembered, but no longer than it lasts

    clock.move(timedelta(seconds=21))

    assert await status(anyone, new.token) == 401
    assert await ids_of(alice) == []


@pytest.mark.parametrize(
    ("options", "minutes"),
    [
        ({"kind": SessionKind.LOGIN}, 12 * 60),
        ({"kind": SessionKind.TOKEN}, 15),
        ({"kind": SessionKind.TOKEN, "lifetime": timedelta(hours=99)}, 12 * 60),
    ],
)
async def test_each_kind_lasts_its_time(alice: Person, options: dict[str, Any], minutes: int) -> None:
    session = (await alice.sign_in(**options)).session

    assert session.expires_at - session.created_at == timedelta(minutes=minutes)


async def test_support_stays_an_hour(alice: Person) -> None:
    session = (await alice.admit_support(may_write=True)).session

    assert session.expires_at - session.created_at == timedelta(hours=1)


async def test_the_owner_can_end_a_support_session_but_support_no_other(alice: Person, anyone: Client) -> None:
    mine, support = await alice.sign_in(), await alice.admit_support(may_write=True)
    async with Client(alice.service, token=support.token) as client:
        refused = await client.delete(f"{PATH}/{mine.session.id}")

    assert (refused.status_code, refused.json()["code"]) == (403, "impersonation_forbidden")
    assert (await alice.delete(f"{PATH}/{support.session.id}")).status_code == 200
    clock.move(REMEMBERED)
    assert await status(anyone, support.token) == 401


async def test_a_grant_opens_one_session_whatever_else_goes_wrong(alice: Person) -> None:
    grant = (await alice.admit_support()).session.impersonation

    with pytest.raises(psycopg.errors.UniqueViolation):
        await alice.sign_in(kind=SessionKind.LOGIN_AS, impersonation=grant)


async def test_opening_and_ending_stand_in_the_audit_list(
    alice: Person, conn: psycopg.AsyncConnection[Any]
) -> None:
    new = await alice.sign_in()
    await alice.delete(f"{PATH}/{new.session.id}")
    await alice.admit_support()  # redeeming its grant adds an entry

    about = {"session_id": str(new.session.id), "kind": "login", "signed_in_by": "mail_code"}
    opened = await (await conn.execute(AUDIT, [alice.account.id, "session.opened"])).fetchall()
    ended = await (await conn.execute(AUDIT, [alice.account.id, "session.ended"])).fetchall()
    assert opened == [("user", about)]
    assert ended == [("key", about)]


async def test_old_sessions_are_forgotten(
    alice: Person, database: Database, conn: psycopg.AsyncConnection[Any]
) -> None:
    await alice.sign_in()
    clock.move(KNOWN_NETWORK_AGE)
    await alice.sign_in()
    clock.move(timedelta(days=1))

    await old_rows.delete(database, "identity_sessions")

    assert await (await conn.execute(COUNT, [alice.account.id])).fetchone() == (1,)


async def test_the_token_is_kept_nowhere(alice: Person, conn: psycopg.AsyncConnection[Any]) -> None:
    new = await alice.sign_in()

    row = await (await conn.execute(ROW, [new.session.id])).fetchone()

    assert new.token not in repr(new)
    assert row is not None
    assert new.token.rpartition(".")[2] not in row[0]
