"""Events of identity."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel

from builders.identity.records import ApiKey
from builders.kit.events.outbox import declare
from builders.kit.events.payloads import event_of
from builders.kit.values.docs import doc


@event_of(ApiKey, "id", "label", "key_kind", "preset", "prefix", *("expires_at", "allowed_ips", "replaces"))
class KeyChanged(BaseModel):
    """An API key, without its secret."""

    expires_at: Annotated[datetime | None, doc("When the key ends; null: never.")] = None
    allowed_ips: Annotated[list[str] | None, doc("The networks that the key works from; null: any.")] = None
    replaces: Annotated[UUID | None, doc("The key that a rotation replaced.")] = None


class ConnectionCreated(BaseModel):
    """A client got a connection."""

    id: UUID  # of the key
    label: str  # the name that the client claims
    client_host: str  # of its description


class AccountCreated(BaseModel):
    """An account was created."""

    verified: bool  # its address counts as verified; no verification email is necessary


class EmailVerified(BaseModel):
    """An account's email address was verified."""

    email: Annotated[str, doc("The verified address.")]
    verified_at: Annotated[datetime, doc("When it was verified.")]


class EmailChanged(BaseModel):
    """A change of an account's email address. The new address is verified."""

    email: Annotated[str, doc("The new address.")]
    previous_email: Annotated[str, doc("The previous address.")]


class SupportSignedIn(BaseModel):
    """The vendor's support signed in as the account with a login-as grant."""

    session_id: Annotated[UUID, doc("Identifier of the support session.")]
    operator: Annotated[str, doc("Name of the vendor's employee.")]
    reason: Annotated[str, doc("The reason that support stated.")]
    may_write: Annotated[bool, doc("Whether the session may change data.")]
    expires_at: Annotated[datetime, doc("When the session ends.")]


KEY_CREATED = declare(
    name="api_key.created", description="An API key was created, also by a rotation.", data=KeyChanged
)
KEY_REVOKED = declare(name="api_key.revoked", description="An API key was revoked.", data=KeyChanged)
ACCOUNT_CREATED = declare(
    name="account.created", description="An account was created.", data=AccountCreated, internal=True
)
CONNECTION_CREATED = declare(
    name="connection.created",
    description="A person connected a client.",
    data=ConnectionCreated,
    internal=True,  # webhooks get api_key.created
)
EMAIL_VERIFIED = declare(
    name="email.verified",
    description="The account's email address was verified; published again for a new address.",
    data=EmailVerified,
)
EMAIL_CHANGED = declare(
    name="email.changed", description="The email address of the account changed.", data=EmailChanged
)
SUPPORT_SIGNED_IN = declare(
    name="support.signed_in", description="The vendor's support signed in as the account.", data=SupportSignedIn
)
