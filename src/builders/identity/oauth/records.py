"""Records of OAuth, and their bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated
from uuid import UUID

from builders.identity.records import KeyKind, ListedKey
from builders.kit.limits import maximums
from builders.kit.mandates import Mandate
from builders.kit.values.docs import doc
from builders.kit.values.money import Money
from builders.kit.values.resources import ONCE, resource

RESOURCE_PATH = "/mcp"  # the one resource that access tokens open
AUTHORIZE, TOKEN, REVOKE = "/oauth/authorize", "/oauth/token", "/oauth/revoke"
PATHS = (TOKEN, REVOKE)  # that clients in browsers call
SERVER_METADATA = "/.well-known/oauth-authorization-server"  # RFC 8414
RESOURCE_METADATA = f"/.well-known/oauth-protected-resource{RESOURCE_PATH}"  # RFC 9728
METADATA_PATHS = (SERVER_METADATA, RESOURCE_METADATA)
MAX_OPEN = maximums.declare(
    "authorization_requests",
    10_000,
    of="service",
    counts="Programs that wait until a person decides about their connection.",
    code="authorization_requests_full",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRequest:
    """An authorization request as it was sent."""

    id: UUID
    parameters: str  # the query
    expires_at: datetime


@resource("WaitingConnection")
@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRequest:
    """A request of a program that this browser began."""

    id: Annotated[UUID, doc("Identifier of the request; it opens nothing in another browser.")]
    expires_at: Annotated[datetime, doc("Until when it can be decided.")]


@resource("ConnectionRequest")
@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRequest(WaitingRequest):
    """A program that asks for a connection, as the person sees it."""

    client_id: Annotated[str, doc("The address of the program's description.")]
    client_name: Annotated[str, doc("The name that the program claims. Anybody can claim any name.")]
    client_digest: Annotated[str, doc("SHA-256 of the description; a decision repeats it.")]
    client_host: Annotated[str, doc("The host of the description, as in the domain name system.")]
    client_host_unicode: Annotated[str, doc("The same host in Unicode.")]
    redirect_host: Annotated[str | None, doc("The host that gets the answer; null: a program on this computer.")]
    redirect_host_unicode: Annotated[str | None, doc("The same host in Unicode.")]
    scopes: Annotated[Sequence[str], doc("What the program asks for; it gets what the person chooses.")]
    error: Annotated[str | None, doc("Why the request is refused (RFC 6749, 4.1.2.1); null: a person can decide.")]
    redirect_url: Annotated[str | None, doc("Where to tell the program that its request is refused.")]


@resource("ConnectionDecision")
@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The answer to the program, which the browser takes there."""

    redirect_url: Annotated[
        str | None,
        doc("The address of the program with a code or the refusal; absent when an Idempotency-Key repeats it."),
        ONCE,
    ] = field(default=None, repr=False)
    connection_id: Annotated[UUID | None, doc("The new connection; null after a refusal.")] = None


@resource("ConnectionItem")
@dataclass(frozen=True, slots=True, kw_only=True)
class Connection(ListedKey):
    """A client that a person has connected to the account: a key without a secret."""

    client_id: Annotated[str, doc("The address of the client's description.")]
    left: Annotated[
        Sequence[Money], doc("What is left of `max_total_per_30_days` for all connections of this client.")
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a person decided about a connection."""

    kind: KeyKind
    expires_at: datetime
    mandate: Mandate


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """An authorization code that was presented; `uses` counts this one."""

    key_id: UUID
    session_id: UUID
    client_id: str
    redirect_uri: str
    challenge: str
    expires_at: datetime
    uses: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """The tokens of one refresh, with the state of their connection."""

    key_id: UUID
    generation: int
    client_id: str
    label: str
    toolsets: Sequence[str]
    ends_at: datetime | None  # of the connection
    is_ended: bool
    refresh_expires_at: datetime
    access_expires_at: datetime
    refresh_digest: bytes = field(repr=False)
    used_at: datetime | None  # of the refresh token
    next_used_at: datetime | None  # of its successor
    next_digest: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The tokens of a client, which are not stored."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)
    expires_in: int  # seconds
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The connection of an access token; `is_ended` if the token or the connection has ended."""

    account_id: UUID
    sandbox_id: UUID
    key_id: UUID
    kind: KeyKind
    label: str
    mandate: dict[str, object]
    reads_mail: bool
    removed_scopes: Sequence[str]
    expires_at: datetime
    is_ended: bool
