"""What goes over the wire of signing in."""

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from builders.identity.records import MailedCode, MailedLink, Standing
from builders.identity.schemas.sessions import CURRENT, SessionReply, current
from builders.kit.http import forms
from builders.kit.http.bodies import Body, WriteReply, by_example
from builders.kit.http.callers import Caller
from builders.kit.values import emails

_TOKEN: JsonDict = {"token": "d2VsbC10aGlzLWlzLW9ubHktYW4tZXhhbXBsZS10b2tlbg"}


def _canonical(text: str) -> str:
    try:
        return emails.canonical(text)
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
    Field(description="The path of this service that the mailed link leads to once a browser is signed in."),
]


class LoginRequest(Body):
    """A request for a code to sign in with."""

    model_config = ConfigDict(json_schema_extra=by_example({"email": "ada@example.net"}))

    email: Address
    return_to: Annotated[
        ReturnTo | None,
        Field(description="Path of this service to open after signing in, such as `/v1/invoices`."),
    ] = None


class LoginReply(WriteReply):
    """A code is on its way, if an account has the address."""

    model_config = ConfigDict(
        json_schema_extra=by_example({"status": "sent", "expires_in_s": 900, "warnings": []})
    )

    status: Annotated[
        Literal["sent"], Field(description="Always `sent`, whether the address has an account or not.")
    ] = "sent"
    expires_in_s: Annotated[int, Field(description="For so long the code is good, from when it is made.")]


class LoginRedeem(Body):
    """What was mailed: the code with the address it was mailed to, or the token of the link."""

    model_config = ConfigDict(
        json_schema_extra=by_example({"email": "ada@example.net", "code": "7KQX-M2PD"}, _TOKEN)
    )

    email: Annotated[Address | None, Field(description="Address of the account; send it with `code`.")] = None
    code: Annotated[
        str | None, Field(max_length=40, description="In either case, with or without the hyphen.")
    ] = None
    token: Annotated[
        str | None,
        Field(max_length=200, description="Token of the emailed link; send it instead of `email` and `code`."),
    ] = None

    @model_validator(mode="after")
    def _whole(self) -> "LoginRedeem":
        if (self.token is None) == (self.code is None) or (self.code is None) != (self.email is None):
            raise PydanticCustomError("login_form", "Send email and code, or token alone.")
        return self

    def proof(self) -> MailedCode | MailedLink:
        """What it proves to have."""
        if self.token is not None:
            return MailedLink(token=self.token)
        return MailedCode(email=self.email or "", code=self.code or "")


class LoginAsRedeemRequest(Body):
    """A login-as grant, as the operator was shown it."""

    model_config = ConfigDict(json_schema_extra=by_example({"grant": "svc_grant_4fGh7Kq2LmN8_onlyAnExample"}))

    grant: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=20, max_length=512),
        Field(description="The grant that the vendor's operator issued; it works once."),
    ]


class SignedInReply(SessionReply, WriteReply):
    """The session just opened. Its token is in the cookie alone; programs use API keys."""

    model_config = ConfigDict(json_schema_extra=by_example({**CURRENT, "warnings": []}))


def signed_in(standing: Standing, caller: Caller) -> SignedInReply:
    """The answer to who has just signed in."""
    return SignedInReply(**current(standing, caller).model_dump())
