"""Events of forwarding."""

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import BaseModel

from builders.forwarding.records import StoredMessage
from builders.kit.events.outbox import declare
from builders.kit.values.docs import doc


class MailReceived(BaseModel):
    """A message that a name received, without its content."""

    id: Annotated[UUID, doc("Identifier of the message.")]
    alias_id: Annotated[UUID, doc("The name that received it.")]
    size: Annotated[int, doc("Bytes of the message.")]
    attachments: Annotated[int, doc("Number of attachments, which are read from 1.")]
    spf: Annotated[str, doc("Result of SPF: `pass`, `fail`, `softfail`, `neutral`, `temperror`, `none`, …")]
    dkim: Annotated[str, doc("Result of DKIM: `pass`, `fail`, `none`, …")]
    dmarc: Annotated[str, doc("Result of DMARC: `pass`, `fail` or `none`.")]
    path: Annotated[
        str | None, doc("Where the key of the rule reads the message; null if there was no room for its content.")
    ]
    received_at: Annotated[datetime, doc("When it was received.")]
    expires_at: Annotated[datetime, doc("When its content is deleted.")]

    @classmethod
    def of(cls, message: StoredMessage, *, attachments: int) -> Self:
        """Return the data of a message."""
        path = f"/v1/aliases/{message.alias_id}/mail/{message.id}" if message.is_kept else None
        return cls(
            id=message.id,
            alias_id=message.alias_id,
            size=message.size,
            attachments=attachments,
            spf=message.spf,
            dkim=message.dkim,
            dmarc=message.dmarc,
            path=path,
            received_at=message.received_at,
            expires_at=message.expires_at,
        )


MAIL_RECEIVED = declare(
    name="alias.mail_received",
    description="A name received mail. Sent only to the webhook that a person chose for the name.",
    data=MailReceived,
)
