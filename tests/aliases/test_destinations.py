"""Destinations get a confirmation by mail before mail is forwarded."""

from datetime import timedelta

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from builders.mail import addresses
from tests.aliases.make import (
    ALIASES,
    CONFIRM,
    DESTINATIONS,
    PROGRAM,
    RESEND,
    AliasWorker,
    Owner,
    ask_recipient,
    destinations,
    fresh,
    fresh_address,
    published,
    spec,
    verified,
)
from tests.cast import OF_LINK_OPENERS, Client, Person
from tests.conftest import MakePerson
from tests.profile.make import text


async def test_the_recipient_of_a_new_destination_confirms_by_mail(
    alice: Person, anyone: Client, owner: Owner, worker: AliasWorker, conn: Conn, domain: str
) -> None:
    email = fresh_address()
    alias_id = await owner.claim_one("ada", domain, email)
    assert not await verified(alice, email)
    (message,) = await worker.list_emails(email)
    assert message["Subject"] == "Confirm mail forwarding to your address"
    assert f"ada@{domain}" in text(message)
    answer = await anyone.get(CONFIRM, params={"token": await worker.token(email)}, headers=PROGRAM)
    assert (answer.status_code, answer.json()) == (200, {"status": "confirmed", "email": addresses.mask(email)})
    assert await verified(alice, email)
    assert (await alice.get(f"{ALIASES}/{alias_id}")).json()["destinations"] == [
        {"email": email, "verified": True}
    ]
    ((_, data),) = await published(conn, alice.account.id, "alias.destination_verified")
    assert (data["email"], data["aliases"]) == (addresses.mask(email), 1)


@pytest.mark.parametrize("accept", OF_LINK_OPENERS)
async def test_a_link_scanner_does_not_confirm(
    alice: Person, anyone: Client, owner: Owner, worker: AliasWorker, domain: str, accept: str
) -> None:
    email, token = await ask_recipient(owner, worker, domain)
    page = await anyone.get(CONFIRM, params={"token": token}, headers={"Accept": accept})

    assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert not await verified(alice, email)
    assert (await anyone.get(CONFIRM, params={"token": token}, headers=PROGRAM)).json()["status"] == "confirmed"


async def test_an_account_sends_an_address_one_confirmation(
    owner: Owner, worker: AliasWorker, domain: str
) -> None:
    email = fresh_address()
    await owner.claim(spec("ada", domain, email), spec("grace", domain, email))
    assert len(await worker.list_emails(email)) == 1
    clock.move(timedelta(hours=1))
    await owner.claim_one("linus", domain, email)
    assert len(await worker.list_emails(email)) == 1


async def test_an_address_in_another_case_is_confirmed_too(
    alice: Person, anyone: Client, owner: Owner, worker: AliasWorker, domain: str
) -> None:
    email = fresh_address("Reader")
    alias_id = await owner.claim_one("ada", domain, email)
    await anyone.get(CONFIRM, params={"token": await worker.token(email)}, headers=PROGRAM)
    changed = await alice.patch(f"{ALIASES}/{alias_id}", json={"destinations": [email.lower()]})
    assert changed.json()["destinations"] == [{"email": email.lower(), "verified": True}]
    assert await worker.list_emails(email.lower()) == []


async def test_the_verified_address_of_the_account_is_confirmed(
    alice: Person, owner: Owner, worker: AliasWorker, domain: str
) -> None:
    await owner.claim_one("ada", domain, alice.account.email.title())
    ((_, shown),) = (await destinations(alice)).items()
    assert shown["verified"]
    assert await worker.list_emails(alice.account.email) == []


async def test_the_address_of_the_account_is_confirmed_when_it_is_verified(
    people: MakePerson, database: Database, worker: AliasWorker, domain: str, anyone: Client
) -> None:
    ursula = await people("ursula", verified=False)
    email = ursula.account.email
    await Owner.of(database, ursula).claim_one("ada", domain, email)
    assert not await verified(ursula, email)
    (said,) = [each for each in map(text, await worker.list_emails(email)) if "email-verification" in each]
    token = said.partition("confirm?token=")[2].split()[0]
    await anyone.get("/v1/account/email-verification/confirm", params={"token": token})
    await worker.work()
    assert await verified(ursula, email)


