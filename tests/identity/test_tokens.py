"""Our own tokens: which are good, and the table of those that are not."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, strategies as st

from builders.app import Service
from builders.identity import access_tokens, json_web_tokens
from builders.identity.authenticator import Authenticator, TokenAuthenticator
from builders.identity.json_web_tokens import TokenRefused
from builders.identity.records import Session, SessionKind
from builders.identity.scopes import ALL, sort_scopes
from builders.kit.http.callers import Credential, CredentialsInvalid
from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from tests.cast import Client, Person
from tests.conftest import INSTANT, StopClock
from tests.identity.refused_tokens import FORMS, Form
from tests.identity.token_forger import Forger, parts
from tests.random_cases import cases

PATH = "/v1/auth/session"
OLD, NEW = generate_secret(), generate_secret()
NOWHERE = "0193a1b2-0000-4000-8000-000000000001"
ISSUER = "https://builders.example"


@pytest.fixture
async def forger(service: Service, alice: Person) -> Forger:
    """A good token of Alice's, and the key that signed it."""
    header, claims = parts((await alice.sign_in()).token)
    key = next(iter(service.api.state.keyring.signing_keys(access_tokens.PURPOSE).values()))
    return Forger(header=header, claims=claims, key=key)


async def ask(anyone: Client, token: str, *, in_cookie: bool = False) -> tuple[int, str]:
    """Status and code of a request that has this token alone."""
    offered = {"Cookie": f"svc_access_token={token}"} if in_cookie else {"Authorization": f"Bearer {token}"}
    raw = {name.encode(): value.encode("latin-1", "replace") for name, value in offered.items()}
    answer = await anyone.get(PATH, headers=raw)
    return answer.status_code, answer.json().get("code", "")


def made(account_id: uuid.UUID | None = None) -> Session:
    """A session that no database knows."""
    now = clock.now().replace(microsecond=0)
    return Session(
        id=ids.new(),
        account_id=account_id or ids.new(),
        kind=SessionKind.LOGIN,
        created_at=now,
        expires_at=now + timedelta(hours=1),
    )


async def test_a_token_lets_its_holder_in(anyone: Client, forger: Forger) -> None:
    assert await ask(anyone, forger.make()) == (200, "")
    assert await ask(anyone, forger.make(), in_cookie=True) == (200, "")


async def test_a_token_says_what_rfc_9068_asks_for(alice: Person, service: Service) -> None:
    new = await alice.sign_in()

    header, claims = parts(new.token)

    kid = next(iter(service.api.state.keyring.signing_keys(access_tokens.PURPOSE)))
    assert header == {"alg": "EdDSA", "typ": "at+jwt", "kid": kid}
    assert claims == {
        "iss": "http://builders.test",
        "aud": "http://builders.test",
        "sub": str(alice.account.id),
        "jti": str(new.session.id),
        "iat": int(new.session.created_at.timestamp()),
        "nbf": int(new.session.created_at.timestamp()),
        "exp": int(new.session.expires_at.timestamp()),
        "scope": " ".join(sort_scopes(ALL)),
    }


async def test_a_token_of_support_says_who_really_acts(alice: Person) -> None:
    _, claims = parts((await alice.admit_support()).token)

    assert claims["act"] == {"sub": "sam@vendor.example"}
    assert claims["sub"] == str(alice.account.id)
    assert all(scope.endswith(":read") for scope in claims["scope"].split())


