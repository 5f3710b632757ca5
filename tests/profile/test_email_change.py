import asyncio
from datetime import timedelta

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import TokenInvalid
from builders.kit.process import secret_keys
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.profile import verification as profile_verification
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.identity.make import need_person
from tests.profile.make import (
    CONFIRM,
    ME,
    Json,
    ProfileWorker,
    audited,
    me,
    patch,
    published,
    steps,
    text,
    verification,
)

MOMENT = timedelta(seconds=61)


async def follow(client: Client, token: str) -> tuple[int, Json]:
    answer = await client.get(CONFIRM, params={"token": token})
    body: Json = answer.json()
    return answer.status_code, body


async def test_a_new_address_is_pending_until_confirmed(
    alice: Person, anyone: Client, worker: ProfileWorker, address: str
) -> None:
    profile = await patch(alice, email=f" {address.upper()} ")
    assert (profile["email"], profile["pending_email"]) == (alice.account.email, address)
    assert (await verification(alice))["status"] == "pending_change"

    assert (await follow(anyone, await worker.token(address)))[1]["status"] == "confirmed"
    profile = await me(alice)
    assert (profile["email"], profile["pending_email"], profile["email_verified"]) == (address, None, True)
    assert (await verification(alice))["status"] == "verified"


async def test_account_and_sandbox_account_change_together(
    alice: Person, anyone: Client, worker: ProfileWorker, address: str, conn: Conn
) -> None:
    await patch(alice, email=address)
    await follow(anyone, await worker.token(address))

    found = await conn.execute("SELECT id FROM identity_accounts WHERE email = %s", [address])
    assert {row[0] for row in await found.fetchall()} == {alice.account.id, alice.account.sandbox_id}
    assert (await me(alice.test))["email"] == address


async def test_the_old_address_is_notified_with_the_new_one_masked(
    alice: Person, worker: ProfileWorker, address: str
) -> None:
    await patch(alice, email=address)

    [email] = await worker.list_emails(alice.account.email)
    assert email["Subject"] == "A change of your account's email address was requested"
    assert "n***@example.net" in text(email).replace("\u2068", "").replace("\u2069", "")
    assert address not in text(email)
    assert await worker.tokens(alice.account.email) == []


@pytest.mark.parametrize("own", [True, False])
async def test_a_test_key_cannot_change_the_address(
    alice: Person, worker: ProfileWorker, address: str, *, own: bool
) -> None:
    """The recipient of the address can sign in and create live keys."""
    body = {"company": "Engines", "email": alice.account.email if own else address}
    answer = await alice.test.patch(ME, json=body)

    assert (answer.status_code, answer.json()["code"]) == (403, "live_key_required")
    assert ((await me(alice))["pending_email"], (await me(alice))["company"]) == (None, None)
    assert await worker.list_emails(address) == await worker.list_emails(alice.account.email) == []


async def test_a_key_moves_no_account_that_needs_a_person_to_its_own_mailbox(
    alice: Person, worker: ProfileWorker, address: str, database: Database
) -> None:
    """Who receives the mail of the address can sign in, and would approve the plans of the key."""
    await need_person(database, alice)

    answer = await alice.patch(ME, json={"email": address})

    assert (answer.status_code, answer.json()["code"]) == (403, "person_required")
    assert (await me(alice))["pending_email"] is None
    assert await worker.list_emails(address) == []


async def test_a_bearer_token_moves_it_neither(alice: Person, address: str, database: Database) -> None:
    await need_person(database, alice)
    async with Client(alice.service, token=(await alice.sign_in()).token) as bearer:
        answer = await bearer.patch(ME, json={"email": address})

    assert (answer.status_code, answer.json()["code"]) == (403, "person_required")


async def test_a_person_moves_it_soon_after_signing_in_and_the_old_address_is_notified(
    alice: Person, anyone: Client, worker: ProfileWorker, address: str, database: Database
) -> None:
    await need_person(database, alice)
    async with alice.browser() as browser:
        with clock.moved(timedelta(minutes=10, seconds=2)):
            late = await browser.patch(ME, json={"email": address})
        await patch(browser, email=address)
    await follow(anyone, await worker.token(address))

    assert (late.status_code, late.json()["code"]) == (401, "fresh_sign_in_required")
    assert (await me(alice))["email"] == address
    assert len(await worker.list_emails(alice.account.email)) == 2  # at the request and at the change


