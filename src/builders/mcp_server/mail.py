"""Tools for the mail to a name, which a rule of the name lets one credential read."""

from typing import Annotated

from pydantic import Field

from builders.kit.effects import Effect
from builders.kit.mandates import Toolset
from builders.mcp_server.calls import Calls, NextAction, Result, refuse_arguments
from builders.mcp_server.plans import LONGEST_WAIT_S, Id
from builders.mcp_server.selections import MAX_LONG, added, as_data, part, show, taken
from builders.mcp_server.tools import Arguments, Attempt, Cursor, Limit, tool

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


@tool(
    "Read mail",
    Toolset.MAIL,
    f"GET {MESSAGES}",
    shows=show(
        "since",
        "next_cursor",
        messages=part(
            "items",
            *("id", "attachments", "arrived_at", "unanswerable"),
            author=part("from", untrusted_name=taken("name"), untrusted_email=taken("email")),
            untrusted_subject=taken("subject"),
            authentication=part("authentication", "dmarc", "aligned"),
            extracted=part(
                "extracted",
                codes=part("codes", untrusted_code=taken("code"), untrusted_context=taken("context")),
                links=part("links", "is_of_sender", untrusted_url=taken("url"), untrusted_host=taken("host")),
            ),
            untrusted_text=added("string"),
        ),
        pending=added("boolean"),
    ),
)
async def read_mail(api: Calls, asked: ReadMail) -> Result:
    """Read the mail to a name, newest first; one message with its text; or wait for mail of a domain."""
    path = {"alias_id": asked.alias_id}
    if asked.message_id is not None:
        found = (await api.send("GET", MESSAGE, path=path | {"message_id": asked.message_id})).body
        return {"items": [found | {"untrusted_text": as_data(found["text"], longest=MAX_LONG)}]}
    if asked.seconds and asked.sender is None:
        raise refuse_arguments("To wait, send the domain of the `sender` that you expect.")
    query = {"from": asked.sender, "wait": asked.seconds or None, "since": asked.since}
    query |= {"limit": asked.limit, "cursor": asked.cursor}
    page: Result = (await api.send("GET", MESSAGES, path=path, query=query)).body
    is_pending = bool(asked.seconds) and not page["items"]
    again = {**asked.model_dump(exclude_none=True), "since": page["since"]}
    actions = [NextAction("It has not arrived: wait again.", "read_mail", again)] if is_pending else []
    return {**page, "pending": is_pending, "next_actions": actions}


class ReplyToMail(Arguments):
    """The answer."""

    alias_id: Id
    message_id: Id
    text: Annotated[
        str, Field(min_length=1, max_length=20_000, description="Plain; subject and quoting are ours.")
    ]
    attempt: Attempt = 1


@tool(
    "Reply to mail",
    Toolset.MAIL,
    f"POST {MESSAGE}/reply",
    shows=show("id", "status", "code"),
    effect=Effect.OUTWARD,
)
async def reply_to_mail(api: Calls, asked: ReplyToMail) -> Result:
    """Answer one mail from the name that received it, to its proved sender only."""
    path = {"alias_id": asked.alias_id, "message_id": asked.message_id}
    answer: Result = (await api.send("POST", f"{MESSAGE}/reply", path=path, body={"text": asked.text})).body
    return answer
