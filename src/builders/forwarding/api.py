"""/v1/aliases/{alias_id}: correspondents, and mail that is received as events."""

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote
from uuid import UUID

from fastapi import Depends, Path, Query, Request
from pydantic import TypeAdapter
from starlette.responses import Response

from builders.aliases.parameters import AliasId, realm_of
from builders.forwarding import accounting, answers, correspondents, inbox, receptions
from builders.forwarding.contents import MAX_ATTACHMENTS
from builders.forwarding.errors import (
    AnswerLimit,
    AnswerNotAllowed,
    CorrespondentLimit,
    CorrespondentNotFound,
    MessageNotFound,
    MessageUnanswerable,
    ReceptionNotFound,
    RepliesDisabled,
    SignInAddress,
)
from builders.forwarding.records import MailAnswer, MailMessageDetail, Reception, ShownCorrespondent
from builders.forwarding.schemas import (
    AnswerCreate,
    CorrespondentCreate,
    CorrespondentWritten,
    MailMessagesReply,
    MailReply,
    ReceptionUpdate,
    ReceptionWritten,
)
from builders.kit.callers import APPROVE, Caller, FreshSignInRequired
from builders.kit.db.connections import Conn, Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import problems
from builders.kit.http import html
from builders.kit.http.bodies import RawResponse
from builders.kit.http.callers import needs
from builders.kit.http.deadline import unless_disconnected
from builders.kit.http.dependencies import KeyringDep
from builders.kit.http.heavy_requests import heavy
from builders.kit.http.pagination import PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import Router
from builders.kit.limits.policies import STOPS
from builders.kit.pages import Page
from builders.kit.process.secret_keys import Keyring
from builders.kit.values.instants import Instant
from builders.webhooks.errors import FeedBusy, TooManyWaiters
from builders.webhooks.feed import LONGEST_WAIT_S