@pytest.mark.parametrize("in_cookie", [False, True], ids=["bearer", "cookie"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
async def test_a_bad_token_is_one_401(anyone: Client, forger: Forger, form: Form, *, in_cookie: bool) -> None:
    assert await ask(anyone, form(forger), in_cookie=in_cookie) == (401, "credentials_invalid")


@pytest.mark.parametrize(
    "changed",
    [
        {"jti": None},
        {"jti": 7},
        {"jti": "x"},
        {"jti": NOWHERE},  # rightly signed, but no session
        {"sub": "x"},
        {"sub": NOWHERE},  # the session is another account's
        {"aud": ["http://builders.test"]},  # ours is for us alone
    ],
    ids=str,
)
async def test_a_token_of_ours_names_a_session_of_its_account(
    anyone: Client, forger: Forger, changed: dict[str, Any]
) -> None:
    assert await ask(anyone, forger.make(**changed)) == (401, "credentials_invalid")


@pytest.mark.parametrize("kind", ["JWT", "", "id+jwt", "at+jwt2"])
async def test_a_token_of_ours_is_of_one_type(anyone: Client, forger: Forger, kind: str) -> None:
    assert await ask(anyone, forger.make(header={"typ": kind})) == (401, "credentials_invalid")


async def test_a_megabyte_is_refused_undecoded(service: Service) -> None:
    authenticate = service.api.state.authenticate
    with pytest.raises(Exception, match="at most 8192 characters"):
        await authenticate(Credential("bearer", "e" * 1024 * 1024), fresh=False)


async def test_a_token_is_no_api_key(anyone: Client, forger: Forger) -> None:
    answer = await anyone.get(PATH, headers={"X-API-Key": forger.make()})

    assert (answer.status_code, answer.json()["code"]) == (401, "credentials_invalid")


async def test_another_key_with_the_same_id_is_refused(anyone: Client, forger: Forger) -> None:
    stranger = Forger(header=forger.header, claims=forger.claims, key=Ed25519PrivateKey.generate())

    assert await ask(anyone, stranger.make()) == (401, "credentials_invalid")


async def test_clocks_may_differ_by_half_a_minute(anyone: Client, forger: Forger) -> None:
    ahead = int(clock.now().timestamp()) + 25

    assert await ask(anyone, forger.make(iat=ahead, nbf=ahead)) == (200, "")


async def test_the_leeway_ends_at_its_exact_second(anyone: Client, forger: Forger, stop_clock: StopClock) -> None:
    now = clock.now().replace(microsecond=0)
    stop_clock(now)
    at, leeway = int(now.timestamp()), json_web_tokens.LEEWAY_S
    made = [forger.make(exp=at - leeway + early) for early in (1, 0)]
    made += [forger.make(iat=at + leeway + late) for late in (0, 1)]
    made += [forger.make(nbf=at + leeway + late) for late in (0, 1)]
    answers = [(await ask(anyone, each))[0] for each in made]
    assert answers == [200, 401] * 3


async def test_a_session_ends_at_its_exact_instant(alice: Person, anyone: Client, stop_clock: StopClock) -> None:
    new = await alice.sign_in()
    answers = []
    for at in (new.session.expires_at - INSTANT, new.session.expires_at):
        stop_clock(at)
        answers.append((await ask(anyone, new.token, in_cookie=True))[0])
    assert answers == [200, 401]


async def test_a_refusal_shows_nothing_of_the_token(anyone: Client, forger: Forger) -> None:
    token = forger.make(exp=1)

    answer = await anyone.get(PATH, headers={"Authorization": f"Bearer {token}"})

    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="builders", error="invalid_token"'
    assert not any(each in answer.text for each in token.split("."))


def test_tokens_outlive_a_rotation_until_the_old_secret_goes() -> None:
    token = access_tokens.sign_token(Keyring([OLD]), made(), issuer=ISSUER)

    for ring in ([OLD], [OLD, NEW], [NEW, OLD]):
        assert access_tokens.SessionTokenVerifier(Keyring(ring), issuer=ISSUER).verify(
            json_web_tokens.parse_token(token)
        )
    with pytest.raises(TokenRefused):
        access_tokens.SessionTokenVerifier(Keyring([NEW]), issuer=ISSUER).verify(
            json_web_tokens.parse_token(token)
        )


def test_a_secret_put_second_verifies_and_does_not_sign() -> None:
    before, after = Keyring([OLD, NEW]), Keyring([NEW, OLD])

    assert parts(access_tokens.sign_token(before, made(), issuer=ISSUER))[0]["kid"] == next(
        iter(before.signing_keys("any"))
    )
    ahead = access_tokens.sign_token(after, made(), issuer=ISSUER)
    assert access_tokens.SessionTokenVerifier(before, issuer=ISSUER).verify(json_web_tokens.parse_token(ahead))


def test_keys_of_other_purposes_are_other_keys() -> None:
    ring = Keyring([OLD])

    assert [each.private_bytes_raw() for each in ring.signing_keys("a").values()] != [
        each.private_bytes_raw() for each in ring.signing_keys("b").values()
    ]
    assert list(ring.signing_keys("a")) == list(ring.signing_keys("b")) == [repr(ring)[8:-1]]


async def test_a_token_is_for_the_service_that_made_it(service: Service, alice: Person) -> None:
    settings = service.api.state.settings.model_copy(update={"base_url": "https://another.example"})
    state = service.api.state
    tokens = TokenAuthenticator(state.database, keyring=state.keyring, settings=settings, outbound=state.outbound)
    elsewhere = Authenticator(state.database, cache_s=5, tokens=tokens)

    with pytest.raises(Exception, match="issuer of the token is not accepted"):
        await elsewhere(Credential("bearer", (await alice.sign_in()).token), fresh=False)


def test_without_a_public_address_the_issuer_does_not_hang_on_the_port() -> None:
    assert Settings(port=1).issuer == Settings(port=2).issuer == "urn:builders"
    assert Settings(base_url="https://builders.example/").issuer == "https://builders.example"


@cases(25)
@given(data=st.data())
async def test_no_change_of_a_token_lets_anybody_in_or_breaks_anything(
    data: st.DataObject, service: Service, forger: Forger
) -> None:
    good = forger.make()
    at = data.draw(st.integers(0, len(good)))
    until = data.draw(st.integers(at, min(len(good), at + 8)))
    put = data.draw(st.text(alphabet=st.characters(max_codepoint=255), max_size=8))
    token = good[:at] + put + good[until:]

    try:
        caller = await service.api.state.authenticate(Credential("bearer", token), fresh=True)
    except CredentialsInvalid:  # and nothing else
        return
    assert token == good, "let in by another text"
    assert str(caller.session_id) == forger.claims["jti"]
