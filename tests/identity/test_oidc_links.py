"""Whom a token of another issuer speaks for: linked by the operator, or at first sight where a setting says so."""

import asyncio
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from builders.identity import accounts, identities
from builders.identity.errors import IdentityNotFound
from builders.identity.records import Identity
from builders.kit.callers import OPERATOR
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from tests.cast import Person
from tests.conftest import MakePerson
from tests.identity.conftest import Trust
from tests.identity.issuer_tokens import ask, link, person
from tests.identity.make import need_person
from tests.identity.provider import Provider

ACCOUNTS = "SELECT count(*) FROM identity_accounts WHERE email = %s AND sandbox_of IS NULL"
ALL_ACCOUNTS = "SELECT count(*) FROM identity_accounts"
AUDIT = "SELECT actor_label, about FROM identity_audit WHERE account_id = %s AND action = 'identity.linked'"


async def move(database: Database, person: Person) -> None:
    """Give the account another address, as its confirmation does."""
    async with database.transaction() as conn:
        await accounts.change_email(conn, account_id=person.account.id, email=f"{ids.new()}@example.net")


async def unlink(conn: Conn, account: Person, linked: Identity) -> None:
    """Act as the operator does."""
    await identities.unlink_identity(
        conn,
        account_id=account.account.id,
        issuer=linked.issuer,
        subject=linked.subject,
        actor=OPERATOR,
    )


async def test_an_unknown_subject_is_refused_without_sign_up(
    provider: Provider, trust: Trust, conn: psycopg.AsyncConnection[Any]
) -> None:
    client, claims = await trust(), person()

    said = await ask(client, provider.forger(**claims).make())

    assert (said["status"], said["detail"]) == (401, "No account is linked to the subject of this token.")
    assert await (await conn.execute(ACCOUNTS, [claims["email"].lower()])).fetchone() == (0,)


async def test_a_new_subject_gets_an_account(provider: Provider, trust: Trust) -> None:
    client, claims = await trust(sign_up=True), person()
    forger = provider.forger(**claims)

    first = await ask(client, forger.make())
    again = await ask(client, forger.make(email="other@example.net", email_verified=False))

    assert first["account"]["email"] == claims["email"].lower()
    assert first["account"]["email_verified"] is True
    assert again["account"]["id"] == first["account"]["id"]  # the subject counts, whatever became of the address


@pytest.mark.parametrize("sign_up", [True, False])
async def test_link_by_email_links_the_account_with_the_verified_address(
    alice: Person, provider: Provider, trust: Trust, conn: psycopg.AsyncConnection[Any], *, sign_up: bool
) -> None:
    client = await trust(sign_up=sign_up, link_by_email=True)
    forger = provider.forger(email=alice.account.email.upper(), email_verified=True)

    said = await ask(client, forger.make())

    assert said["account"]["id"] == str(alice.account.id)
    about = {"issuer": provider.issuer, "subject": forger.claims["sub"]}
    entries = await (await conn.execute(AUDIT, [alice.account.id])).fetchall()
    assert entries == [(provider.issuer, about)]


async def test_a_link_by_email_ends_when_the_address_changes(
    alice: Person, database: Database, provider: Provider, trust: Trust
) -> None:
    client = await trust(link_by_email=True)
    forger = provider.forger(email=alice.account.email, email_verified=True)
    assert (await ask(client, forger.make()))["account"]["id"] == str(alice.account.id)

    await move(database, alice)

    clock.move(timedelta(seconds=10))  # past the cache of credentials
    assert (await ask(client, forger.make()))["status"] == 401


async def test_a_link_by_the_operator_remains_when_the_address_changes(
    alice: Person, database: Database, provider: Provider, trust: Trust
) -> None:
    client = await trust()
    forger = provider.forger(sub="4711")
    await link(database, alice, provider, "4711")

    await move(database, alice)

    assert (await ask(client, forger.make()))["account"]["id"] == str(alice.account.id)


@pytest.mark.parametrize("sign_up", [True, False])
async def test_an_account_that_needs_a_person_is_not_linked_by_email(
    alice: Person,
    database: Database,
    provider: Provider,
    trust: Trust,
    conn: psycopg.AsyncConnection[Any],
    *,
    sign_up: bool,
) -> None:
    await need_person(database, alice)
    client = await trust(sign_up=sign_up, link_by_email=True)

    said = await ask(client, provider.forger(email=alice.account.email, email_verified=True).make())

    assert (said["status"], said["code"]) == (401, "credentials_invalid")
    assert "needs a person" in said["detail"]
    assert await (await conn.execute(AUDIT, [alice.account.id])).fetchall() == []


