import asyncio
import json
import re
from datetime import timedelta

import httpx
import pytest

from builders.app import Service
from builders.identity import signing_in
from builders.identity.signing_in import ALPHABET, MOST_TRIES, MOST_TRIES_IN_ALL
from builders.identity.store import sessions as session_store
from builders.kit import clock
from builders.kit.db import Conn
from builders.kit.errors import DatabaseAway
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.identity.letters import Letter, Postbox

LOGIN = "/v1/auth/login"
REDEEM = "/v1/auth/login/redeem"
SESSION = "/v1/auth/session"
SHORT, DAY = signing_in.CAPS
TRIES = "SELECT tries FROM identity_sign_ins WHERE address = %s ORDER BY id DESC LIMIT 1"


def at(service: Service, address: str) -> Client:
    """Somebody without credentials who asks from the address."""
    client = Client(service)
    client._transport = httpx.ASGITransport(app=service, client=(address, 7))
    return client


def by_code(letter: Letter) -> dict[str, str]:
    return {"email": letter.to, "code": letter.code}


def other(code: str) -> str:
    """A wrong code of the right form."""
    return code[:-1] + next(each for each in ALPHABET if each != code[-1])


def without_request_id(text: str) -> str:
    return re.sub(r'"request_id": ?"\w+"', "", text)


async def test_a_person_signs_in_with_the_code_that_is_mailed(
    anyone: Client, alice: Person, postbox: Postbox
) -> None:
    letter = await postbox.ask(anyone, alice.account.email)
    answer = await anyone.post(REDEEM, json=by_code(letter), headers={"User-Agent": "test/1"})

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
    letter = await postbox.ask(anyone, alice.account.email)
    answer = await anyone.post(REDEEM, json=by_code(letter))

    assert anyone.cookies["svc_access_token"] not in answer.text
    assert letter.code not in answer.text


async def test_a_person_signs_in_with_the_links_token(anyone: Client, alice: Person, postbox: Postbox) -> None:
    letter = await postbox.ask(anyone, alice.account.email)

    answer = await anyone.post(REDEEM, json={"token": letter.token})

    assert answer.status_code == 200
    assert answer.json()["account"]["email"] == alice.account.email
    assert letter.link.startswith("http://builders.test/v1/auth/login?token=")


@pytest.mark.parametrize("written", [str.lower, lambda code: code.replace("-", ""), lambda code: f" {code} "])
async def test_a_code_may_be_written_as_people_do(
    anyone: Client, alice: Person, postbox: Postbox, written: type[str]
) -> None:
    letter = await postbox.ask(anyone, alice.account.email)

    answer = await anyone.post(REDEEM, json={"email": letter.to.upper(), "code": written(letter.code)})

    assert answer.status_code == 200


@pytest.mark.parametrize("form", ["code", "token"])
async def test_a_letter_is_good_once(anyone: Client, alice: Person, postbox: Postbox, form: str) -> None:
    letter = await postbox.ask(anyone, alice.account.email)
    first = await anyone.post(REDEEM, json=by_code(letter) if form == "code" else {"token": letter.token})

    again = [await anyone.post(REDEEM, json=each) for each in (by_code(letter), {"token": letter.token})]

    assert first.status_code == 200
    assert [(each.status_code, each.json()["code"]) for each in again] == [(400, "token_invalid")] * 2


@pytest.mark.parametrize("form", ["code", "token"])
async def test_of_twenty_at_once_one_signs_in(anyone: Client, alice: Person, postbox: Postbox, form: str) -> None:
    letter = await postbox.ask(anyone, alice.account.email)
    sent = by_code(letter) if form == "code" else {"token": letter.token}

    answers = await asyncio.gather(*(anyone.post(REDEEM, json=sent) for _ in range(20)))

    assert sorted(each.status_code for each in answers) == [200] + [400] * 19
    assert len((await alice.get("/v1/auth/sessions")).json()["items"]) == 1


async def test_a_code_is_good_for_a_quarter_of_an_hour(anyone: Client, alice: Person, postbox: Postbox) -> None:
    letter = await postbox.ask(anyone, alice.account.email)
    clock.move(timedelta(minutes=15))

    answers = [await anyone.post(REDEEM, json=each) for each in (by_code(letter), {"token": letter.token})]

    assert {each.status_code for each in answers} == {400}


async def test_a_newer_code_voids_the_older_one(anyone: Client, alice: Person, postbox: Postbox) -> None:
    older = await postbox.ask(anyone, alice.account.email)
    newer = await postbox.ask(anyone, alice.account.email)

    assert (await anyone.post(REDEEM, json={"token": older.token})).status_code == 400
    assert (await anyone.post(REDEEM, json=by_code(older))).status_code == 400
    assert (await anyone.post(REDEEM, json=by_code(newer))).status_code == 200


