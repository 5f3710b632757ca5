"""Schemas of forwarding."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from builders.forwarding.records import MailDay, MailMessage, MailResult, Reception, ShownCorrespondent
from builders.kit.http.bodies import Body, Reply
from builders.kit.http.members import create_of, written_of
from builders.kit.http.pagination import NextCursor
from builders.kit.values.docs import doc
from builders.mail.addresses import Mailbox

MAX_ANSWER = 50_000  # characters
ReceptionWritten = written_of(Reception)
CorrespondentWritten = written_of(ShownCorrespondent)


class CorrespondentCreate(Body):
    """Someone to write to from a name."""

    email: Annotated[Mailbox, doc("Address of the correspondent.")]


class AnswerCreate(Body, extra="forbid"):
    """An answer to the author of a message: `text` or `html`."""

    text: Annotated[str | None, Field(min_length=1, max_length=MAX_ANSWER), doc("Plain text of the answer.")] = (
        None
    )
    html: Annotated[
        str | None,
        Field(min_length=1, max_length=MAX_ANSWER),
        doc("HTML. It keeps no picture, form, style or script, and each link shows its host."),
    ] = None

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        if (self.text is None) == (self.html is None):
            raise PydanticCustomError("one_of", "Send either text or html.")
        return self


@create_of(Reception, "webhook_id", "key_id", may_reply=False)
class ReceptionUpdate(Body, extra="forbid"):
    """Who gets the mail to a name."""


class MailMessagesReply(Reply):
    """Messages that a name received."""

    items: Annotated[list[MailMessage], doc("The messages of this page, newest first.")]
    next_cursor: NextCursor
    since: Annotated[
        datetime | None,
        doc("From when messages are listed: send it to continue a wait. Null without `wait` and `since`."),
    ]


class MailReply(Reply):
    """What happened to the mail of a name: recent results, and counts by day."""

    items: Annotated[list[MailResult], doc("The results of this page, newest first.")]
    next_cursor: NextCursor
    days: Annotated[list[MailDay], doc("Days with mail, newest first; the same on each page.")]