async def test_a_key_still_changes_the_rest_of_the_profile(alice: Person, database: Database) -> None:
    await need_person(database, alice)

    assert (await patch(alice, company="Engines", email=alice.account.email))["company"] == "Engines"


async def test_the_old_address_is_notified_of_the_change(
    alice: Person, anyone: Client, worker: ProfileWorker, address: str
) -> None:
    await patch(alice, email=address)
    token = await worker.token(address)
    for _ in range(2):
        await follow(anyone, token)

    [_, email] = await worker.list_emails(alice.account.email)
    assert email["Subject"] == "The email address of your account has changed"
    assert "n***@example.net" in text(email)
    assert address not in text(email)
    assert len(await worker.list_emails(address)) == 1


async def test_a_change_is_published_and_audited(
    alice: Person, anyone: Client, worker: ProfileWorker, address: str, conn: Conn
) -> None:
    await patch(alice, email=address)
    await follow(anyone, await worker.token(address))

    assert await published(conn, alice, "email.changed") == [
        {"email": address, "previous_email": alice.account.email}
    ]
    assert [each["email"] for each in await published(conn, alice, "email.verified")] == [address]
    [asked], [changed] = await audited(alice, "email.change_requested"), await audited(alice, "email.changed")
    assert asked["actor"]["type"] == "key"
    assert changed["actor"]["type"] == "user"
    assert asked["about"] == changed["about"] == {"from": "a***@example.net", "to": "n***@example.net"}


async def test_the_present_address_cancels_a_change(
    alice: Person, anyone: Client, worker: ProfileWorker, address: str
) -> None:
    await patch(alice, email=address)
    token = await worker.token(address)
    before = await me(alice)
    profile = await patch(alice, email=alice.account.email.upper())

    assert (profile["pending_email"], profile["version"]) == (None, before["version"] + 1)
    assert (await follow(anyone, token))[0] == 400
    assert (await me(alice))["email"] == alice.account.email
    assert (await verification(alice))["status"] == "verified"


async def test_the_present_address_with_no_change_pending_does_nothing(
    alice: Person, worker: ProfileWorker
) -> None:
    assert (await patch(alice, email=alice.account.email))["version"] == 1
    assert await worker.list_emails(alice.account.email) == []


async def test_a_repeated_request_sends_no_message(alice: Person, worker: ProfileWorker, address: str) -> None:
    first, second = [await patch(alice, email=address) for _ in range(2)]

    assert first["version"] == second["version"]
    assert len(await worker.list_emails(address)) == len(await worker.list_emails(alice.account.email)) == 1


async def test_a_third_address_replaces_the_second(
    alice: Person, anyone: Client, worker: ProfileWorker, address: str
) -> None:
    await patch(alice, email=f"typo-{address}")
    assert (await patch(alice, email=address))["pending_email"] == address
    old, new = await worker.token(f"typo-{address}"), await worker.token(address)

    assert (await follow(anyone, old))[0] == 400
    assert (await follow(anyone, new))[0] == 200
    assert (await me(alice))["email"] == address


async def test_a_request_right_after_the_cancellation_is_too_soon(alice: Person, address: str) -> None:
    await patch(alice, email=address, company="One")
    await patch(alice, email=alice.account.email)
    answer = await alice.patch(ME, json={"email": address, "company": "Two"})

    assert (answer.status_code, answer.json()["code"]) == (429, "resend_too_soon")
    assert int(answer.headers["Retry-After"]) <= 60
    assert (await me(alice))["company"] == "One"  # the whole patch was refused
    clock.move(MOMENT)
    assert (await patch(alice, email=address))["pending_email"] == address


@pytest.mark.maximum("verifications")
async def test_an_account_sends_ten_messages_a_day(alice: Person, worker: ProfileWorker, address: str) -> None:
    for each in range(10):
        await patch(alice, email=f"{each}-{address}")
    answer = await alice.patch(ME, json={"email": address})

    assert (answer.status_code, answer.json()["code"]) == (429, "resend_too_soon")
    assert await worker.list_emails(address) == []
    clock.move(timedelta(seconds=answer.json()["retry_after"]))
    assert (await patch(alice, email=address))["pending_email"] == address


