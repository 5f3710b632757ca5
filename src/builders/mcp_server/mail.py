"""Tools for the mail to a name, which a rule of the name lets one credential read."""

from typing import Annotated, Any

from pydantic import Field

from builders.kit.effects import Effect
from builders.kit.mandates import Toolset
from builders.mcp_server.calls import Calls, NextAction, Refused
from builders.mcp_server.plans import LONGEST_WAIT_S, Id
from builders.mcp_server.tools import (
    Arguments,
    Attempt,
    Cursor,
    Limit,
    LongText,
    Reply,
    Result,
    Untrusted,
    tool,
    untrusted,
)

MESSAGES = "/v1/aliases/{alias_id}/mail/messages"
MESSAGE = "/v1/aliases/{alias_id}/mail/{message_id}"


class ReadMail(Arguments):
    """Which mail."""

    alias_id: Annotated[Id, Field(description="Of the name.")]
    message_id: Annotated[Id | None, Field(description="Read this one with its text.")] = None
    sender: Annotated[str | None, Field(max_length=253, description="Domain; needed to wait.")] = None
    seconds: Annotated[int, Field(ge=0, le=LONGEST_WAIT_S, description="Wait for new mail.")] = 0
    since: Annotated[str | None, Field(description="Of the previous answer, to wait on.")] = None
    limit: Limit = 10
    cursor: Cursor = None


class Code(Reply):
    """A code of the text."""

    untrusted_code: Untrusted = untrusted("code")
    untrusted_context: Untrusted = untrusted("context")


class MailLink(Reply):
    """A link of the text."""

    untrusted_url: Untrusted = untrusted("url")
    untrusted_host: Untrusted = untrusted("host")
    is_of_sender: bool


class Extracted(Reply):
    """Codes and links of a sender who is proved."""

    codes: list[Code]
    links: list[MailLink]


class Author(Reply):
    """Who the mail says that it is from."""

    untrusted_name: Untrusted = untrusted("name")
    untrusted_email: Untrusted = untrusted("email")


class Authentication(Reply):
    """What proves the sender."""

    dmarc: str
    aligned: bool


class Message(Reply):
    """A mail."""

    id: str
    author: Author | None = untrusted("from")
    untrusted_subject: Untrusted = untrusted("subject")
    authentication: Authentication
    extracted: Extracted
    attachments: int
    arrived_at: str
    unanswerable: Annotated[str | None, Field(description="Why it cannot be answered.")] = None
    untrusted_text: LongText | None = untrusted("text")


class Mail(Result):
    """Mail of the name."""

    messages: list[Message]
    pending: bool = False
    since: str | None = None
    next_cursor: str | None = None


@tool("Read mail", Toolset.MAIL, f"GET {MESSAGES}")
async def read_mail(api: Calls, asked: ReadMail) -> Mail:
    """Read the mail to a name, newest first; one message with its text; or wait for mail of a domain."""
    path = {"alias_id": asked.alias_id}
    if asked.message_id is not None:
        found = (await api.send("GET", MESSAGE, path=path | {"message_id": asked.message_id})).body
        return Mail.model_validate({"messages": [found]})
    if asked.seconds and asked.sender is None:
        raise Refused("arguments_invalid", "To wait, send the domain of the `sender` that you expect.")
    query = {"from": asked.sender, "wait": asked.seconds or None, "since": asked.since}
    query |= {"limit": asked.limit, "cursor": asked.cursor}
    page = (await api.send("GET", MESSAGES, path=path, query=query)).body
    is_pending = bool(asked.seconds) and not page["items"]
    again = {**asked.model_dump(exclude_none=True), "since": page["since"]}
    actions = [NextAction("It has not arrived: wait again.", "read_mail", again).shown()] if is_pending else []
    shown: dict[str, Any] = {**page, "messages": page["items"], "pending": is_pending, "next_actions": actions}
    return Mail.model_validate(shown)


class ReplyToMail(Arguments):
    """The answer."""

    alias_id: Id
    message_id: Id
    text: Annotated[
        str, Field(min_length=1, max_length=20_000, description="Plain; subject and quoting are ours.")
    ]
    attempt: Attempt = 1


class Answer(Result):
    """The answer, which the mail server sends."""

    id: str
    status: str
    code: str | None = None


@tool("Reply to mail", Toolset.MAIL, f"POST {MESSAGE}/reply", effect=Effect.OUTWARD)
async def reply_to_mail(api: Calls, asked: ReplyToMail) -> Answer:
    """Answer one mail from the name that received it, to its proved sender only."""
    path = {"alias_id": asked.alias_id, "message_id": asked.message_id}
    answer = (await api.send("POST", f"{MESSAGE}/reply", path=path, body={"text": asked.text})).body
    return Answer.model_validate(answer)
