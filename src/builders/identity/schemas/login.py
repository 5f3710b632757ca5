"""Requests and replies of the login."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from builders.identity.records import MailedCode, MailedLink, Principal
from builders.identity.schemas.account import SessionReply, session_reply
from builders.kit.http import forms
from builders.kit.http.bodies import Body, WriteReply
from builders.kit.http.callers import Caller
from builders.kit.values import texts


def _canonical(text: str) -> str:
    try:
        return texts.canonical_email(text)
    except ValueError as error:
        raise PydanticCustomError("email", "{why}", {"why": str(error)}) from None


Address = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=3, max_length=254),
    AfterValidator(_canonical),
    Field(description="The account's email address."),
]


def _own_path(text: str) -> str:
    if forms.local_path(text) is None:
        raise PydanticCustomError("return_to", "Not a path of this service, such as /v1/invoices.")
    return text


ReturnTo = Annotated[
    str,
    AfterValidator(_own_path),
    Field(description="The path of this service that the emailed link opens after the login."),
]


class LoginRequest(Body):
    """A request for a one-time code."""

    email: Address
    return_to: Annotated[
        ReturnTo | None,
        Field(description="Path of this service to open after signing in, such as `/v1/invoices`."),
    ] = None


class LoginReply(WriteReply):
    """The code was sent, if an account has the address."""

    status: Annotated[
        Literal["sent"], Field(description="Always `sent`, with or without an account of the address.")
    ] = "sent"
    expires_in_s: Annotated[int, Field(description="Lifetime of the code, from its creation.")]


class LoginRedeem(Body):
    """The code with the email address that it was sent to, or the token of the link."""

    email: Annotated[Address | None, Field(description="Address of the account; send it with `code`.")] = None
    code: Annotated[
        str | None,
        Field(max_length=40, description="The emailed code, in upper or lower case, with or without the hyphen."),
    ] = None
    token: Annotated[
        str | None,
        Field(max_length=200, description="Token of the emailed link; send it instead of `email` and `code`."),
    ] = None

    @model_validator(mode="after")
    def _require_one_proof(self) -> "LoginRedeem":
        if (self.token is None) == (self.code is None) or (self.code is None) != (self.email is None):
            raise PydanticCustomError("login_form", "Send email and code, or token alone.")
        return self

    def proof(self) -> MailedCode | MailedLink:
        """Return the code or the token."""
        if self.token is not None:
            return MailedLink(token=self.token)
        return MailedCode(email=self.email or "", code=self.code or "")


class LoginAsRedeemRequest(Body):
    """The text of a login-as grant."""

    grant: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=20, max_length=512),
        Field(description="The grant that the vendor's operator issued, valid once."),
    ]


class SignedInReply(SessionReply, WriteReply):
    """The new session. Only the cookie contains its token; programs use API keys."""


def signed_in_reply(principal: Principal, caller: Caller) -> SignedInReply:
    """Return the reply to a login."""
    return SignedInReply(**session_reply(principal, caller).model_dump())
