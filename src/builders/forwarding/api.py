"""/v1/aliases/{alias_id}/correspondents."""

from typing import Annotated
from uuid import UUID

from fastapi import Path

from builders.aliases.parameters import AliasId, realm_of
from builders.forwarding import correspondents
from builders.forwarding.errors import CorrespondentLimit, CorrespondentNotFound, RepliesDisabled
from builders.forwarding.schemas import CorrespondentCreate, CorrespondentReply, CorrespondentWritten
from builders.kit.db.connections import Reads, Tx
from builders.kit.errors import problems
from builders.kit.http.callers import Caller, needs
from builders.kit.http.dependencies import KeyringDep
from builders.kit.http.pagination import Page, PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import Router

router = Router(prefix="/v1/aliases/{alias_id}", tags=["aliases"], beyond=True)
CorrespondentId = Annotated[
    UUID, Path(description="Identifier of the correspondent."), ResourceId(CorrespondentNotFound)
]
Reader = Annotated[Caller, needs("aliases:read")]
Writer = Annotated[Caller, needs("aliases:write")]


@router.get("/correspondents", response_model=PageReply[CorrespondentReply])
async def list_correspondents(
    alias_id: AliasId, caller: Reader, conn: Reads, keyring: KeyringDep, page: PageQuery
) -> Page[CorrespondentReply]:
    """List to whom the owner writes from a name with `reply`, newest first."""
    found, domain = await correspondents.list_correspondents(
        conn, realm=realm_of(caller), account_id=caller.account_id, alias_id=alias_id, page=page
    )
    items = [
        CorrespondentReply.of(each, email=correspondents.read_address(keyring, each), domain=domain)
        for each in found.items
    ]
    return Page(items=items, next_cursor=found.next_cursor)


@router.post("/correspondents", status_code=201, responses=problems(RepliesDisabled, CorrespondentLimit))
async def add_correspondent(
    alias_id: AliasId, body: CorrespondentCreate, caller: Writer, conn: Tx, keyring: KeyringDep
) -> CorrespondentWritten:
    """Add someone to write to from a name with `reply`; returns the present reverse address if there is one."""
    added, domain = await correspondents.add(
        conn,
        keyring=keyring,
        realm=realm_of(caller),
        account_id=caller.account_id,
        alias_id=alias_id,
        address=body.email,
    )
    email = correspondents.read_address(keyring, added)
    return CorrespondentWritten.of(added, email=email, domain=domain)


@router.delete("/correspondents/{correspondent_id}", status_code=204)
async def delete_correspondent(
    alias_id: AliasId, correspondent_id: CorrespondentId, caller: Writer, conn: Tx
) -> None:
    """Erase a correspondent: its reverse address receives no mail any more."""
    await correspondents.delete(
        conn, account_id=caller.account_id, alias_id=alias_id, correspondent_id=correspondent_id
    )
