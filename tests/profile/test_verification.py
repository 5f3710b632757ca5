import asyncio
from datetime import datetime, timedelta

import pytest

from builders.kit.values import clock
from tests.cast import Client, Person
from tests.conftest import INSTANT, MakePerson, StopClock
from tests.profile.make import CONFIRM, RESEND, VERIFICATION, Json, ProfileWorker, patch, verification

MOMENT = timedelta(seconds=61)


def at(written: str) -> datetime:
    return datetime.fromisoformat(written)


async def test_an_address_from_the_operator_is_verified(alice: Person) -> None:
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


async def test_the_status_is_unverified_before_the_first_message(ursula: Person) -> None:
    found = await verification(ursula)

    assert (found["status"], found["verified_at"], found["last_sent_at"]) == ("unverified", None, None)


async def test_a_new_account_gets_one_link(ursula: Person, worker: ProfileWorker) -> None:
    [email] = await worker.list_emails(ursula.account.email)
    found = await verification(ursula)

    assert email["Subject"] == "Confirm your email address"
    assert (found["status"], found["delivery"]) == ("sent", {"status": "sent", "error": None})
    sent, again, over = (at(found[name]) for name in ("last_sent_at", "resend_available_at", "expires_at"))
    assert (again - sent, over - sent) == (timedelta(seconds=60), timedelta(hours=24))


async def test_a_verified_account_gets_no_message(alice: Person, worker: ProfileWorker) -> None:
    assert await worker.list_emails(alice.account.email) == []


async def test_the_delivery_is_queued_first(ursula: Person) -> None:
    answer = await ursula.post(RESEND)

    assert (answer.status_code, answer.json()["sent"]) == (200, True)
    assert (answer.json()["status"], answer.json()["delivery"]["status"]) == ("sent", "queued")
    assert {name: value for name, value in answer.json().items() if name != "sent"} == await verification(ursula)


async def test_an_unused_link_expires(ursula: Person, worker: ProfileWorker) -> None:
    await worker.work()
    clock.move(timedelta(hours=24, seconds=1))

    assert (await verification(ursula))["status"] == "expired"
    assert (await ursula.post(RESEND)).json()["status"] == "sent"


async def test_messages_are_sent_at_the_exact_instants(ursula: Person, stop_clock: StopClock) -> None:
    began = clock.now() + timedelta(days=2)  # nothing of the sign-up counts
    minute, day = timedelta(seconds=60), timedelta(days=1)

    async def resend(at: datetime) -> int:
        stop_clock(at)
        return (await ursula.post(RESEND)).status_code

    sent = [await resend(began), await resend(began + minute - INSTANT), await resend(began + minute)]
    assert sent == [200, 429, 200]
    assert [await resend(began + number * minute) for number in (2, 3, 4, 5)] == [200, 200, 200, 429]
    assert at((await verification(ursula))["resend_available_at"]) == began + day
    assert await resend(began + day - INSTANT) == 429
    stop_clock(began + day)
    assert at((await verification(ursula))["resend_available_at"]) == began + 5 * minute
    assert await resend(began + day) == 200


async def test_an_early_resend_is_refused_with_a_time(ursula: Person) -> None:
    await ursula.post(RESEND)
    clock.move(timedelta(seconds=20))
    answer = await ursula.post(RESEND)

    assert (answer.status_code, answer.json()["code"]) == (429, "resend_too_soon")
    assert 38 <= answer.json()["retry_after"] <= 40
    assert answer.headers["Retry-After"] == str(answer.json()["retry_after"])

    clock.move(timedelta(seconds=answer.json()["retry_after"]))
    assert (await ursula.post(RESEND)).status_code == 200


@pytest.mark.maximum("verifications_of_address")
async def test_an_address_gets_five_messages_a_day(ursula: Person, worker: ProfileWorker) -> None:
    await worker.work()  # the first
    for _ in range(4):
        clock.move(MOMENT)
        assert (await ursula.post(RESEND)).status_code == 200
    clock.move(MOMENT)
    answer = await ursula.post(RESEND)

    assert (answer.status_code, answer.json()["code"]) == (429, "resend_too_soon")
    assert 85_000 < answer.json()["retry_after"] <= 86_400 - 5 * 60
    assert len(await worker.tokens(ursula.account.email)) == 5
    found = await verification(ursula)
    assert at(found["resend_available_at"]) > at(found["last_sent_at"]) + timedelta(hours=23)

    clock.move(timedelta(seconds=answer.json()["retry_after"]))
    assert (await ursula.post(RESEND)).status_code == 200
    assert (await ursula.post(RESEND)).status_code == 429


