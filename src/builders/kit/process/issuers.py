"""Issuers of tokens that are trusted besides ourselves (OpenID Connect), as a setting names them."""

import json
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

Algorithm = Literal["RS256", "ES256", "EdDSA", "PS256"]
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def _address(url: str) -> str:
    """An address whose answers can be believed: by TLS, or from this machine."""
    parts = urlsplit(url)
    is_near = parts.scheme == "http" and parts.hostname in _LOOPBACK
    if not (parts.scheme == "https" or is_near) or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("write an https address without a query")
    return url


Address = Annotated[str, AfterValidator(_address)]


class OidcIssuer(BaseModel):
    """An issuer whose tokens are accepted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: Address  # exactly as in the claim iss
    audience: str = Field(min_length=1)  # what aud must hold
    jwks_uri: Address | None = None  # where its keys are; asked of its discovery document when absent
    algorithms: tuple[Algorithm, ...] = Field(("RS256", "ES256"), min_length=1)
    sign_up: bool = False  # whether an unknown subject with a verified address gets an account
    link_by_email: bool = False  # whether it speaks for the account that has this address already


def read(value: object, *, ours: str | None) -> object:
    """The issuers of a JSON list; `ours` is our own name. Raises ValueError that says where it is wrong."""
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
