"""A local OpenID Connect provider: its keys, its documents and its failures."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.identity.refused_tokens import now
from tests.identity.token_forger import Forger, Key

AUDIENCE = "https://builders.test/api"
Json = dict[str, Any]


@cache
def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    """Return a cached key of the size: generating one is slow."""
    return rsa.generate_private_key(65537, bits)


def make_key(algorithm: str) -> Key:
    """Return a key for the algorithm."""
    if algorithm == "EdDSA":
        return Ed25519PrivateKey.generate()
    return ec.generate_private_key(ec.SECP256R1()) if algorithm == "ES256" else rsa_key()


def jwk_of(key: Key, kid: str, **more: Any) -> Json:
    """Return the public key as a JWK."""
    if isinstance(key, Ed25519PrivateKey):
        found: Json = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    elif isinstance(key, rsa.RSAPrivateKey):
        found = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        del found["key_ops"]
    else:
        found = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**found, "kid": kid, **more}


@dataclass(kw_only=True)
class Provider:
    """The documents of the provider, and the requests that it received."""

    issuer: str
    keys: list[Json] = field(default_factory=list)
    configuration: Json = field(default_factory=dict)
    status: int = 200
    body: bytes | None = None  # in place of a document
    gate: asyncio.Event | None = None  # answers wait for it
    asked: list[str] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)  # somebody asked

    @property
    def fetches(self) -> int:
        """Return the number of requests for the keys."""
        return self.asked.count("/jwks")

    @property
    def host(self) -> str:
        """Return the host as the setting of outbound requests names it."""
        return self.issuer.removeprefix("http://")

    def forger(self, algorithm: str = "RS256", *, kid: str | None = None, **claims: Any) -> Forger:
        """Publish a key; return a forger with a valid token of that key."""
        kid = kid or uuid.uuid4().hex
        key = make_key(algorithm)
        self.keys.append(jwk_of(key, kid, alg=algorithm, use="sig"))
        usual = {
            "iss": self.issuer,
            "aud": AUDIENCE,
            "sub": f"user|{uuid.uuid4().hex}",
            "iat": now(),
            "nbf": now(),
            "exp": now() + 600,
        }
        return Forger(header={"alg": algorithm, "kid": kid, "typ": "JWT"}, claims=usual | claims, key=key)

    async def answer(self, request: web.Request) -> web.Response:
        """Answer with the keys or the configuration."""
        self.asked.append(request.path)
        self.arrived.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.status != 200:
            return web.Response(status=self.status, headers={"Location": f"{self.issuer}/jwks"})
        if self.body is not None:
            return web.Response(body=self.body)
        return web.json_response(self.configuration if request.path != "/jwks" else {"keys": self.keys})


@asynccontextmanager
async def running() -> AsyncIterator[Provider]:
    """Run a provider."""
    provider = Provider(issuer="")
    app = web.Application()
    app.router.add_get("/jwks", provider.answer)
    app.router.add_get("/.well-known/openid-configuration", provider.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    provider.issuer = f"http://127.0.0.1:{runner.addresses[0][1]}"
    provider.configuration = {"issuer": provider.issuer, "jwks_uri": f"{provider.issuer}/jwks"}
    try:
        yield provider
    finally:
        await runner.cleanup()


def trusting(provider: Provider, **options: Any) -> Mapping[str, Any]:
    """Return the issuer as a value of the setting."""
    usual = {"issuer": provider.issuer, "audience": AUDIENCE, "jwks_uri": f"{provider.issuer}/jwks"}
    return {**usual, "algorithms": ["RS256", "ES256", "EdDSA", "PS256"], **options}