async def test_concurrent_requests_send_one_message(ursula: Person, worker: ProfileWorker) -> None:
    answers = await asyncio.gather(*(ursula.post(RESEND) for _ in range(5)))

    assert sorted(each.status_code for each in answers) == [200, 429, 429, 429, 429]
    assert len(await worker.tokens(ursula.account.email)) == 1


async def test_a_resend_before_the_first_message_replaces_it(ursula: Person, worker: ProfileWorker) -> None:
    await ursula.post(RESEND)

    assert len(await worker.tokens(ursula.account.email)) == 1


async def test_a_verified_address_is_not_sent_again(alice: Person, worker: ProfileWorker) -> None:
    for _ in range(2):
        answer = await alice.post(RESEND)
        assert (answer.status_code, answer.json()["sent"]) == (200, False)
        assert (answer.json()["status"], answer.json()["resend_available_at"]) == ("verified", None)

    assert await worker.list_emails(alice.account.email) == []


async def test_a_repeated_idempotency_key_sends_no_message(ursula: Person, worker: ProfileWorker) -> None:
    first, second = [await ursula.post(RESEND, headers={"Idempotency-Key": "once"}) for _ in range(2)]

    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json() == second.json()
    assert len(await worker.tokens(ursula.account.email)) == 1


async def test_a_new_link_replaces_the_previous_one(ursula: Person, anyone: Client, worker: ProfileWorker) -> None:
    await ursula.post(RESEND)
    clock.move(MOMENT)
    await ursula.post(RESEND)
    old, new = await worker.tokens(ursula.account.email)

    assert (await anyone.get(CONFIRM, params={"token": old})).status_code == 400
    assert (await anyone.get(CONFIRM, params={"token": new})).status_code == 200


async def test_a_resend_goes_to_the_pending_address(alice: Person, worker: ProfileWorker, address: str) -> None:
    await patch(alice, email=address)
    clock.move(MOMENT)
    answer = await alice.post(RESEND)

    assert (answer.json()["sent"], answer.json()["status"]) == (True, "pending_change")
    assert answer.json()["pending_email"] == address
    assert len(await worker.tokens(address)) == 2
    assert await worker.tokens(alice.account.email) == []


async def test_a_test_key_acts_on_the_real_account(ursula: Person) -> None:
    assert (await ursula.test.post(RESEND)).status_code == 200

    assert await verification(ursula.test) == await verification(ursula)
    assert (await ursula.post(RESEND)).status_code == 429


async def test_bob_has_his_own_limits(ursula: Person, people: MakePerson) -> None:
    other = await people("bob", verified=False)
    await ursula.post(RESEND)

    assert (await other.post(RESEND)).status_code == 200
    assert (await verification(other))["email"] == other.account.email


async def test_dana_can_request_a_message(dana: Person) -> None:
    assert (await dana.post(RESEND)).status_code == 200
    assert (await verification(dana))["status"] == "verified"


@pytest.mark.parametrize(("method", "path"), [("GET", VERIFICATION), ("POST", RESEND)])
async def test_without_credentials_the_response_is_401(anyone: Client, method: str, path: str) -> None:
    assert (await anyone.request(method, path)).status_code == 401


async def test_a_bounced_message_is_shown(ursula: Person, worker: ProfileWorker) -> None:
    await worker.work()
    async with worker.database.connection() as conn:  # as `mail` stores it
        await conn.execute(
            "UPDATE mail_messages SET status = 'bounced', last_error = '550 no such user' WHERE account_id = %s",
            [ursula.account.id],
        )

    found: Json = await verification(ursula)
    assert (found["status"], found["delivery"]) == (
        "bounced",
        {"status": "bounced", "error": "550 no such user"},
    )
