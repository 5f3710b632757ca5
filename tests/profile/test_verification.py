import asyncio
from datetime import datetime, timedelta

import pytest

from builders.kit.values import clock
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.profile.make import CONFIRM, RESEND, VERIFICATION, Json, Office, patch, verification

MOMENT = timedelta(seconds=61)


def at(written: str) -> datetime:
    return datetime.fromisoformat(written)


async def test_an_address_that_the_operator_vouched_for_is_verified(alice: Person) -> None:
    found = await verification(alice)

    assert found == {
        "email": alice.account.email,
        "status": "verified",
        "verified_at": found["verified_at"],
        "pending_email": None,
        "last_sent_at": None,
        "resend_available_at": None,
        "expires_at": None,
        "delivery": None,
    }
    assert found["verified_at"] is not None


async def test_before_anything_was_sent_it_is_unverified(ursula: Person) -> None:
    found = await verification(ursula)

    assert (found["status"], found["verified_at"], found["last_sent_at"]) == ("unverified", None, None)


async def test_a_new_account_is_mailed_its_link_once(ursula: Person, office: Office) -> None:
    [letter] = await office.letters(ursula.account.email)
    found = await verification(ursula)

    assert letter["Subject"] == "Confirm your email address"
    assert (found["status"], found["delivery"]) == ("sent", {"status": "sent", "error": None})
    sent, again, over = (at(found[name]) for name in ("last_sent_at", "resend_available_at", "expires_at"))
    assert (again - sent, over - sent) == (timedelta(seconds=60), timedelta(hours=24))


async def test_a_verified_account_is_mailed_nothing(alice: Person, office: Office) -> None:
    assert await office.letters(alice.account.email) == []


async def test_the_message_is_on_its_way_before_it_has_arrived(ursula: Person) -> None:
    answer = await ursula.post(RESEND)

    assert (answer.status_code, answer.json()["sent"]) == (200, True)
    assert (answer.json()["status"], answer.json()["delivery"]["status"]) == ("sent", "queued")
    assert {name: value for name, value in answer.json().items() if name != "sent"} == await verification(ursula)


async def test_a_link_that_nobody_followed_expires(ursula: Person, office: Office) -> None:
    await office.work()
    clock.move(timedelta(hours=24, seconds=1))

    assert (await verification(ursula))["status"] == "expired"
    assert (await ursula.post(RESEND)).json()["status"] == "sent"


async def test_once_more_too_soon_is_refused_and_said_when(ursula: Person) -> None:
    await ursula.post(RESEND)
    clock.move(timedelta(seconds=20))
    answer = await ursula.post(RESEND)

    assert (answer.status_code, answer.json()["code"]) == (429, "resend_too_soon")
    assert 38 <= answer.json()["retry_after"] <= 40
    assert answer.headers["Retry-After"] == str(answer.json()["retry_after"])

    clock.move(timedelta(seconds=answer.json()["retry_after"]))
    assert (await ursula.post(RESEND)).status_code == 200


async def test_an_address_gets_five_a_day(ursula: Person, office: Office) -> None:
    await office.work()  # the first
    for _ in range(4):
        clock.move(MOMENT)
        assert (await ursula.post(RESEND)).status_code == 200
    clock.move(MOMENT)
    answer = await ursula.post(RESEND)

    assert (answer.status_code, answer.json()["code"]) == (429, "resend_too_soon")
    assert 85_000 < answer.json()["retry_after"] <= 86_400 - 5 * 60
    assert len(await office.tokens(ursula.account.email)) == 5
    found = await verification(ursula)
    assert at(found["resend_available_at"]) > at(found["last_sent_at"]) + timedelta(hours=23)

    clock.move(timedelta(seconds=answer.json()["retry_after"]))
    assert (await ursula.post(RESEND)).status_code == 200
    assert (await ursula.post(RESEND)).status_code == 429


async def test_of_two_at_once_one_is_sent(ursula: Person, office: Office) -> None:
    answers = await asyncio.gather(*(ursula.post(RESEND) for _ in range(5)))

    assert sorted(each.status_code for each in answers) == [200, 429, 429, 429, 429]
    assert len(await office.tokens(ursula.account.email)) == 1


async def test_a_resend_before_the_first_message_is_the_first(ursula: Person, office: Office) -> None:
    await ursula.post(RESEND)

    assert len(await office.tokens(ursula.account.email)) == 1


async def test_with_nothing_to_confirm_nothing_is_sent(alice: Person, office: Office) -> None:
    for _ in range(2):
        answer = await alice.post(RESEND)
        assert (answer.status_code, answer.json()["sent"]) == (200, False)
        assert (answer.json()["status"], answer.json()["resend_available_at"]) == ("verified", None)

    assert await office.letters(alice.account.email) == []


async def test_a_request_repeated_with_its_key_sends_nothing_more(ursula: Person, office: Office) -> None:
    first, second = [await ursula.post(RESEND, headers={"Idempotency-Key": "once"}) for _ in range(2)]

    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json() == second.json()
    assert len(await office.tokens(ursula.account.email)) == 1


async def test_a_new_link_voids_the_one_before(ursula: Person, anyone: Client, office: Office) -> None:
    await ursula.post(RESEND)
    clock.move(MOMENT)
    await ursula.post(RESEND)
    old, new = await office.tokens(ursula.account.email)

    assert (await anyone.get(CONFIRM, params={"token": old})).status_code == 400
    assert (await anyone.get(CONFIRM, params={"token": new})).status_code == 200


async def test_with_a_pending_change_the_new_address_is_asked(alice: Person, office: Office, address: str) -> None:
    await patch(alice, email=address)
    clock.move(MOMENT)
    answer = await alice.post(RESEND)

    assert (answer.json()["sent"], answer.json()["status"]) == (True, "pending_change")
    assert answer.json()["pending_email"] == address
    assert len(await office.tokens(address)) == 2
    assert await office.tokens(alice.account.email) == []


async def test_a_test_key_is_about_the_real_account(ursula: Person) -> None:
    assert (await ursula.test.post(RESEND)).status_code == 200

    assert await verification(ursula.test) == await verification(ursula)
    assert (await ursula.post(RESEND)).status_code == 429


async def test_bob_has_limits_of_his_own(ursula: Person, people: MakePerson) -> None:
    other = await people("bob", verified=False)
    await ursula.post(RESEND)

    assert (await other.post(RESEND)).status_code == 200
    assert (await verification(other))["email"] == other.account.email


async def test_dana_may_ask_too(dana: Person) -> None:
    assert (await dana.post(RESEND)).status_code == 200
    assert (await verification(dana))["status"] == "verified"


@pytest.mark.parametrize(("method", "path"), [("GET", VERIFICATION), ("POST", RESEND)])
async def test_nobody_may_not(anyone: Client, method: str, path: str) -> None:
    assert (await anyone.request(method, path)).status_code == 401


async def test_a_message_that_bounces_is_shown(ursula: Person, office: Office) -> None:
    await office.work()
    async with office.database.connection() as conn:  # as the mail room notes it
        await conn.execute(
            "UPDATE mail_messages SET status = 'bounced', last_error = '550 no such user' WHERE account_id = %s",
            [ursula.account.id],
        )

    found: Json = await verification(ursula)
    assert (found["status"], found["delivery"]) == (
        "bounced",
        {"status": "bounced", "error": "550 no such user"},
    )
