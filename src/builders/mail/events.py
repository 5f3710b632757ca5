"""The internal events of mail, for subscribers only."""

from uuid import UUID

from pydantic import BaseModel

from builders.kit.events.outbox import declare
from builders.mail.records import Topic


class MailBounced(BaseModel):
    """A message that was not delivered and is not tried again."""

    message_id: UUID
    template: str
    code: int | None  # of the server's last reply


class MailUnsubscribed(BaseModel):
    """A recipient who unsubscribed from a topic."""

    topic: Topic
    address: str


class MailForgotten(BaseModel):
    """Deleted messages, whose recipient was erased."""

    message_ids: list[UUID]


MAIL_BOUNCED = declare(
    name="mail.bounced",
    description="A message was refused permanently, or failed too long.",
    data=MailBounced,
    internal=True,
)
MAIL_UNSUBSCRIBED = declare(
    name="mail.unsubscribed",
    description="A recipient unsubscribed from a topic.",
    data=MailUnsubscribed,
    internal=True,
)
MAIL_FORGOTTEN = declare(
    name="mail.forgotten",
    description="Messages were deleted; data about them must be deleted too.",
    data=MailForgotten,
    internal=True,
)
