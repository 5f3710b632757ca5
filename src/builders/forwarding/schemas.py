"""Schemas of forwarding."""

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from builders.forwarding.records import Correspondent, MailDay, MailResult, Reception
from builders.kit.http.bodies import Body, Reply, WriteReply
from builders.kit.http.members import create_of, written_of
from builders.kit.http.pagination import NextCursor
from builders.kit.values.docs import doc
from builders.mail.addresses import Mailbox

ReceptionWritten = written_of(Reception)


class CorrespondentCreate(Body):
    """Someone to write to from a name."""

    email: Annotated[Mailbox, doc("Address of the correspondent.")]


class CorrespondentReply(Reply):
    """Someone to whom the owner of a name writes from it."""

    id: Annotated[UUID, doc("Identifier of the correspondent.")]
    email: Annotated[str, doc("Address of the correspondent.")]
    reverse_address: Annotated[
        str,
        doc(
            "What a confirmed destination of the name sends here goes to the correspondent, as from the name. "
            "Mail of others is refused."
        ),
    ]
    created_at: Annotated[datetime, doc("When the first message came, or the correspondent was added.")]
    used_at: Annotated[datetime, doc("Time of the newest message. 90 days later the correspondent is deleted.")]

    @classmethod
    def of(cls, found: Correspondent, *, email: str, domain: str) -> Self:
        """Return the reply for a correspondent of a name on the domain."""
        return cls.from_record(found, email=email, reverse_address=f"{found.name}@{domain}")


class CorrespondentWritten(CorrespondentReply, WriteReply):
    """A correspondent, and notes on the request."""


@create_of(Reception, "webhook_id", "key_id")
class ReceptionUpdate(Body, extra="forbid"):
    """Who gets the mail to a name."""


class MailReply(Reply):
    """What happened to the mail of a name: recent results, and counts by day."""

    items: Annotated[list[MailResult], doc("The results of this page, newest first.")]
    next_cursor: NextCursor
    days: Annotated[list[MailDay], doc("Days with mail, newest first; the same on each page.")]