router = Router(prefix="/v1/aliases/{alias_id}", tags=["aliases"], beyond=True)
CorrespondentId = Annotated[
    UUID, Path(description="Identifier of the correspondent."), ResourceId(CorrespondentNotFound)
]
Reader = Annotated[Caller, needs("aliases:read")]
Adder = Annotated[Caller, needs("aliases:write", effect=Effect.OUTWARD)]
Deleter = Annotated[Caller, needs("aliases:write", effect=Effect.DELETE)]
Ender = Annotated[Caller, needs("aliases:write", effect=Effect.AUTHORITY, fresh=True)]
Decider = Annotated[Caller, needs(APPROVE)]
MailReader = Annotated[Caller, needs("mail:read", fresh=True)]
Answerer = Annotated[Caller, needs("mail:read", effect=Effect.OUTWARD, fresh=True, sends=True)]
MessageId = Annotated[UUID, Path(description="Identifier of the message."), ResourceId(MessageNotFound)]
# Content of strangers: no browser shows it, runs it or stores it.
SAFE_DOWNLOAD = {
    **html.NEGOTIATED,
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


_MESSAGE = TypeAdapter(MailMessageDetail)


@dataclass(kw_only=True)
class MessageFilters:
    """Which messages a request wants, in its query."""

    sender: Annotated[
        str | None,
        Query(
            alias="from", max_length=253, description="Only messages whose From is of this domain, or below it."
        ),
    ] = None
    since: Annotated[Instant | None, Query(description="Only messages that arrived from this time on.")] = None
    wait: Annotated[
        int, Query(ge=0, le=LONGEST_WAIT_S, description="Seconds to wait for a message if there is none.")
    ] = 0


class Download(Response):
    """Bytes to store, whatever type their sender named."""

    media_type = "application/octet-stream"


@router.get("/correspondents", response_model=PageReply[ShownCorrespondent])
async def list_correspondents(
    alias_id: AliasId, caller: Reader, conn: Reads, keyring: KeyringDep, page: PageQuery
) -> Page[ShownCorrespondent]:
    """List to whom the owner writes from a name with `reply`, newest first."""
    return await correspondents.list_correspondents(
        conn,
        keyring=keyring,
        realm=realm_of(caller),
        account_id=caller.account_id,
        alias_id=alias_id,
        page=page,
    )


@router.post(
    "/correspondents",
    status_code=201,
    response_model=CorrespondentWritten,
    responses=problems(RepliesDisabled, CorrespondentLimit),
)
async def add_correspondent(
    alias_id: AliasId, body: CorrespondentCreate, caller: Adder, conn: Tx, keyring: KeyringDep
) -> ShownCorrespondent:
    """Add someone to write to from a name with `reply`; returns the present reverse address if there is one."""
    return await correspondents.add(
        conn,
        keyring=keyring,
        realm=realm_of(caller),
        account_id=caller.account_id,
        alias_id=alias_id,
        address=body.email,
    )


@router.delete("/correspondents/{correspondent_id}", status_code=204)
async def delete_correspondent(
    alias_id: AliasId, correspondent_id: CorrespondentId, caller: Deleter, conn: Tx
) -> None:
    """Erase a correspondent: its reverse address receives no mail any more."""
    await correspondents.delete(
        conn,
        realm=realm_of(caller),
        account_id=caller.account_id,
        alias_id=alias_id,
        correspondent_id=correspondent_id,
    )


@router.get("/mail")
async def list_mail(alias_id: AliasId, caller: Reader, conn: Reads, page: PageQuery) -> MailReply:
    """List what happened to the mail of a name, newest first, with its counts by day.

    Results are kept for 7 days, up to 200 of a day, and counts for 90 days.
    """
    found, days = await accounting.list_mail(
        conn, realm=realm_of(caller), account_id=caller.account_id, alias_id=alias_id, page=page
    )
    return MailReply(items=[*found.items], next_cursor=found.next_cursor, days=[*days])


@router.get("/receive-as-event", response_model=Reception)
async def get_reception(alias_id: AliasId, caller: Reader, conn: Reads) -> Reception:
    """Read who gets the mail to a name as events."""
    return await receptions.get_rule(conn, realm=realm_of(caller), account_id=caller.account_id, alias_id=alias_id)


@router.put("/receive-as-event", response_model=ReceptionWritten, responses=problems(SignInAddress))
async def set_reception(alias_id: AliasId, body: ReceptionUpdate, caller: Decider, conn: Tx) -> Reception:
    """Receive the mail to a name as events of one webhook, with content for one key or connection.

    Only a person who signed in during the last ten minutes can do this. The mail is forwarded to the destinations,
    too. Mail that has a signature of the service's own domain, or names an address of it, is forwarded only.
    A program gets no sign-in codes and approval links, unless another server forwards them without a trace of
    their origin. The address that signs in at the account is refused.
    """
    return await receptions.set_rule(
        conn, account_id=caller.account_id, alias_id=alias_id, actor=caller.actor, **body.values()
    )


@router.delete("/receive-as-event", status_code=204, responses=problems(ReceptionNotFound), dependencies=[STOPS])
async def end_reception(alias_id: AliasId, caller: Ender, conn: Tx) -> None:
    """Stop receiving the mail to a name as events, and delete the stored messages."""
    await receptions.end_rule(
        conn, realm=realm_of(caller), account_id=caller.account_id, alias_id=alias_id, actor=caller.actor
    )


@router.get(
    "/mail/messages",
    responses=problems(ReceptionNotFound, FreshSignInRequired, TooManyWaiters, FeedBusy),
)
async def list_messages(
    request: Request,
    alias_id: AliasId,
    caller: MailReader,
    database: Pool,
    keyring: KeyringDep,
    page: PageQuery,
    wanted: Annotated[MessageFilters, Depends(MessageFilters)],
) -> MailMessagesReply:
    """List the messages that a name received, newest first, up to 50 on a page; can wait for one.

    For the key or connection that the rule of the name names, and the person in a fresh session. With `wait` only
    mail that arrives after the begin of the request counts; `since` of the reply continues the wait.
    """
    reading = inbox.wait_for_messages(
        database,
        waiters=request.app.state.feed_waiters,
        keyring=keyring,
        reader=inbox.reader_of(caller, realm=realm_of(caller)),
        alias_id=alias_id,
        sender=wanted.sender,
        since=wanted.since,
        wait_s=wanted.wait,
        page=page,
    )
    found, since = await (unless_disconnected(request, reading) if wanted.wait else reading)
    return MailMessagesReply(items=[*found.items], next_cursor=found.next_cursor, since=since)


@router.get(
    "/mail/{message_id}",
    response_model=MailMessageDetail,
    responses=problems(FreshSignInRequired),
    dependencies=[heavy()],
)
async def get_message(
    request: Request, alias_id: AliasId, message_id: MessageId, caller: MailReader, conn: Tx, keyring: KeyringDep
) -> Response:
    """Read a message that the name received: its text as JSON if `Accept` names it, else the whole (RFC 5322).

    Within 72 hours, for the key or connection that the rule names, and the person in a fresh session.
    """
    if not html.asks_for_json(request):
        return await _content(conn, keyring, caller, alias_id, message_id, receptions.WHOLE)
    reader = inbox.reader_of(caller, realm=realm_of(caller))
    found = await inbox.get_message(conn, keyring=keyring, reader=reader, alias_id=alias_id, message_id=message_id)
    return RawResponse(_MESSAGE.dump_json(found, by_alias=True), 200, html.NEGOTIATED, is_json=True)


@router.get(
    "/mail/{message_id}/attachments/{number}",
    response_class=Download,
    responses=problems(FreshSignInRequired),
    dependencies=[heavy()],
)
async def get_attachment(
    alias_id: AliasId,
    message_id: MessageId,
    number: Annotated[int, Path(ge=1, le=MAX_ATTACHMENTS, description="Number of the attachment.")],
    caller: MailReader,
    conn: Tx,
    keyring: KeyringDep,
) -> Response:
    """Read an attachment of a message that the name received, as bytes to store and not to show."""
    return await _content(conn, keyring, caller, alias_id, message_id, number)


@router.post(
    "/mail/{message_id}/reply",
    response_model=MailAnswer,
    responses=problems(AnswerNotAllowed, RepliesDisabled, MessageUnanswerable, AnswerLimit),
)
async def answer_message(
    alias_id: AliasId, message_id: MessageId, body: AnswerCreate, caller: Answerer, conn: Tx, keyring: KeyringDep
) -> MailAnswer:
    """Answer the author of a message from the name, with the key or connection that its rule allows to.

    The answer goes to the address of From alone, if SPF or DKIM proved it, and never to a report or to automatic,
    bulk or list mail. Subject and threading are those of the message. The same text again sends nothing.
    """
    reader = inbox.reader_of(caller, realm=realm_of(caller))
    return await answers.answer(
        conn,
        keyring=keyring,
        reader=reader,
        alias_id=alias_id,
        message_id=message_id,
        text=body.text,
        html=body.html,
    )


async def _content(
    conn: Conn, keyring: Keyring, caller: Caller, alias_id: UUID, message_id: UUID, number: int
) -> Response:
    reader = inbox.reader_of(caller, realm=realm_of(caller))
    found = await inbox.get_content(
        conn, keyring=keyring, reader=reader, alias_id=alias_id, message_id=message_id, number=number
    )
    name = quote(found.name or f"attachment-{number}", safe="")
    headers = {**SAFE_DOWNLOAD, "Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return Download(found.content, headers=headers)