async def test_a_sandbox_sends_no_confirmations(alice: Person, database: Database, worker: AliasWorker) -> None:
    email = fresh_address()
    await Owner.of_sandbox(database, alice).claim_one("ada", fresh(), email)
    assert await worker.list_emails(email) == []
    assert await verified(alice.test, email)
    assert await destinations(alice) == {}


async def test_a_confirmation_is_valid_for_one_account(
    alice: Person, bob: Person, anyone: Client, owner: Owner, database: Database, worker: AliasWorker, domain: str
) -> None:
    email = fresh_address()
    await owner.claim_one("ada", domain, email)
    await Owner.of(database, bob).claim_one("bob", domain, email)
    token = (await worker.tokens(email))[0]
    await anyone.get(CONFIRM, params={"token": token}, headers=PROGRAM)
    assert sorted([await verified(alice, email), await verified(bob, email)]) == [False, True]


async def test_a_resend_replaces_the_previous_link(
    alice: Person, anyone: Client, owner: Owner, worker: AliasWorker, domain: str
) -> None:
    email = fresh_address()
    await owner.claim_one("ada", domain, email)
    first = await worker.token(email)
    clock.move(timedelta(minutes=16))
    answer = await alice.post(RESEND, json={"email": email})
    assert (answer.status_code, answer.json()["sent"], answer.json()["verified"]) == (200, True, False)
    second = await worker.token(email)
    assert (await anyone.get(CONFIRM, params={"token": first}, headers=PROGRAM)).json()["code"] == "token_invalid"
    assert (await anyone.get(CONFIRM, params={"token": second}, headers=PROGRAM)).status_code == 200
    clock.move(timedelta(minutes=16))
    assert (await alice.post(RESEND, json={"email": email})).json()["sent"] is False
    assert len(await worker.list_emails(email)) == 2


@pytest.mark.maximum("confirmations_of_address")
async def test_resends_are_limited(alice: Person, owner: Owner, worker: AliasWorker, domain: str) -> None:
    email = fresh_address()
    await owner.claim_one("ada", domain, email)
    await worker.work()
    refused = await alice.post(RESEND, json={"email": email})
    assert (refused.status_code, refused.json()["code"]) == (429, "confirmation_too_soon")
    assert 1 <= int(refused.headers["Retry-After"]) <= 900
    for _ in range(4):
        clock.move(timedelta(minutes=16))
        assert (await alice.post(RESEND, json={"email": email})).status_code == 200
        await worker.work()
    clock.move(timedelta(minutes=16))
    refused = await alice.post(RESEND, json={"email": email})
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 3600 * 20
    clock.move(timedelta(days=1))
    assert (await alice.post(RESEND, json={"email": email})).status_code == 200


async def test_bob_cannot_resend_confirmations_of_alice(bob: Person, owner: Owner, domain: str) -> None:
    email = fresh_address()
    await owner.claim_one("ada", domain, email)
    answer = await bob.post(RESEND, json={"email": email})
    assert (answer.status_code, answer.json()["code"]) == (404, "destination_not_found")
    assert await destinations(bob) == {}


async def test_missing_scope_or_credentials_are_refused(dana: Person, anyone: Client) -> None:
    body = {"email": "a@example.net"}
    assert (await dana.get(DESTINATIONS)).json()["scope"] == "aliases:read"
    assert (await dana.post(RESEND, json=body)).json()["scope"] == "aliases:write"
    assert (await anyone.get(DESTINATIONS)).status_code == 401
    assert (await anyone.post(RESEND, json=body)).status_code == 401


async def test_destinations_are_listed_in_pages_by_address(alice: Person, owner: Owner, domain: str) -> None:
    emails = sorted(fresh_address() for _ in range(5))
    await owner.claim_one("ada", domain, *emails)
    first = (await alice.get(DESTINATIONS, params={"limit": 3})).json()
    rest = (await alice.get(DESTINATIONS, params={"limit": 3, "cursor": first["next_cursor"]})).json()
    assert [each["email"] for each in (*first["items"], *rest["items"])] == emails
    assert rest["next_cursor"] is None
