"""/v1/account/audit."""

from typing import Annotated

from fastapi import Query

from builders.identity import service as identity
from builders.identity.records import AuditAction
from builders.identity.schemas import audit as schemas
from builders.kit.db.connections import Reads
from builders.kit.http.callers import Caller, needs
from builders.kit.http.pagination import JsonPage, PageQuery, PageReply
from builders.kit.http.routes import BEYOND_SPEC, Router

router = Router(prefix="/v1/account", tags=["account"])
Reader = Annotated[Caller, needs("account:read")]


@router.get("/audit", response_model=PageReply[schemas.AuditEntryReply], openapi_extra=BEYOND_SPEC)
async def list_audit(
    caller: Reader,
    conn: Reads,
    page: PageQuery,
    action: Annotated[AuditAction | None, Query(description="Only entries of this kind.")] = None,
) -> JsonPage:
    """List what was done with the account and by whom, newest first; with a test key, the real account's."""
    return await identity.list_audit(conn, account_id=caller.live_account_id, page=page, action=action)
