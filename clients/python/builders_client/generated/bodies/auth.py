# Written by script/clients.
"""What callers send: auth."""

from typing import NotRequired, TypedDict


class LoginAsRedeemRequest(TypedDict):
    """The text of a login-as grant."""

    grant: str
    """The grant that the vendor's operator issued, valid once."""


class LoginRedeem(TypedDict):
    """The code with the email address that it was sent to, or the token of the link."""

    email: NotRequired[str | None]
    """Address of the account; send it with `code`."""
    code: NotRequired[str | None]
    """The emailed code, in upper or lower case, with or without the hyphen."""
    token: NotRequired[str | None]
    """Token of the emailed link; send it instead of `email` and `code`."""


class LoginRequest(TypedDict):
    """A request for a one-time code."""

    email: str
    """The account's email address."""
    return_to: NotRequired[str | None]
    """Path of this service to open after signing in, such as `/v1/invoices`."""
