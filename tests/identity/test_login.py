import asyncio
import json
import re
from datetime import timedelta

import pytest

from builders.identity.sessions import ALPHABET, MAX_NETWORK_TRIES
from builders.identity.store import accounts as account_store
from builders.kit.db.connections import Conn
from builders.kit.errors import DatabaseUnavailable
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.identity.sign_in_messages import Postbox, SignInMessage

LOGIN = "/v1/auth/login"
REDEEM = "/v1/auth/login/redeem"
SESSION = "/v1/auth/session"


def by_code(message: SignInMessage) -> dict[str, str]:
    return {"email": message.to, "code": message.code}


def other(code: str) -> str:
    """Return a wrong code of the right format."""
    return code[:-1] + next(each for each in ALPHABET if each != code[-1])


def without_request_id(text: str) -> str:
    return re.sub(r'"request_id": ?"\w+"', "", text)


async def test_a_person_signs_in_with_the_code_that_is_mailed(
    anyone: Client, alice: Person, postbox: Postbox
) -> None:
    message = await postbox.ask(anyone, alice.account.email)
    answer = await anyone.post(REDEEM, json=by_code(message), headers={"User-Agent": "test/1"})

    assert answer.status_code == 200, answer.text
    cookie = answer.headers["set-cookie"]
    assert re.fullmatch(r"svc_access_token=[\w.-]+; Max-Age=\d+; Path=/; HttpOnly; SameSite=Lax", cookie)
    session = (await anyone.get(SESSION)).json()  # by the cookie that the client keeps
    assert {**answer.json(), "warnings": None} == {**session, "warnings": None}
    assert session["method"] == "cookie"
    assert session["account"]["id"] == str(alice.account.id)
    assert session["impersonation"] is None
    [listed] = (await anyone.get("/v1/auth/sessions")).json()["items"]
    assert (listed["user_agent"], listed["current"]) == ("test/1", True)


async def test_the_token_is_in_the_cookie_alone(anyone: Client, alice: Person, postbox: Postbox) -> None:
    message = await postbox.ask(anyone, alice.account.email)
    answer = await anyone.post(REDEEM, json=by_code(message))

    assert anyone.cookies["svc_access_token"] not in answer.text
    assert message.code not in answer.text


async def test_a_person_signs_in_with_the_links_token(anyone: Client, alice: Person, postbox: Postbox) -> None:
    message = await postbox.ask(anyone, alice.account.email)

    answer = await anyone.post(REDEEM, json={"token": message.token})

    assert answer.status_code == 200
    assert answer.json()["account"]["email"] == alice.account.email
    assert message.link.startswith("http://builders.test/v1/auth/login?token=")


@pytest.mark.parametrize("written", [str.lower, lambda code: code.replace("-", ""), lambda code: f" {code} "])
async def test_a_code_may_be_written_as_people_do(
    anyone: Client, alice: Person, postbox: Postbox, written: type[str]
) -> None:
    message = await postbox.ask(anyone, alice.account.email)

    answer = await anyone.post(REDEEM, json={"email": message.to.upper(), "code": written(message.code)})

    assert answer.status_code == 200


@pytest.mark.parametrize("form", ["code", "token"])
async def test_a_message_works_once(anyone: Client, alice: Person, postbox: Postbox, form: str) -> None:
    message = await postbox.ask(anyone, alice.account.email)
    first = await anyone.post(REDEEM, json=by_code(message) if form == "code" else {"token": message.token})

    again = [await anyone.post(REDEEM, json=each) for each in (by_code(message), {"token": message.token})]

    assert first.status_code == 200
    assert [(each.status_code, each.json()["code"]) for each in again] == [(400, "token_invalid")] * 2


@pytest.mark.parametrize("form", ["code", "token"])
async def test_of_twenty_concurrent_logins_one_succeeds(
    anyone: Client, alice: Person, postbox: Postbox, form: str
) -> None:
    message = await postbox.ask(anyone, alice.account.email)
    sent = by_code(message) if form == "code" else {"token": message.token}

    answers = await asyncio.gather(*(anyone.post(REDEEM, json=sent) for _ in range(20)))

    assert sorted(each.status_code for each in answers) == [200] + [400] * 19
    assert len((await alice.get("/v1/auth/sessions")).json()["items"]) == 1


async def test_a_code_is_valid_for_15_minutes(anyone: Client, alice: Person, postbox: Postbox) -> None:
    message = await postbox.ask(anyone, alice.account.email)
    clock.move(timedelta(minutes=15))

    answers = [await anyone.post(REDEEM, json=each) for each in (by_code(message), {"token": message.token})]

    assert {each.status_code for each in answers} == {400}


async def test_a_newer_code_ends_the_older_one(anyone: Client, alice: Person, postbox: Postbox) -> None:
    older = await postbox.ask(anyone, alice.account.email)
    newer = await postbox.ask(anyone, alice.account.email)

    assert (await anyone.post(REDEEM, json={"token": older.token})).status_code == 400
    assert (await anyone.post(REDEEM, json=by_code(older))).status_code == 400
    assert (await anyone.post(REDEEM, json=by_code(newer))).status_code == 200


