"""Settings of other issuers, whose tokens are accepted or at which people sign in."""

from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

from builders.kit.values.texts import visible

Algorithm = Literal["RS256", "ES256", "EdDSA", "PS256"]
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def _endpoint(url: str) -> str:
    """Return the URL if its responses are authentic: by TLS, or from this machine. Raise ValueError."""
    parts = urlsplit(url)
    is_near = parts.scheme == "http" and parts.hostname in _LOOPBACK
    if not (parts.scheme == "https" or is_near) or not parts.hostname or parts.fragment:
        raise ValueError("write an https address")
    return url


def _address(url: str) -> str:
    if "?" in _endpoint(url):
        raise ValueError("write an https address without a query")
    return url


Endpoint = Annotated[str, AfterValidator(_endpoint)]  # a query is a part of it (RFC 6749, 3.1)
Address = Annotated[str, AfterValidator(_address)]


def _not_blank(secret: SecretStr) -> SecretStr:
    if not visible(secret.get_secret_value().removeprefix("whsec_")):
        raise ValueError("write the secret, which has visible characters")
    return secret


Secret = Annotated[SecretStr, AfterValidator(_not_blank)]


class OidcIssuer(BaseModel):
    """An issuer whose tokens are accepted, or at which people sign in."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    issuer: Address  # exactly as in the claim `iss`
    audience: str | None = Field(None, min_length=1)  # which `aud` must contain; None: no tokens are accepted
    jwks_uri: Endpoint | None = None  # of its keys; None: as in its discovery document
    algorithms: tuple[Algorithm, ...] = Field(("RS256", "ES256"), min_length=1)
    sign_up: bool = False  # create an account for an unknown subject with a verified address
    link_by_email: bool = False  # link a subject to the account that has its address
    client_id: str | None = Field(None, min_length=1, max_length=500)  # None: people do not sign in there
    client_secret: Secret | None = None
    name: str | None = Field(None, min_length=1, max_length=60, pattern=r"^[^\x00-\x1f\x7f]*$")  # on the button

    @model_validator(mode="after")
    def _has_a_use(self) -> Self:
        if (self.client_id is None) != (self.client_secret is None):
            raise ValueError("write both client_id and client_secret, or neither")
        if self.client_id is None and self.audience is None:
            raise ValueError("write an audience, to accept tokens, or a client_id and a client_secret, to sign in")
        if self.client_id == self.audience:
            raise ValueError("audience and client_id are equal, so the issuer's ID tokens would be accepted")
        return self

    @property
    def label(self) -> str:
        """Return the name that people see."""
        return self.name or urlsplit(self.issuer).netloc
