"""/v1/portfolio/formats."""

from typing import Annotated

from fastapi import Path

from builders.kit.db.connections import Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import problems
from builders.kit.http.pagination import Listing
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.sheets.bodies import MAX_SAVED, SAVED
from builders.portfolio.saved_formats import service
from builders.portfolio.saved_formats.errors import SavedFormatLimit, SavedFormatNotFound
from builders.portfolio.saved_formats.records import SavedFormat
from builders.portfolio.saved_formats.schemas import PortfolioFormatUpdate
from builders.portfolio.team.access import allows
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio", tags=["portfolio"])
Reader = Annotated[Access, allows("portfolio:read", Permission.VIEW)]
Writer = Annotated[Access, allows("portfolio:write", Permission.EDIT_FINANCE, effect=Effect.WRITE)]
Deleter = Annotated[Access, allows("portfolio:write", Permission.EDIT_FINANCE, effect=Effect.DELETE)]
Name = Annotated[
    str,
    Path(
        pattern=SAVED,
        max_length=MAX_SAVED,
        description="Name of the format: lower-case letters, digits and hyphens.",
    ),
]


@router.get("/formats", openapi_extra=BEYOND_SPEC)
async def list_portfolio_formats(access: Reader, conn: Reads) -> Listing[SavedFormat]:
    """List the formats of your own sheets, at most 50."""
    return Listing(items=await service.list_formats(conn, account_id=access.portfolio_id))


@router.put("/formats/{name}", responses=problems(SavedFormatLimit), openapi_extra=BEYOND_SPEC)
async def save_portfolio_format(name: Name, body: PortfolioFormatUpdate, access: Writer, conn: Tx) -> SavedFormat:
    """Save how your own sheet is written. An import of such a sheet names it in `format`."""
    return await service.save_format(conn, account_id=access.portfolio_id, name=name, **body.values())


@router.delete(
    "/formats/{name}", status_code=204, responses=problems(SavedFormatNotFound), openapi_extra=BEYOND_SPEC
)
async def delete_portfolio_format(name: Name, access: Deleter, conn: Tx) -> None:
    """Delete a format of your own sheets."""
    await service.delete_format(conn, account_id=access.portfolio_id, name=name)
