"""Tokens of another issuer: which are good, whom they speak for, and the table of those that are refused."""

import asyncio
import uuid
from typing import Any

import psycopg
import pytest

from builders.identity import service as identity
from builders.kit.callers import OPERATOR
from builders.kit.db import Database
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.identity.conftest import Trust
from tests.identity.forging import by_hmac
from tests.identity.provider import AUDIENCE, Provider, jwk_of, make_key, rsa_key
from tests.identity.refused import FORMS, Form

PATH = "/v1/auth/session"
ACCOUNTS = "SELECT count(*) FROM identity_accounts WHERE email = %s AND sandbox_of IS NULL"
ALL_ACCOUNTS = "SELECT count(*) FROM identity_accounts"
NO_KEYS: list[Any] = [[], "x", 7, None]
AUDIT = "SELECT actor_label, about FROM identity_audit WHERE account_id = %s AND action = 'identity.linked'"


def bearer(token: str) -> dict[bytes, bytes]:
    """The header of a request."""
    return {b"Authorization": f"Bearer {token}".encode("latin-1", "replace")}


async def ask(client: Client, token: str) -> dict[str, Any]:
    """The session of a token, or the refusal."""
    said: dict[str, Any] = (await client.get(PATH, headers=bearer(token))).json()
    return said


def person() -> dict[str, Any]:
    """Claims of somebody whom nobody here knows, with a verified address."""
    return {"email": f"Eve-{uuid.uuid4().hex[:10]}@Example.NET", "email_verified": True}


async def link(database: Database, account: Person, provider: Provider, subject: str) -> None:
    """As the operator does it."""
    async with database.transaction() as conn:
        await identity.link_identity(
            conn, account_id=account.account.id, issuer=provider.issuer, subject=subject, actor=OPERATOR
        )


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
async def test_a_linked_subject_is_let_in(
    alice: Person, database: Database, provider: Provider, trust: Trust, algorithm: str
) -> None:
    client, forger = await trust(), provider.forger(algorithm)
    await link(database, alice, provider, forger.claims["sub"])

    said = await ask(client, forger.make(aud=["somebody-else", AUDIENCE], azp="a-client"))

    assert said["account"]["id"] == str(alice.account.id)
    assert (said["method"], said["session"], said["key"]) == ("jwt", None, None)
    assert said["actor"] == {"type": "user", "id": None, "label": "Alice"}
    assert said["expires_at"] is not None
    assert said["mode"] == "live"


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
async def test_a_bad_token_is_one_401(
    alice: Person, database: Database, provider: Provider, trust: Trust, form: Form
) -> None:
    client, forger = await trust(sign_up=True), provider.forger("RS256", **person())
    await link(database, alice, provider, forger.claims["sub"])

    answer = await client.get(PATH, headers=bearer(form(forger)))

    assert (answer.status_code, answer.json()["code"]) == (401, "credentials_invalid")


@pytest.mark.parametrize(
    "claims",
    [{"cnf": {"jkt": "x"}}, {"events": {"http://schemas.openid.net/event/backchannel-logout": {}}}],
    ids=["bound to a proof", "an event"],
)
async def test_a_token_for_another_use_is_refused(
    alice: Person, database: Database, provider: Provider, trust: Trust, claims: dict[str, Any]
) -> None:
    client, forger = await trust(), provider.forger()
    await link(database, alice, provider, forger.claims["sub"])

    assert (await ask(client, forger.make(**claims)))["code"] == "credentials_invalid"


async def test_the_cookie_holds_no_foreign_token(
    alice: Person, database: Database, provider: Provider, trust: Trust
) -> None:
    client, forger = await trust(), provider.forger()
    await link(database, alice, provider, forger.claims["sub"])

    answer = await client.get(PATH, headers={"Cookie": f"svc_access_token={forger.make()}"})

    assert answer.status_code == 401
    assert provider.fetches == 0


async def test_another_algorithm_than_the_keys_is_refused(
    alice: Person, database: Database, provider: Provider, trust: Trust
) -> None:
    client, forger = await trust(), provider.forger("RS256", kid="mine")
    await link(database, alice, provider, forger.claims["sub"])
    as_pss = provider.forger("PS256", kid="other")

    # The same pair of keys, published for PS256 under another id only.
    refused = await ask(client, as_pss.make(header={"kid": "mine"}, sub=forger.claims["sub"]))

    assert refused["code"] == "credentials_invalid"
    assert (await ask(client, forger.make()))["authenticated"] is True


async def test_an_algorithm_that_is_not_accepted_is_refused(
    alice: Person, database: Database, provider: Provider, trust: Trust
) -> None:
    client, forger = await trust(algorithms=["ES256"]), provider.forger("RS256")
    await link(database, alice, provider, forger.claims["sub"])

    assert (await ask(client, forger.make()))["code"] == "credentials_invalid"
    assert provider.fetches == 0  # nobody had to be asked


