"""Wire format of tracking."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from builders.kit.http.bodies import Reply
from builders.kit.http.members import reply_members, with_members
from builders.kit.values.docs import doc
from builders.tracking.records import Count


class LinkReply(Reply):
    """The target of a tracked link, for clients other than browsers."""

    target: Annotated[str, doc("Target of the link.")]


@with_members(reply_members(Count))
class CountReply(Reply):
    """Number of opens or clicks, by people and by machines."""


_COUNTED = "the first 1,000 opens and clicks together count."


class MessageReply(Reply):
    """A notice that was emailed for the account."""

    id: Annotated[UUID, doc("Identifier of the message.")]
    template: Annotated[str, doc("Email template of the message.")]
    recipient: Annotated[str, doc("Address of the recipient, masked.")]
    status: Annotated[
        Literal["queued", "deferred", "sent", "bounced", "expired", "suppressed"],
        doc("Delivery state of the message."),
    ]
    created_at: Annotated[datetime, doc("When the message was queued.")]
    sent_at: Annotated[datetime | None, doc("When the mail server accepted it; null before.")]
    opens: Annotated[CountReply, doc(f"Opens of the message; {_COUNTED}")]
    clicks: Annotated[CountReply, doc(f"Clicks on links of the message; {_COUNTED}")]
