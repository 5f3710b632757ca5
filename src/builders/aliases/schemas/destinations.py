"""Schemas of destinations and their confirmation."""

from datetime import datetime
from typing import Annotated, Literal

from email_validator import EmailNotValidError, validate_email
from pydantic import Field

from builders.aliases.records import Confirmation, Destination
from builders.kit.http.bodies import Body, Reply, WriteReply
from builders.kit.values.texts import checked


def _mailbox(written: str) -> str:
    """Return an address (RFC 5321) with its domain as an A-label. Raise ValueError."""
    try:
        found = validate_email(written, check_deliverability=False, strict=True)
    except EmailNotValidError as error:
        raise ValueError(f"Not an email address: {error}") from None
    return f"{found.local_part}@{found.ascii_domain.lower()}"


Mailbox = Annotated[
    str, Field(max_length=254), checked(_mailbox, "email"), Field(json_schema_extra={"format": "email"})
]


class DestinationResend(Body):
    """The destination that gets another confirmation."""

    email: Annotated[Mailbox, Field(description="A destination of one of your names.")]


class DestinationReply(Reply):
    """A present or former destination of names."""

    email: Annotated[str, Field(description="Address of the recipient.")]
    verified: Annotated[bool, Field(description="Whether the recipient agreed to receive forwarded mail.")]
    verified_at: Annotated[datetime | None, Field(description="When the recipient agreed; null before.")]
    asked_at: Annotated[datetime | None, Field(description="When the last confirmation was requested.")]
    asking_at: Annotated[
        datetime | None,
        Field(
            description=(
                "Latest time of its confirmation email, if the account has reached its daily limit; otherwise "
                "null."
            )
        ),
    ]
    created_at: Annotated[datetime, Field(description="When it first became the destination of a name.")]


class DestinationResent(DestinationReply, WriteReply):
    """A destination, and whether another confirmation is sent to it."""

    sent: Annotated[
        bool, Field(description="Whether a message is sent; false when the recipient has agreed already.")
    ]


class DestinationConfirmed(Reply):
    """The result of following a confirmation link."""

    status: Annotated[
        Literal["confirmed", "already_confirmed"],
        Field(description="`already_confirmed` when the link was used before."),
    ]
    email: Annotated[str, Field(description="The address, masked: `a***@example.net`.")]


def resent_reply(destination: Destination, *, sent: bool) -> DestinationResent:
    """Return the reply to a resend."""
    return DestinationResent.from_record(destination, sent=sent)


def confirmed_reply(confirmation: Confirmation) -> DestinationConfirmed:
    """Return the reply to a program that followed the link."""
    return DestinationConfirmed(
        status="already_confirmed" if confirmation.repeated else "confirmed", email=confirmation.email_masked
    )