async def test_after_five_wrong_tries_the_right_code_is_refused_too(
    anyone: Client, alice: Person, postbox: Postbox
) -> None:
    letter = await postbox.ask(anyone, alice.account.email)
    wrong = {"email": letter.to, "code": other(letter.code)}
    tries = await asyncio.gather(*(anyone.post(REDEEM, json=wrong) for _ in range(MOST_TRIES)))

    answer = await anyone.post(REDEEM, json=by_code(letter))

    assert {each.status_code for each in tries} == {400}
    assert answer.status_code == 400
    assert (await anyone.post(REDEEM, json={"token": letter.token})).status_code == 200  # which nobody guesses


async def test_after_four_wrong_tries_the_right_code_is_taken(
    anyone: Client, alice: Person, postbox: Postbox
) -> None:
    letter = await postbox.ask(anyone, alice.account.email)
    for _ in range(MOST_TRIES - 1):
        await anyone.post(REDEEM, json={"email": letter.to, "code": other(letter.code)})

    assert (await anyone.post(REDEEM, json=by_code(letter))).status_code == 200


async def test_one_persons_code_is_not_anothers(
    anyone: Client, alice: Person, bob: Person, postbox: Postbox
) -> None:
    hers = await postbox.ask(anyone, alice.account.email)
    his = await postbox.ask(anyone, bob.account.email)

    answer = await anyone.post(REDEEM, json={"email": his.to, "code": hers.code})

    assert answer.status_code == 400
    assert (await anyone.post(REDEEM, json=by_code(hers))).json()["account"]["id"] == str(alice.account.id)


