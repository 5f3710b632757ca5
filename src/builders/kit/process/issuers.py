"""Trusted token issuers besides this service (OpenID Connect), as a setting lists them."""

import json
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

Algorithm = Literal["RS256", "ES256", "EdDSA", "PS256"]
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def _address(url: str) -> str:
    """Return the URL if its responses are authentic: by TLS, or from this machine. Raise ValueError."""
    parts = urlsplit(url)
    is_near = parts.scheme == "http" and parts.hostname in _LOOPBACK
    if not (parts.scheme == "https" or is_near) or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("write an https address without a query")
    return url


Address = Annotated[str, AfterValidator(_address)]


class OidcIssuer(BaseModel):
    """An issuer whose tokens are accepted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: Address  # exactly as in the claim `iss`
    audience: str = Field(min_length=1)  # which the claim `aud` must contain
    jwks_uri: Address | None = None  # of its keys; None: as in its discovery document
    algorithms: tuple[Algorithm, ...] = Field(("RS256", "ES256"), min_length=1)
    sign_up: bool = False  # create an account for an unknown subject with a verified address
    link_by_email: bool = False  # link a subject to the account that has its address


def read(value: object, *, ours: str | None) -> object:
    """Return the issuers of a JSON list; `ours` is the issuer of this service. Raise ValueError."""
    if not isinstance(value, str):
        return value
    try:
        listed = json.loads(value)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(listed, list):
        raise ValueError("write a JSON list of issuers")  # noqa: TRY004 - what pydantic takes for a wrong value
    found = [_read_one(at, each) for at, each in enumerate(listed)]
    if len({each.issuer for each in found}) < len(found):
        raise ValueError("an issuer is named twice")
    if ours is not None and ours.rstrip("/") in {each.issuer for each in found}:
        raise ValueError("an issuer is this service itself, whose tokens are accepted anyway")
    return tuple(found)


def _read_one(at: int, value: object) -> OidcIssuer:
    try:
        return OidcIssuer.model_validate(value)
    except ValidationError as error:
        wrong = error.errors()[0]
        place = ".".join(map(str, (at, *wrong["loc"])))
        raise ValueError(f"{place}: {wrong['msg'].removeprefix('Value error, ')}") from None
