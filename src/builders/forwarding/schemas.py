"""Schemas of forwarding."""

from typing import Annotated

from builders.forwarding.records import MailDay, MailResult, Reception, ShownCorrespondent
from builders.kit.http.bodies import Body, Reply
from builders.kit.http.members import create_of, written_of
from builders.kit.http.pagination import NextCursor
from builders.kit.values.docs import doc
from builders.mail.addresses import Mailbox

ReceptionWritten = written_of(Reception)
CorrespondentWritten = written_of(ShownCorrespondent)


class CorrespondentCreate(Body):
    """Someone to write to from a name."""

    email: Annotated[Mailbox, doc("Address of the correspondent.")]


@create_of(Reception, "webhook_id", "key_id")
class ReceptionUpdate(Body, extra="forbid"):
    """Who gets the mail to a name."""


class MailReply(Reply):
    """What happened to the mail of a name: recent results, and counts by day."""

    items: Annotated[list[MailResult], doc("The results of this page, newest first.")]
    next_cursor: NextCursor
    days: Annotated[list[MailDay], doc("Days with mail, newest first; the same on each page.")]
