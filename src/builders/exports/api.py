"""/v1/account/exports: what the credentials read, as one file."""

from functools import partial
from typing import Annotated, Any
from uuid import UUID

from fastapi import Path, Request
from starlette.responses import Response

from builders.exports import service as exports
from builders.exports.errors import ExportNotFound, ExportNotReady, ExportRunning
from builders.exports.records import Export
from builders.kit.callers import APPROVE, Caller, PersonRequired
from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import problems
from builders.kit.http.callers import needs
from builders.kit.http.dependencies import KeyringDep
from builders.kit.http.heavy_requests import HeavyRequestRunning, HeavyStream
from builders.kit.http.media_types import NDJSON
from builders.kit.http.pagination import Listing
from builders.kit.http.parameters import ResourceId
from builders.kit.http.ranges import RangeNotSatisfiable, find_range, range_headers
from builders.kit.http.routes import Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.portfolio.team.access import reviews
from builders.portfolio.team.records import Access

router = Router(prefix="/v1/account/exports", tags=["account"], beyond=True)
Reader = Annotated[Caller, needs("account:read", fresh=True)]
Reviewer = Annotated[Access, reviews("account:read")]
Decider = Annotated[Access, reviews(APPROVE)]
Exporter = Annotated[Caller, needs("account:read", effect=Effect.PROPOSE, fresh=True)]
ExportId = Annotated[UUID, Path(description="Identifier of the export."), ResourceId(ExportNotFound)]
EXPORTS = declare(
    Policy(name="account_exports", quota=5, window_s=86_400, by="account", counts="Exports of an account.")
)
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A file of JSON lines; 206 with a part of it for a `Range` of bytes.",
        "content": {NDJSON: {"schema": {"type": "string"}, "example": '{"part":"profile_get","item":{}}'}},
    }
}
_FILE_HEADERS = {
    "Content-Disposition": 'attachment; filename="account.ndjson"',
    "Cache-Control": "private, no-store",
}


@router.post(
    "",
    status_code=201,
    response_model=Export,
    responses=problems(ExportRunning),
    dependencies=[rate_limit(EXPORTS)],
)
async def create_export(caller: Exporter, conn: Tx) -> Export:
    """Export what these credentials read now, as one file that a job writes.

    It holds all pages of the lists of `parts`; `left_out` names what it does not hold. Mail, correspondents,
    secrets, sessions and the audit list are never in it. The same key, connection or session collects it within 24
    hours. An account has one at a time, and 5 a day; one of more than 1 GB fails.
    """
    return await exports.create(conn, caller=caller)


@router.post(
    "/complete",
    status_code=201,
    response_model=Export,
    responses=problems(ExportRunning),
    dependencies=[rate_limit(EXPORTS)],
)
async def request_complete_export(access: Decider, conn: Tx) -> Export:
    """Request the complete export of the account, or confirm it as a decider, having signed in lately.

    It has all rows, with mail and secrets. The session that requested it collects it, at most twice.
    """
    return await exports.confirm_complete(conn, access=access)


@router.get("/complete", response_model=Listing[Export])
async def list_complete_exports(access: Reviewer, conn: Reads) -> Listing[Export]:
    """List the complete exports of the last 24 hours, at most 20."""
    return Listing(items=await exports.list_complete(conn, account_id=access.owner_id))


@router.get("/{export_id}", response_model=Export)
async def get_export(export_id: ExportId, caller: Reader, conn: Reads) -> Export:
    """Read how far an export is, with the credentials that requested it."""
    return await exports.get(conn, caller=caller, export_id=export_id)


@router.get(
    "/{export_id}/content",
    response_class=Response,
    responses={**_FILE, **problems(ExportNotReady, HeavyRequestRunning, PersonRequired, RangeNotSatisfiable)},
)
async def get_export_content(
    export_id: ExportId, caller: Reader, database: Pool, keyring: KeyringDep, request: Request
) -> Response:
    """Collect an export, with the credentials that requested it.

    Each line is a JSON object. The first has `parts` and `left_out`. Each other one has the `part`, which is the
    operation id of a list, and an `item` as the API lists it, or a table, and a row.
    """
    async with database.transaction() as conn:
        export = await exports.get_ready(conn, caller=caller, export_id=export_id)
    size = exports.size_of(export)
    part = find_range(request, size=size)
    return HeavyStream(
        partial(exports.read, keyring=keyring, export=export, wanted=part),
        status=200 if part is None else 206,
        account_id=caller.live_account_id,
        media_type=NDJSON,
        headers=_FILE_HEADERS | range_headers(part, size=size),
    )
