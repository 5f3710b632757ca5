"""/v1/aliases/{alias_id}: correspondents, and mail that is received as events."""

from typing import Annotated
from urllib.parse import quote
from uuid import UUID

from fastapi import Path
from starlette.responses import Response

from builders.aliases.parameters import AliasId, realm_of
from builders.forwarding import accounting, correspondents, receptions
from builders.forwarding.errors import (
    CorrespondentLimit,
    CorrespondentNotFound,
    MessageNotFound,
    ReceptionNotFound,
    RepliesDisabled,
)
from builders.forwarding.records import Reception, ShownCorrespondent
from builders.forwarding.schemas import (
    CorrespondentCreate,
    CorrespondentWritten,
    MailReply,
    ReceptionUpdate,
    ReceptionWritten,
)
from builders.kit.callers import APPROVE, Caller
from builders.kit.db.connections import Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import problems
from builders.kit.http.callers import needs
from builders.kit.http.dependencies import KeyringDep
from builders.kit.http.heavy_requests import heavy
from builders.kit.http.pagination import PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import Router
from builders.kit.limits.policies import STOPS
from builders.kit.pages import Page
from builders.kit.process.secret_keys import Keyring

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
MessageId = Annotated[UUID, Path(description="Identifier of the message."), ResourceId(MessageNotFound)]
# Content of strangers: no browser shows it, runs it or stores it.
SAFE_DOWNLOAD = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


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


@router.put("/receive-as-event", response_model=ReceptionWritten)
async def set_reception(alias_id: AliasId, body: ReceptionUpdate, caller: Decider, conn: Tx) -> Reception:
    """Receive the mail to a name as events of one webhook, with content for one key.

    Only a person who signed in during the last ten minutes can do this. The mail is forwarded to the destinations,
    too. Mail that has a signature of the service's own domain, or names an address of it, is forwarded only. So a
    program gets no sign-in codes and approval links. It could if another server forwards them to the name in
    base64, or without any trace of their origin: let no mailbox that gets them forward to the name.
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


@router.get("/mail/{message_id}", response_class=Download, dependencies=[heavy()])
async def get_message(
    alias_id: AliasId, message_id: MessageId, caller: MailReader, conn: Reads, keyring: KeyringDep
) -> Response:
    """Read a message that the name received (RFC 5322), within 72 hours, with the key of the rule."""
    return await _content(conn, keyring, caller, alias_id, message_id, receptions.WHOLE)


@router.get("/mail/{message_id}/attachments/{number}", response_class=Download, dependencies=[heavy()])
async def get_attachment(
    alias_id: AliasId,
    message_id: MessageId,
    number: Annotated[int, Path(ge=1, le=receptions.MAX_ATTACHMENTS, description="Number of the attachment.")],
    caller: MailReader,
    conn: Reads,
    keyring: KeyringDep,
) -> Response:
    """Read an attachment of a message that the name received, as bytes to store and not to show."""
    return await _content(conn, keyring, caller, alias_id, message_id, number)


async def _content(
    conn: Reads, keyring: Keyring, caller: Caller, alias_id: UUID, message_id: UUID, number: int
) -> Response:
    found = await receptions.get_content(
        conn,
        keyring=keyring,
        account_id=caller.account_id,
        alias_id=alias_id,
        key_id=caller.key_id,
        message_id=message_id,
        number=number,
    )
    name = quote(found.name or f"attachment-{number}", safe="")
    headers = {**SAFE_DOWNLOAD, "Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return Download(found.content, headers=headers)