async def test_after_five_wrong_tries_the_right_code_is_refused_too(
    anyone: Client, alice: Person, postbox: Postbox
) -> None:
    message = await postbox.ask(anyone, alice.account.email)
    wrong = {"email": message.to, "code": other(message.code)}
    tries = await asyncio.gather(*(anyone.post(REDEEM, json=wrong) for _ in range(MAX_NETWORK_TRIES)))

    answer = await anyone.post(REDEEM, json=by_code(message))

    assert {each.status_code for each in tries} == {400}
    assert answer.status_code == 400
    assert (await anyone.post(REDEEM, json={"token": message.token})).status_code == 200  # which nobody guesses


async def test_after_four_wrong_tries_the_right_code_is_taken(
    anyone: Client, alice: Person, postbox: Postbox
) -> None:
    message = await postbox.ask(anyone, alice.account.email)
    for _ in range(MAX_NETWORK_TRIES - 1):
        await anyone.post(REDEEM, json={"email": message.to, "code": other(message.code)})

    assert (await anyone.post(REDEEM, json=by_code(message))).status_code == 200


async def test_one_persons_code_is_not_anothers(
    anyone: Client, alice: Person, bob: Person, postbox: Postbox
) -> None:
    hers = await postbox.ask(anyone, alice.account.email)
    his = await postbox.ask(anyone, bob.account.email)

    answer = await anyone.post(REDEEM, json={"email": his.to, "code": hers.code})

    assert answer.status_code == 400
    assert (await anyone.post(REDEEM, json=by_code(hers))).json()["account"]["id"] == str(alice.account.id)


async def test_every_bad_code_gets_the_same_answer(anyone: Client, alice: Person, postbox: Postbox) -> None:
    message = await postbox.ask(anyone, alice.account.email)
    await anyone.post(REDEEM, json=by_code(message))
    answers = [
        await anyone.post(REDEEM, json=each)
        for each in (
            by_code(message),
            {"email": message.to, "code": other(message.code)},
            {"email": "nobody@example.net", "code": message.code},
            {"email": message.to, "code": ""},
            {"email": message.to, "code": "ünïcödé"},
            {"token": message.token},
            {"token": "x"},
        )
    ]

    assert {(each.status_code, without_request_id(each.text)) for each in answers} == {
        (400, without_request_id(answers[0].text))
    }


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"email": "ada@example.net"},
        {"code": "ABCDEFGH"},
        {"email": "ada@example.net", "code": "x", "token": "y"},
        {"email": "ada@example.net", "token": "y"},
        {"email": "no address", "code": "x"},
        {"token": 7},
    ],
)
async def test_half_a_proof_is_refused(anyone: Client, body: dict[str, object]) -> None:
    assert (await anyone.post(REDEEM, json=body)).status_code == 422


@pytest.mark.parametrize(
    "email", ["", "ada", "ada@", "@example.net", "a b@example.net", "x" * 250 + "@example.net", 7]
)
async def test_an_invalid_address_is_refused_with_its_location(anyone: Client, email: object) -> None:
    answer = await anyone.post(LOGIN, json={"email": email})

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "email"]


async def test_a_failed_login_does_not_use_up_the_code(
    anyone: Client, alice: Person, postbox: Postbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise DatabaseUnavailable("Just now.")

    message = await postbox.ask(anyone, alice.account.email)
    with monkeypatch.context() as patch:
        patch.setattr(account_store, "find_account", away)
        refused = await anyone.post(REDEEM, json=by_code(message))

    assert (refused.status_code, (await anyone.post(REDEEM, json=by_code(message))).status_code) == (503, 200)


async def test_a_login_verifies_the_address(anyone: Client, people: MakePerson, postbox: Postbox) -> None:
    person = await people("carl", verified=False)
    message = await postbox.ask(anyone, person.account.email)
    before = (await person.get(SESSION)).json()["account"]["email_verified"]

    session = (await anyone.post(REDEEM, json=by_code(message))).json()

    assert (before, session["account"]["email_verified"]) == (False, True)


async def test_a_code_for_a_former_address_is_refused(
    anyone: Client, alice: Person, postbox: Postbox, conn: Conn
) -> None:
    message = await postbox.ask(anyone, alice.account.email)
    await conn.execute("UPDATE identity_accounts SET email = 'new-' || email WHERE id = %s", [alice.account.id])

    answers = [await anyone.post(REDEEM, json=each) for each in (by_code(message), {"token": message.token})]

    assert {each.status_code for each in answers} == {400}


async def test_the_audit_list_shows_the_sign_in_and_the_sign_out(
    anyone: Client, alice: Person, bob: Person, postbox: Postbox
) -> None:
    message = await postbox.ask(anyone, alice.account.email)
    session = (await anyone.post(REDEEM, json=by_code(message))).json()["session"]
    await anyone.post("/v1/auth/logout", headers={"Sec-Fetch-Site": "same-origin"})

    ended, opened = (await alice.get("/v1/account/audit")).json()["items"][:2]

    assert (opened["action"], ended["action"]) == ("session.opened", "session.ended")
    assert opened["about"]["session_id"] == ended["about"]["session_id"] == session["id"]
    assert opened["actor"]["type"] == ended["actor"]["type"] == "user"
    assert (await anyone.get(SESSION)).status_code == 401
    assert session["id"] not in json.dumps((await bob.get("/v1/account/audit")).json())