async def test_keys_that_will_not_do_are_passed_over(
    alice: Person, database: Database, provider: Provider, trust: Trust
) -> None:
    good = provider.forger("ES256", kid="good")
    await link(database, alice, provider, good.claims["sub"])
    weak, private, elliptic = rsa_key(1024), make_key("EdDSA"), make_key("ES256")
    provider.keys[:0] = [
        *({}, {"kty": "oct", "k": "c2VjcmV0", "kid": "shared", "alg": "HS256"}),
        jwk_of(weak, "weak"),
        jwk_of(elliptic, "for-encryption", use="enc"),
        jwk_of(elliptic, "for-signing", key_ops=["sign"]),
        {**jwk_of(private, "private"), "d": "AAAA"},
        {**jwk_of(elliptic, "off-curve"), "x": "AAAA"},
        jwk_of(elliptic, "of-another-algorithm", alg="ES384"),
        {**jwk_of(elliptic, "x"), "kid": 7},
    ]
    provider.keys += NO_KEYS
    client = await trust()

    for key, kid, algorithm in [
        (weak, "weak", "RS256"),
        *((elliptic, kid, "ES256") for kid in ("for-encryption", "for-signing", "off-curve")),
        (elliptic, "of-another-algorithm", "ES256"),
        (private, "private", "EdDSA"),
    ]:
        forger = type(good)(header={**good.header, "alg": algorithm, "kid": kid}, claims=good.claims, key=key)
        assert (await ask(client, forger.make()))["code"] == "credentials_invalid", kid
    shared = good.make(header={"alg": "HS256", "kid": "shared"}, sign=by_hmac(b"secret"))
    assert (await ask(client, shared))["code"] == "credentials_invalid"
    assert (await ask(client, good.make()))["authenticated"] is True


async def test_a_key_without_an_algorithm_has_the_first_that_fits(
    alice: Person, database: Database, provider: Provider, trust: Trust
) -> None:
    forger = provider.forger("RS256", kid="plain")
    del provider.keys[0]["alg"], provider.keys[0]["use"]
    await link(database, alice, provider, forger.claims["sub"])
    client = await trust()

    assert (await ask(client, forger.make()))["authenticated"] is True


async def test_an_unknown_subject_is_nobody_where_nobody_may_sign_up(
    provider: Provider, trust: Trust, conn: psycopg.AsyncConnection[Any]
) -> None:
    client, claims = await trust(), person()

    said = await ask(client, provider.forger(**claims).make())

    assert (said["status"], said["detail"]) == (401, "No account is linked to the subject of this token.")
    assert await (await conn.execute(ACCOUNTS, [claims["email"].lower()])).fetchone() == (0,)


async def test_somebody_new_gets_an_account(provider: Provider, trust: Trust) -> None:
    client, claims = await trust(sign_up=True), person()
    forger = provider.forger(**claims)

    first = await ask(client, forger.make())
    again = await ask(client, forger.make(email="other@example.net", email_verified=False))

    assert first["account"]["email"] == claims["email"].lower()
    assert first["account"]["email_verified"] is True
    assert again["account"]["id"] == first["account"]["id"]  # the subject counts, whatever became of the address


async def test_whoever_has_an_account_with_the_verified_address_is_linked(
    alice: Person, provider: Provider, trust: Trust, conn: psycopg.AsyncConnection[Any]
) -> None:
    client = await trust(sign_up=True)
    forger = provider.forger(email=alice.account.email.upper(), email_verified=True)

    said = await ask(client, forger.make())

    assert said["account"]["id"] == str(alice.account.id)
    about = {"issuer": provider.issuer, "subject": forger.claims["sub"]}
    told = await (await conn.execute(AUDIT, [alice.account.id])).fetchall()
    assert told == [(provider.issuer, about)]


async def test_an_account_that_did_not_verify_its_address_is_not_taken_over(
    people: MakePerson, provider: Provider, trust: Trust
) -> None:
    squatter = await people("squatter", verified=False)
    client = await trust(sign_up=True)

    said = await ask(client, provider.forger(email=squatter.account.email, email_verified=True).make())

    assert (said["status"], said["code"]) == (401, "credentials_invalid")
    assert "did not verify" in said["detail"]


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
async def test_nobody_signs_up_without_a_verified_address(
    provider: Provider, trust: Trust, conn: psycopg.AsyncConnection[Any], claims: dict[str, Any]
) -> None:
    client = await trust(sign_up=True)
    before = await (await conn.execute(ALL_ACCOUNTS)).fetchone()

    said = await ask(client, provider.forger(**{**person(), **claims}).make())

    assert (said["status"], said["code"]) == (401, "credentials_invalid")
    assert await (await conn.execute(ALL_ACCOUNTS)).fetchone() == before


async def test_of_many_at_once_one_account_comes(
    provider: Provider, trust: Trust, conn: psycopg.AsyncConnection[Any]
) -> None:
    client, claims = await trust(sign_up=True), person()
    forger = provider.forger(**claims)

    said = await asyncio.gather(*(ask(client, forger.make(iat=forger.claims["iat"] - at)) for at in range(8)))

    assert len({each["account"]["id"] for each in said}) == 1
    assert await (await conn.execute(ACCOUNTS, [claims["email"].lower()])).fetchone() == (1,)


async def test_of_one_subject_with_two_addresses_at_once_one_account_comes(
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


async def test_a_service_that_trusts_nobody_takes_no_foreign_token(anyone: Client, provider: Provider) -> None:
    said = await ask(anyone, provider.forger().make())

    assert said["detail"] == "The token is of an issuer that is not accepted."
    assert provider.asked == []