async def test_the_response_does_not_reveal_an_address_of_another_account(
    alice: Person, bob: Person, worker: ProfileWorker, address: str, people: MakePerson
) -> None:
    """The responses and the messages are the same; only the recipient gets the error."""
    carol = await people("alice")
    seen: list[Json] = []
    for asking, wanted in ((alice, address), (carol, bob.account.email)):
        profile = await patch(asking, email=wanted)
        assert profile["pending_email"] == wanted
        await worker.work()
        found = await verification(asking)
        seen.append({"profile": sorted(profile), "status": found["status"], "delivery": found["delivery"]})
        assert len(await worker.tokens(wanted)) == 1
        assert len(await worker.list_emails(asking.account.email)) == 1
        clock.move(MOMENT)
        assert (await asking.post("/v1/account/email-verification/resend")).status_code == 200

    assert seen[0] == seen[1]


async def test_an_address_of_another_account_is_refused(
    alice: Person, bob: Person, anyone: Client, worker: ProfileWorker
) -> None:
    await patch(alice, email=bob.account.email)
    token = await worker.token(bob.account.email)

    for _ in range(2):  # the token stays unused
        status, body = await follow(anyone, token)
        assert (status, body["code"]) == (409, "email_taken")
    assert ((await me(alice))["email"], (await me(bob))["email"]) == (alice.account.email, bob.account.email)
    assert (await me(alice))["pending_email"] == bob.account.email
    assert (await me(bob))["version"] == 1 + len(steps(await me(bob)))


async def test_one_of_two_accounts_that_confirm_an_address_concurrently_succeeds(
    alice: Person, bob: Person, anyone: Client, worker: ProfileWorker, address: str
) -> None:
    await asyncio.gather(patch(alice, email=address), patch(bob, email=address))
    tokens = await worker.tokens(address)
    answers = await asyncio.gather(*(follow(anyone, each) for each in tokens))

    assert sorted(status for status, _ in answers) == [200, 409]
    emails = [(await me(each))["email"] for each in (alice, bob)]
    assert emails.count(address) == 1


async def test_concurrent_confirmations_and_a_new_request(
    alice: Person, anyone: Client, worker: ProfileWorker, address: str
) -> None:
    await patch(alice, email=address)
    token = await worker.token(address)
    answers = await asyncio.gather(
        follow(anyone, token), follow(anyone, token), alice.patch(ME, json={"email": f"other-{address}"})
    )

    profile = await me(alice)
    confirmed = [body for status, body in answers[:2] if status == 200]
    assert answers[2].status_code == 200
    assert profile["email"] == (address if confirmed else alice.account.email)
    assert profile["pending_email"] == f"other-{address}"


async def test_the_new_address_verifies_an_unverified_account(
    ursula: Person, anyone: Client, worker: ProfileWorker, address: str
) -> None:
    first = await worker.token(ursula.account.email)
    await patch(ursula, email=address)

    assert (await follow(anyone, first))[0] == 400  # only the newest link is valid
    assert (await follow(anyone, await worker.token(address)))[0] == 200
    assert "verify_email" in steps(await me(ursula))
    assert (await me(ursula))["email_verified"] is True


async def test_an_unverified_account_can_resend_after_a_cancelled_change(
    ursula: Person, worker: ProfileWorker, address: str
) -> None:
    await worker.work()
    await patch(ursula, email=address)
    await patch(ursula, email=ursula.account.email)

    assert (await verification(ursula))["status"] == "expired"
    clock.move(MOMENT)
    assert (await ursula.post("/v1/account/email-verification/resend")).json()["sent"] is True


async def test_a_link_is_valid_after_a_rotation_of_secret_keys(
    alice: Person, worker: ProfileWorker, address: str, settings: Settings, database: Database
) -> None:
    await patch(alice, email=address)
    token = await worker.token(address)
    old = secret_keys.load_or_create(settings.data_dir / "secret_keys")
    async with database.transaction() as conn:
        with pytest.raises(TokenInvalid):
            await profile_verification.confirm(conn, keyring=Keyring([secret_keys.generate_secret()]), token=token)
        ring = Keyring([secret_keys.generate_secret(), *old])
        assert (await profile_verification.confirm(conn, keyring=ring, token=token)).status == "confirmed"


async def test_an_internationalized_domain_is_stored_in_its_canonical_form(alice: Person) -> None:
    profile = await patch(alice, email="ada@bücher.example")

    assert profile["pending_email"] == "ada@xn--bcher-kva.example"