async def test_sign_up_alone_does_not_link_by_address(
    alice: Person, provider: Provider, trust: Trust, conn: psycopg.AsyncConnection[Any]
) -> None:
    client = await trust(sign_up=True)
    forger = provider.forger(email=alice.account.email, email_verified=True)

    said = await ask(client, forger.make())

    assert (said["status"], said["detail"]) == (401, "An account has this address; the operator can link it.")
    assert await (await conn.execute(AUDIT, [alice.account.id])).fetchall() == []


async def test_link_by_email_alone_creates_no_account(
    provider: Provider, trust: Trust, conn: psycopg.AsyncConnection[Any]
) -> None:
    client, claims = await trust(link_by_email=True), person()

    said = await ask(client, provider.forger(**claims).make())

    assert said["status"] == 401
    assert await (await conn.execute(ACCOUNTS, [claims["email"].lower()])).fetchone() == (0,)


async def test_an_account_that_did_not_verify_its_address_is_not_taken_over(
    people: MakePerson, provider: Provider, trust: Trust
) -> None:
    squatter = await people("squatter", verified=False)
    client = await trust(sign_up=True, link_by_email=True)

    said = await ask(client, provider.forger(email=squatter.account.email, email_verified=True).make())

    assert (said["status"], said["code"]) == (401, "credentials_invalid")
    assert "is not verified" in said["detail"]


async def test_a_link_can_be_undone_and_made_to_another_account(
    alice: Person, bob: Person, database: Database, provider: Provider, trust: Trust
) -> None:
    client, forger = await trust(), provider.forger()
    subject = forger.claims["sub"]
    await link(database, alice, provider, subject)
    async with database.transaction() as conn:
        [linked] = await identities.list_identities(conn, account_id=alice.account.id)
        assert (linked.issuer, linked.subject) == (provider.issuer, subject)
        assert await identities.list_identities(conn, account_id=bob.account.id) == []
        with pytest.raises(IdentityNotFound):
            await unlink(conn, bob, linked)
        await unlink(conn, alice, linked)
    refused = await ask(client, forger.make())
    await link(database, bob, provider, subject)
    said = await ask(client, forger.make())

    assert refused["code"] == "credentials_invalid"
    assert said["account"]["id"] == str(bob.account.id)
    newest = (await alice.get("/v1/account/audit")).json()["items"][0]
    assert (newest["action"], newest["about"]) == (
        "identity.unlinked",
        {"issuer": provider.issuer, "subject": subject},
    )


@pytest.mark.parametrize(
    "claims",
    [
        {"email_verified": False},
        {"email_verified": "true"},
        {"email_verified": 1},
        {"email_verified": None},
        {"email": None},
        {"email": 7},
        {"email": "nobody"},
        {"email": "a\0b@example.net"},
        {"email": f"{'x' * 300}@example.net"},
    ],
    ids=str,
)
async def test_sign_up_needs_a_verified_address(
    provider: Provider, trust: Trust, conn: psycopg.AsyncConnection[Any], claims: dict[str, Any]
) -> None:
    client = await trust(sign_up=True)
    before = await (await conn.execute(ALL_ACCOUNTS)).fetchone()

    said = await ask(client, provider.forger(**{**person(), **claims}).make())

    assert (said["status"], said["code"]) == (401, "credentials_invalid")
    assert await (await conn.execute(ALL_ACCOUNTS)).fetchone() == before


async def test_concurrent_sign_ups_create_one_account(
    provider: Provider, trust: Trust, conn: psycopg.AsyncConnection[Any]
) -> None:
    client, claims = await trust(sign_up=True), person()
    forger = provider.forger(**claims)

    said = await asyncio.gather(*(ask(client, forger.make(iat=forger.claims["iat"] - at)) for at in range(8)))

    assert len({each["account"]["id"] for each in said}) == 1
    assert await (await conn.execute(ACCOUNTS, [claims["email"].lower()])).fetchone() == (1,)


async def test_concurrent_sign_ups_with_two_addresses_create_one_account(
    provider: Provider, trust: Trust, conn: psycopg.AsyncConnection[Any]
) -> None:
    client, emails = await trust(sign_up=True), [person()["email"] for _ in range(6)]
    forger = provider.forger(email_verified=True)

    said = await asyncio.gather(*(ask(client, forger.make(email=email)) for email in emails))

    assert len({each["account"]["id"] for each in said}) == 1
    made = [await (await conn.execute(ACCOUNTS, [email.lower()])).fetchone() for email in emails]
    assert sorted(made, key=str) == [(0,)] * 5 + [(1,)]


async def test_two_subjects_are_two_people_though_their_names_are_alike(
    alice: Person, bob: Person, database: Database, provider: Provider, trust: Trust
) -> None:
    client, forger = await trust(), provider.forger()
    await link(database, alice, provider, "Ada")
    await link(database, bob, provider, "ada")

    found = [(await ask(client, forger.make(sub=sub)))["account"]["id"] for sub in ("Ada", "ada")]

    assert found == [str(alice.account.id), str(bob.account.id)]