async def test_every_bad_code_gets_the_same_answer(anyone: Client, alice: Person, postbox: Postbox) -> None:
    letter = await postbox.ask(anyone, alice.account.email)
    await anyone.post(REDEEM, json=by_code(letter))
    answers = [
        await anyone.post(REDEEM, json=each)
        for each in (
            by_code(letter),
            {"email": letter.to, "code": other(letter.code)},
            {"email": "nobody@example.net", "code": letter.code},
            {"email": letter.to, "code": ""},
            {"email": letter.to, "code": "ünïcödé"},
            {"token": letter.token},
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
async def test_what_is_no_address_is_named(anyone: Client, email: object) -> None:
    answer = await anyone.post(LOGIN, json={"email": email})

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "email"]


async def test_a_network_gets_three_letters_for_an_address_in_a_quarter_of_an_hour(
    anyone: Client, alice: Person, postbox: Postbox
) -> None:
    address = alice.account.email
    answers = [await anyone.post(LOGIN, json={"email": address}) for _ in range(SHORT.to_network + 3)]
    sent = await postbox.all_for(address)
    clock.move(timedelta(minutes=5))
    await anyone.post(LOGIN, json={"email": address})
    later = await postbox.all_for(address)
    clock.move(timedelta(minutes=10))
    last = await postbox.ask(anyone, address)

    assert {(each.status_code, each.text) for each in answers} == {(200, answers[0].text)}
    assert 1 <= len(sent) <= SHORT.to_network
    assert len(later) <= SHORT.to_network
    assert last not in later
    assert (await anyone.post(REDEEM, json=by_code(last))).status_code == 200


async def test_asked_one_by_one_the_next_letter_is_not_sent_and_the_newest_stays_good(
    anyone: Client, alice: Person, postbox: Postbox
) -> None:
    letters = [await postbox.ask(anyone, alice.account.email) for _ in range(SHORT.to_network + 1)]

    assert letters[-1] == letters[-2]
    assert len({letter.code for letter in letters}) == SHORT.to_network
    assert (await anyone.post(REDEEM, json=by_code(letters[-1]))).status_code == 200


async def test_an_address_gets_twenty_letters_a_day(service: Service, alice: Person, postbox: Postbox) -> None:
    address = alice.account.email
    home = [at(service, f"203.0.113.{n}") for n in (7, 8)]
    await home[0].post(REDEEM, json=by_code(await postbox.ask(home[0], address)))
    for _ in range(9):
        for network in range(10):
            await at(service, f"198.51.{network}.7").post(LOGIN, json={"email": address})
        await home[1].post(LOGIN, json={"email": address})
        await postbox.all_for(address)
        clock.move(timedelta(minutes=16))

    assert len(await postbox.all_for(address)) == DAY.in_all


async def test_strangers_do_not_keep_out_who_is_known(service: Service, alice: Person, postbox: Postbox) -> None:
    address, home = alice.account.email, at(service, "203.0.113.7")
    await home.post(REDEEM, json=by_code(await postbox.ask(home, address)))
    clock.move(timedelta(days=2))
    for _ in range(9):  # more than a day's letters, from more networks than one
        for network in range(9):
            await at(service, f"198.51.{network}.7").post(LOGIN, json={"email": address})
        await postbox.all_for(address)
        clock.move(timedelta(minutes=16))
    strangers = await postbox.all_for(address)
    mine = await postbox.ask(at(service, "203.0.113.9"), address)

    assert len(strangers) == 1 + DAY.to_strangers
    assert mine not in strangers
    assert (await home.post(REDEEM, json=by_code(mine))).status_code == 200


async def test_one_network_does_not_use_up_what_strangers_have(
    service: Service, alice: Person, postbox: Postbox
) -> None:
    address, away = alice.account.email, at(service, "203.0.113.7")
    for _ in range(20):
        await at(service, "198.51.100.7").post(LOGIN, json={"email": address})
    theirs = await postbox.all_for(address)
    mine = await postbox.ask(away, address)

    assert mine not in theirs
    assert (await away.post(REDEEM, json=by_code(mine))).status_code == 200


async def test_wrong_codes_from_elsewhere_leave_the_code_and_the_link_good(
    service: Service, alice: Person, postbox: Postbox
) -> None:
    home, there = at(service, "203.0.113.7"), at(service, "198.51.100.7")
    for proof in ("code", "link"):
        letter = await postbox.ask(home, alice.account.email)
        wrong = {"email": letter.to, "code": other(letter.code)}
        await asyncio.gather(*(there.post(REDEEM, json=wrong) for _ in range(3 * MOST_TRIES)))

        assert (await there.post(REDEEM, json=by_code(letter))).status_code == 400  # their tries are used up
        mine = by_code(letter) if proof == "code" else {"token": letter.token}
        assert (await home.post(REDEEM, json=mine)).status_code == 200


async def test_all_networks_together_have_fifty_tries_of_a_code(
    service: Service, alice: Person, postbox: Postbox, conn: Conn
) -> None:
    home = at(service, "203.0.113.7")
    letter = await postbox.ask(home, alice.account.email)
    wrong = {"email": letter.to, "code": other(letter.code)}
    crowd = [at(service, f"198.51.{n}.7") for n in range(MOST_TRIES_IN_ALL // MOST_TRIES + 2)]
    for _ in range(MOST_TRIES + 1):
        await asyncio.gather(*(each.post(REDEEM, json=wrong) for each in crowd))

    [[tries]] = await (await conn.execute(TRIES, [letter.to])).fetchall()
    assert tries == MOST_TRIES_IN_ALL
    assert (await home.post(REDEEM, json=by_code(letter))).status_code == 400
    assert (await home.post(REDEEM, json={"token": letter.token})).status_code == 200


@pytest.mark.parametrize(
    ("one", "other_one"), [("198.51.100.7", "198.51.100.99"), ("::ffff:198.51.100.7", "198.51.100.9")]
)
async def test_addresses_of_one_network_are_one_client(
    service: Service, alice: Person, postbox: Postbox, one: str, other_one: str
) -> None:
    letter = await postbox.ask(at(service, one), alice.account.email)
    for _ in range(MOST_TRIES):
        await at(service, one).post(REDEEM, json={"email": letter.to, "code": other(letter.code)})

    assert (await at(service, other_one).post(REDEEM, json=by_code(letter))).status_code == 400


async def test_who_is_not_told_of_the_session_has_not_used_up_the_code(
    anyone: Client, alice: Person, postbox: Postbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise DatabaseAway("Just now.")

    letter = await postbox.ask(anyone, alice.account.email)
    with monkeypatch.context() as patch:
        patch.setattr(session_store, "find_session", away)
        refused = await anyone.post(REDEEM, json=by_code(letter))

    assert (refused.status_code, (await anyone.post(REDEEM, json=by_code(letter))).status_code) == (503, 200)


async def test_signing_in_proves_the_address(anyone: Client, people: MakePerson, postbox: Postbox) -> None:
    person = await people("carl", verified=False)
    letter = await postbox.ask(anyone, person.account.email)
    before = (await person.get(SESSION)).json()["account"]["email_verified"]

    session = (await anyone.post(REDEEM, json=by_code(letter))).json()

    assert (before, session["account"]["email_verified"]) == (False, True)


async def test_a_code_for_an_address_that_the_account_gave_up_is_no_good(
    anyone: Client, alice: Person, postbox: Postbox, conn: Conn
) -> None:
    letter = await postbox.ask(anyone, alice.account.email)
    await conn.execute("UPDATE identity_accounts SET email = 'new-' || email WHERE id = %s", [alice.account.id])

    answers = [await anyone.post(REDEEM, json=each) for each in (by_code(letter), {"token": letter.token})]

    assert {each.status_code for each in answers} == {400}


async def test_the_audit_list_shows_the_sign_in_and_the_sign_out(
    anyone: Client, alice: Person, bob: Person, postbox: Postbox
) -> None:
    letter = await postbox.ask(anyone, alice.account.email)
    session = (await anyone.post(REDEEM, json=by_code(letter))).json()["session"]
    await anyone.post("/v1/auth/logout", headers={"Sec-Fetch-Site": "same-origin"})

    ended, opened = (await alice.get("/v1/account/audit")).json()["items"][:2]

    assert (opened["action"], ended["action"]) == ("session.opened", "session.ended")
    assert opened["about"]["session_id"] == ended["about"]["session_id"] == session["id"]
    assert opened["actor"]["type"] == ended["actor"]["type"] == "user"
    assert (await anyone.get(SESSION)).status_code == 401
    assert session["id"] not in json.dumps((await bob.get("/v1/account/audit")).json())
