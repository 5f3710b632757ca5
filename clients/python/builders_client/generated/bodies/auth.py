# Written by script/clients.
"""What callers send: auth."""

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

from builders_client.generated.bodies.shared import MandateCreate


class ConnectionDecisionCreate(TypedDict):
    """What the person decided about a program that asks for a connection. Unknown members are refused."""

    decision: Literal["allow", "deny"]
    """`allow` or `deny`."""
    client_digest: str
    """As the request showed it."""
    key_kind: NotRequired[Literal["live", "test"]]
    """`test` for the sandbox; `live` has real effects."""
    expires_in_days: NotRequired[int]
    """Days until the connection ends, 1 to 365; 30 by default."""
    mandate: NotRequired[MandateCreate | None]
    """What the program may do and spend; needed to allow it."""


class DeviceAuthorizationCreate(TypedDict):
    """A machine that asks for keys (RFC 8628, 3.1), as JSON or as a form. `client_id` is not needed."""

    host: NotRequired[str]
    """Name of the machine, which the person sees and the keys are labelled with."""
    scope: NotRequired[str]
    """What to offer to the person, separated by spaces: presets of test keys, `live` for a live key, and `agent`
    for keys with a mandate. The person decides.
    """


class DeviceCodeRequest(TypedDict):
    """The code that a person types."""

    user_code: str
    """The code that the terminal shows, such as 7KQX-M2PD."""


class DeviceDecisionCreate(TypedDict):
    """What the person decides. Unknown members are refused."""

    decision: Literal["approve", "deny"]
    """Whether the machine gets keys."""
    test_presets: NotRequired[Sequence[Literal["domainer_full", "developer_full"]]]
    """A test key for each."""
    live_preset: NotRequired[Literal["domainer_full", "developer_full"] | None]
    """The preset of a live key; null: none."""
    mandate: NotRequired[MandateCreate | None]
    """What each of the keys may do and spend; required for an agent. Null: what its scopes allow."""


class DeviceTokenRequest(TypedDict):
    """A poll (RFC 8628, 3.4), as JSON or as a form."""

    device_code: str
    """The `device_code` of the machine."""
    grant_type: NotRequired[Literal["urn:ietf:params:oauth:grant-type:device_code"] | None]
    """The grant of RFC 8628; optional."""


class LeakedKey(TypedDict):
    """An API key that was found where it should not be. Unknown members are refused."""

    key: str
    """The whole key, `svc_live_…` or `svc_test_…`."""


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
