"""Tokens that are refused for every issuer: each form builds one from a valid token."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from builders.kit.values import clock
from tests.identity.token_forger import Forger, b64, by_hmac, part

Form = Callable[[Forger], str]


def now() -> int:
    """Return the time as a NumericDate."""
    return int(clock.now().timestamp())


def _unsigned(name: str) -> Form:
    return lambda good: good.make(header={"alg": name}, sign=lambda _: b"")


def _by_public_key(nth: int) -> Form:
    def make(good: Forger) -> str:
        forms = good.public_forms
        return good.make(header={"alg": "HS256"}, sign=by_hmac(forms[nth % len(forms)]))

    return make


def _header(**header: Any) -> Form:
    return lambda good: good.make(header=header)


def _claims(**claims: Any) -> Form:
    return lambda good: good.make(**claims)


def _without(name: str) -> Form:
    return lambda good: good.make(drop=(name,))


def _raw_claims(text: str) -> Form:
    return lambda good: good.of(f"{part(good.header)}.{b64(text.encode())}")


def _raw_header(text: str) -> Form:
    return lambda good: good.of(f"{b64(text.encode())}.{part(good.claims)}")


def _altered(good: Forger) -> str:
    header, claims, signature = good.make().split(".")
    del claims
    return f"{header}.{part({**good.claims, 'sub': 'somebody-else'})}.{signature}"


def _bit_flipped(good: Forger) -> str:
    token = good.make()
    return token[:-10] + ("A" if token[-10] != "A" else "B") + token[-9:]


def _doubled_exp(good: Forger) -> str:
    said = json.dumps(dict(good.claims))
    return good.of(f"{part(good.header)}.{b64((said[:-1] + f', {chr(34)}exp{chr(34)}: 1}}').encode())}")


_PATHS = (
    "../../etc/passwd",
    "/dev/null",
    "' OR 1=1 --",
    "https://evil.example/key",
    "\0",
    "x" * 129,
    "x" * 10_000,
)
_DEEP = "[" * 2500 + "]" * 2500

FORMS: Mapping[str, Form] = {
    "alg none": _unsigned("none"),
    "alg None": _unsigned("None"),
    "alg NONE": _unsigned("NONE"),
    "alg empty": _unsigned(""),
    "no signature": lambda good: ".".join(good.make().split(".")[:2]) + ".",
    "HS256 with the public key as PEM": _by_public_key(0),
    "HS256 with the public key as DER": _by_public_key(1),
    "HS256 with the public key raw": _by_public_key(2),
    "HS256 with an empty key": lambda good: good.make(header={"alg": "HS256"}, sign=by_hmac(b"")),
    "alg a number": _header(alg=7),
    "alg a list": _header(alg=["EdDSA", "none"]),
    "alg null": _header(alg=None),
    "alg missing": _without("alg"),
    "kid missing": _without("kid"),
    "kid empty": _header(kid=""),
    "kid unknown": _header(kid="cafecafe"),
    "kid a number": _header(kid=7),
    "kid a list": _header(kid=["x"]),
    **{f"kid {path[:20]!r}": _header(kid=path) for path in _PATHS},
    "jku": _header(jku="https://evil.example/jwks.json"),
    "jwk": _header(jwk={"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}),
    "x5u": _header(x5u="https://evil.example/cert.pem"),
    "x5c": _header(x5c=["AAAA"]),
    "crit": _header(crit=["exp"]),
    "b64 false": _header(b64=False),
    "typ of a logout": _header(typ="logout+jwt"),
    "typ of a proof": _header(typ="dpop+jwt"),
    "typ a number": _header(typ=7),
    "iss wrong": _claims(iss="https://evil.example"),
    "iss with a slash more": lambda good: good.make(iss=f"{good.claims['iss']}/"),
    "iss a list": lambda good: good.make(iss=[good.claims["iss"]]),
    "iss a number": _claims(iss=7),
    "iss missing": _without("iss"),
    "aud wrong": _claims(aud="https://evil.example"),
    "aud empty": _claims(aud=[]),
    "aud a number": _claims(aud=7),
    "aud missing": _without("aud"),
    "sub missing": _without("sub"),
    "sub empty": _claims(sub=""),
    "sub a number": _claims(sub=7),
    "sub with a NUL": _claims(sub="a\0b"),
    "sub too long": _claims(sub="x" * 256),
    "sub a surrogate": _claims(sub="\ud800"),
    "expired": lambda good: good.make(iat=now() - 600, nbf=now() - 600, exp=now() - 31),
    "not yet valid": lambda good: good.make(nbf=now() + 90),
    "issued in the future": lambda good: good.make(iat=now() + 90),
    "nbf text": _claims(nbf="0"),
    "exp missing": _without("exp"),
    "exp null": _claims(exp=None),
    "exp text": lambda good: good.make(exp=str(now() + 600)),
    "exp a fraction": lambda good: good.make(exp=now() + 600.5),
    "exp true": _claims(exp=True),
    "exp negative": _claims(exp=-1),
    "exp huge": _claims(exp=10**400),
    "exp beyond any date": _claims(exp=10**12),
    "exp infinite": lambda good: good.make(exp=float("inf")),
    "exp twice": _doubled_exp,
    "iat missing": _without("iat"),
    "iat text": lambda good: good.make(iat=str(now())),
    "claims a list": _raw_claims("[]"),
    "claims text": _raw_claims('"x"'),
    "claims no JSON": _raw_claims("{"),
    "claims no UTF-8": lambda good: good.of(f"{part(good.header)}.{b64(b'{_' + bytes([255]) + b'}')}"),
    "claims deep": _raw_claims(_DEEP),
    "header a list": _raw_header("[]"),
    "header no JSON": _raw_header("nonsense"),
    "header deep": _raw_header(_DEEP),
    "altered": _altered,
    "a bit flipped": _bit_flipped,
    "truncated": lambda good: good.make()[:-1],
    "cut in half": lambda good: good.make()[: len(good.make()) // 2],
    "two parts": lambda good: good.make().rpartition(".")[0],
    "four parts": lambda good: f"{good.make()}.AAAA",
    "five parts": lambda good: f"{good.make()}.AAAA.AAAA",
    "dots": lambda _: "..",
    "garbage": lambda _: "eyJ" + "x" * 50,
    "no ASCII": lambda good: f"{good.make()}\u00e4",
    "over 8 KiB": lambda good: good.make(padding="x" * 8192),
    "60 kB": lambda _: "e" * 60_000,
}
