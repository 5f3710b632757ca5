"""A local OpenID Connect provider: its keys, its documents and its failures."""

import asyncio
import base64
import hashlib
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import unquote, urlencode

from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.identity.refused_tokens import now
from tests.identity.token_forger import Forger, Key

AUDIENCE = "https://builders.test/api"
CLIENT_ID, CLIENT_SECRET = "builders web", "s3cret:of/the client"
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
    signs: Forger | None = None  # the person who signs in, and the key of their ID token
    make: Callable[[Forger, Json], str] = lambda forger, claims: forger.make(**claims)
    denial: Json | None = None  # the response of a person who declines
    responds: Json = field(default_factory=dict)  # additional parameters of the response
    token_answer: tuple[int, bytes] | None = None  # in place of a token
    codes: dict[str, Json] = field(default_factory=dict)  # by code, the request that it answers
    exchanges: list[Json] = field(default_factory=list)  # requests to the token endpoint

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

    async def authorize(self, request: web.Request) -> web.Response:
        """Sign the person in, and send the browser back with a code."""
        sent = dict(request.query)
        code = uuid.uuid4().hex
        self.codes[code] = sent
        answer = self.denial or {"code": code}
        query = urlencode({**answer, "state": sent["state"], **self.responds})
        return web.Response(status=302, headers={"Location": f"{sent['redirect_uri']}?{query}"})

    async def redeem(self, request: web.Request) -> web.Response:
        """Exchange a code once, as RFC 6749 and RFC 7636 require."""
        form = dict(await request.post())
        self.exchanges.append(
            {**form, "query": request.query_string, "authorization": request.headers.get("Authorization")}
        )
        if self.gate is not None:
            await self.gate.wait()
        if self.token_answer is not None:
            return web.Response(status=self.token_answer[0], body=self.token_answer[1])
        if _client_of(request, form) != (CLIENT_ID, CLIENT_SECRET):
            return web.json_response({"error": "invalid_client"}, status=401)
        sent = self.codes.pop(str(form["code"]), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(str(form["code_verifier"]).encode()).digest())
        if (
            sent is None
            or sent["redirect_uri"] != form["redirect_uri"]
            or sent["code_challenge"] != challenge.decode().rstrip("=")
        ):
            return web.json_response({"error": "invalid_grant"}, status=400)
        assert self.signs is not None
        id_token = self.make(self.signs, {"aud": CLIENT_ID, "nonce": sent["nonce"], "auth_time": now()})
        return web.json_response({"access_token": "unused", "token_type": "Bearer", "id_token": id_token})


def _client_of(request: web.Request, form: Json) -> tuple[str, str]:
    """Return the id and the secret of the client."""
    header = request.headers.get("Authorization")
    if header is None:
        return form["client_id"], form["client_secret"]
    client_id, _, secret = base64.b64decode(header.removeprefix("Basic ")).decode().partition(":")
    return unquote(client_id), unquote(secret)


@asynccontextmanager
async def running() -> AsyncIterator[Provider]:
    """Run a provider."""
    provider = Provider(issuer="")
    app = web.Application()
    app.router.add_get("/jwks", provider.answer)
    app.router.add_get("/.well-known/openid-configuration", provider.answer)
    app.router.add_get("/authorize", provider.authorize)
    app.router.add_post("/token", provider.redeem)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    provider.issuer = f"http://127.0.0.1:{runner.addresses[0][1]}"
    provider.configuration = {
        "issuer": provider.issuer,
        "jwks_uri": f"{provider.issuer}/jwks",
        "authorization_endpoint": f"{provider.issuer}/authorize",
        "token_endpoint": f"{provider.issuer}/token",
    }
    try:
        yield provider
    finally:
        await runner.cleanup()


def trusting(provider: Provider, **options: Any) -> Mapping[str, Any]:
    """Return the issuer as a value of the setting."""
    usual = {"issuer": provider.issuer, "audience": AUDIENCE, "jwks_uri": f"{provider.issuer}/jwks"}
    return {**usual, "algorithms": ["RS256", "ES256", "EdDSA", "PS256"], **options}


def signing_in(provider: Provider, **options: Any) -> Mapping[str, Any]:
    """Return the issuer as a value of the setting, for people only."""
    people = {"audience": None, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "name": "Harbour"}
    return trusting(provider, **{**people, **options})
