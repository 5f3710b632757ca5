"""The keys of another issuer: when they are fetched, how often, and what happens while they cannot be had."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from builders.identity.issuers import Issuer
from builders.identity.json_web_tokens import TokenRefused, parse_token
from builders.kit.http.callers import IssuerUnavailable
from builders.kit.outbound.client import Outbound
from builders.kit.process.issuers import OidcIssuer
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Person
from tests.identity.conftest import Trust
from tests.identity.provider import AUDIENCE, Provider, trusting
from tests.identity.token_forger import Forger


@pytest.fixture
async def outbound(settings: Settings, provider: Provider) -> AsyncIterator[Outbound]:
    """A client that may reach the provider."""
    async with Outbound(settings.model_copy(update={"outbound_allow": (provider.host,)})) as client:
        yield client


@pytest.fixture
def issuer(outbound: Outbound, provider: Provider) -> Issuer:
    """The provider as one process of ours knows it."""
    return Issuer(OidcIssuer.model_validate(trusting(provider)), outbound)


async def verify(issuer: Issuer, forger: Forger) -> str:
    """What becomes of a token that is good now."""
    moment = int(clock.now().timestamp())
    try:
        token = parse_token(forger.make(iat=moment, nbf=moment, exp=moment + 60))
        await issuer.verify(token, audience=AUDIENCE)
    except (TokenRefused, IssuerUnavailable) as refusal:
        return type(refusal).__name__
    return "good"


async def test_keys_are_fetched_once_for_many_tokens(issuer: Issuer, provider: Provider) -> None:
    forgers = [provider.forger(each) for each in ("RS256", "ES256", "EdDSA")]

    said = [await verify(issuer, each) for each in forgers * 3]

    assert said == ["good"] * 9
    assert provider.fetches == 1


async def test_a_new_key_is_fetched_when_a_token_names_it(issuer: Issuer, provider: Provider) -> None:
    old = provider.forger("ES256")
    assert await verify(issuer, old) == "good"
    provider.keys.clear()
    new = provider.forger("ES256")

    assert await verify(issuer, new) == "TokenRefused"  # fetched a moment ago
    clock.move(timedelta(seconds=60))
    assert await verify(issuer, old) == "good"  # nobody said yet that it is gone
    assert await verify(issuer, new) == "good"
    assert await verify(issuer, old) == "TokenRefused"
    assert provider.fetches == 2


async def test_made_up_keys_have_us_ask_once_a_minute(issuer: Issuer, provider: Provider) -> None:
    good = provider.forger("ES256")
    await verify(issuer, good)

    for _ in range(5):
        clock.move(timedelta(seconds=30))
        said = [
            await verify(
                issuer, Forger(header={**good.header, "kid": f"no-{at}"}, claims=good.claims, key=good.key)
            )
            for at in range(20)
        ]
        assert set(said) == {"TokenRefused"}

    assert provider.fetches == 1 + 2


async def test_keys_are_fetched_again_after_ten_minutes(issuer: Issuer, provider: Provider) -> None:
    old = provider.forger("ES256")
    await verify(issuer, old)
    provider.keys.clear()

    clock.move(timedelta(minutes=9))
    assert await verify(issuer, old) == "good"
    clock.move(timedelta(minutes=1))
    assert await verify(issuer, old) == "TokenRefused"


async def test_concurrent_requests_wait_for_one_fetch(issuer: Issuer, provider: Provider) -> None:
    forger, provider.gate = provider.forger("ES256"), asyncio.Event()
    waiting = [asyncio.create_task(verify(issuer, forger)) for _ in range(20)]
    await provider.arrived.wait()

    provider.gate.set()

    assert await asyncio.gather(*waiting) == ["good"] * 20
    assert provider.fetches == 1


async def test_known_keys_do_not_wait_while_they_are_fetched_again(issuer: Issuer, provider: Provider) -> None:
    forger = provider.forger("ES256")
    await verify(issuer, forger)
    clock.move(timedelta(minutes=11))
    provider.arrived.clear()
    provider.gate = asyncio.Event()
    first = asyncio.create_task(verify(issuer, forger))
    await provider.arrived.wait()

    async with asyncio.timeout(60):
        assert await verify(issuer, forger) == "good"
    provider.gate.set()
    assert await first == "good"


@pytest.mark.parametrize("wrong", [500, 302, 404, b"", b"nonsense", b"[]", b"{}", b'{"keys": 7}', b"[" * 9000])
async def test_while_the_issuer_is_away_its_old_keys_serve_for_a_day(
    issuer: Issuer, provider: Provider, wrong: int | bytes
) -> None:
    forger = provider.forger("ES256")
    assert await verify(issuer, forger) == "good"
    if isinstance(wrong, int):
        provider.status = wrong
    else:
        provider.body = wrong

    clock.move(timedelta(hours=23))
    assert await verify(issuer, forger) == "good"
    assert (
        await verify(issuer, provider.forger("ES256")) == "IssuerUnavailable"
    )  # it may have a new key: nobody knows
    clock.move(timedelta(hours=2))
    assert await verify(issuer, forger) == "IssuerUnavailable"

    provider.status, provider.body = 200, None
    clock.move(timedelta(seconds=10))
    assert await verify(issuer, forger) == "good"


async def test_an_issuer_that_is_away_is_asked_every_ten_seconds_at_most(
    issuer: Issuer, provider: Provider
) -> None:
    provider.status = 503
    forger = provider.forger("ES256")

    for _ in range(10):
        assert {await verify(issuer, forger) for _ in range(5)} == {"IssuerUnavailable"}
        clock.move(timedelta(seconds=5))

    assert provider.fetches == 5


async def test_a_set_of_keys_that_is_too_large_is_not_read(issuer: Issuer, provider: Provider) -> None:
    provider.body = b'{"keys": []' + b" " * 300_000 + b"}"

    assert await verify(issuer, provider.forger("ES256")) == "IssuerUnavailable"


async def test_unavailable_keys_give_503_with_retry_after(alice: Person, provider: Provider, trust: Trust) -> None:
    client, forger, provider.status = await trust(), provider.forger(), 500

    answer = await client.get("/v1/auth/session", headers={"Authorization": f"Bearer {forger.make()}"})

    assert (answer.status_code, answer.json()["code"]) == (503, "issuer_unavailable")
    assert answer.headers["Retry-After"] == "10"
    # Whoever else asks is not concerned.
    assert (await client.get("/v1/auth/session", headers={"X-API-Key": alice.key})).status_code == 200


async def test_no_connection_is_held_while_an_issuer_is_slow(
    alice: Person, settings: Settings, provider: Provider, trust: Trust
) -> None:
    client, forger, provider.gate = await trust(), provider.forger(), asyncio.Event()
    headers = {"Authorization": f"Bearer {forger.make()}"}
    slow = [
        asyncio.create_task(client.get("/v1/auth/session", headers=headers)) for _ in range(settings.pool_size + 5)
    ]
    await provider.arrived.wait()

    answer = await client.get("/v1/auth/session", headers={"X-API-Key": alice.key})

    assert answer.status_code == 200
    provider.gate.set()
    assert {each.status_code for each in await asyncio.gather(*slow)} == {401}


@pytest.mark.parametrize(
    ("discovered", "result", "asked"),
    [
        pytest.param({}, "good", ["/.well-known/openid-configuration", "/jwks"], id="its own document"),
        pytest.param(
            {"issuer": "https://evil.example"},
            "IssuerUnavailable",
            ["/.well-known/openid-configuration"],
            id="the document of another issuer",
        ),
        pytest.param(
            {"jwks_uri": "http://evil.example/jwks"},
            "IssuerUnavailable",
            ["/.well-known/openid-configuration"],
            id="keys over plain HTTP",
        ),
    ],
)
async def test_the_keys_are_where_the_issuer_says_if_it_is_who_it_says(
    outbound: Outbound, provider: Provider, discovered: dict[str, str], result: str, asked: list[str]
) -> None:
    provider.configuration |= discovered
    forger = provider.forger("ES256")
    trusted = OidcIssuer.model_validate(trusting(provider, jwks_uri=None))
    issuer = Issuer(trusted, outbound)

    assert await verify(issuer, forger) == result
    assert provider.asked == asked


@pytest.mark.parametrize("body", [b"", b"[]", b"7", b"[" * 9000, b'{"a":' * 9000, b"\xff"])
async def test_a_discovery_document_that_is_none_is_an_issuer_that_is_away(
    outbound: Outbound, provider: Provider, body: bytes
) -> None:
    provider.body = body
    trusted = OidcIssuer.model_validate(trusting(provider, jwks_uri=None))
    issuer = Issuer(trusted, outbound)

    assert await verify(issuer, provider.forger("ES256")) == "IssuerUnavailable"
    assert provider.fetches == 0
