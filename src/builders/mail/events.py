"""What mail tells, for subscribers only."""

from uuid import UUID

from pydantic import BaseModel

from builders.kit.events.outbox import Event, declare
from builders.mail.records import Topic


class MailBounced(BaseModel):
    """A message that nobody will get."""

    message_id: UUID
    letter: str
    code: int | None  # of the server's last reply


class MailUnsubscribed(BaseModel):
    """A reader who wants no more of a topic."""

    topic: Topic
    address: str


class MailForgotten(BaseModel):
    """Messages whose reader was erased."""

    message_ids: list[UUID]


MAIL_BOUNCED = declare(
    Event(
        name="mail.bounced",
        version=1,
        description="A message was refused for good, or given up.",
        example=MailBounced(
            message_id=UUID("0193a1b2-0000-7000-8000-000000000005"), letter="verify_email", code=550
        ),
        internal=True,
    )
)
MAIL_UNSUBSCRIBED = declare(
    Event(
        name="mail.unsubscribed",
        version=1,
        description="A reader wants no more of a topic.",
        example=MailUnsubscribed(topic=Topic.NEWS, address="ada@example.net"),
        internal=True,
    )
)
MAIL_FORGOTTEN = declare(
    Event(
        name="mail.forgotten",
        version=1,
        description="Messages were removed, and nothing is to be known of them any more.",
        example=MailForgotten(message_ids=[UUID("0193a1b2-0000-7000-8000-000000000005")]),
        internal=True,
    )
)
