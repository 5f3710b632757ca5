"""Tokens of another issuer: which are good, whom they speak for, and the table of those that are refused."""

from typing import Any

import pytest

from builders.kit.db.connections import Database
from tests.cast import Client, Person
from tests.identity.conftest import Trust
from tests.identity.issuer_tokens import PATH, ask, bearer, link, person
from tests.identity.provider import AUDIENCE, Provider, jwk_of, make_key, rsa_key
from tests.identity.refused_tokens import FORMS, Form
from tests.identity.token_forger import by_hmac

NO_KEYS: list[Any] = [[], "x", 7, None]


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


@pytest.mark.parametrize("algorithm", ["RS256", "PS256"])
async def test_a_key_without_an_algorithm_verifies_each_that_fits(
    alice: Person, database: Database, provider: Provider, trust: Trust, algorithm: str
) -> None:
    forger = provider.forger(algorithm, kid="plain")
    del provider.keys[0]["alg"], provider.keys[0]["use"]
    await link(database, alice, provider, forger.claims["sub"])
    client = await trust()

    assert (await ask(client, forger.make()))["authenticated"] is True


async def test_a_service_without_trusted_issuers_refuses_their_tokens(anyone: Client, provider: Provider) -> None:
    said = await ask(anyone, provider.forger().make())

    assert said["detail"] == "The issuer of the token is not accepted."
    assert provider.asked == []
