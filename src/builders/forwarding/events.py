"""Events of forwarding."""

from typing import Annotated

from pydantic import BaseModel

from builders.forwarding.records import StoredMessage
from builders.kit.events.outbox import declare
from builders.kit.events.payloads import event_of, values_of
from builders.kit.values.docs import doc


@event_of(
    StoredMessage,
    *("id", "alias_id", "size", "attachments", "spf", "dkim", "dmarc", "path", "received_at", "expires_at"),
)
class MailReceived(BaseModel):
    """A message that a name received, without its content."""

    attachments: Annotated[int, doc("Number of attachments, which are read from 1.")]
    path: Annotated[
        str | None, doc("Where the key of the rule reads the message; null if there was no room for its content.")
    ]


MAIL_RECEIVED = declare(
    name="alias.mail_received",
    description="A name received mail. Sent only to the webhook that a person chose for the name.",
    data=MailReceived,
)


def mail_received(message: StoredMessage, *, attachments: int) -> MailReceived:
    """Return the data of the event about a message."""
    path = f"/v1/aliases/{message.alias_id}/mail/{message.id}" if message.is_kept else None
    return MailReceived(attachments=attachments, path=path, **values_of(message, MailReceived))
