"""/v1/portfolio/formats."""

from typing import Annotated

from fastapi import Path

from builders.kit.db.connections import Reads, Tx
from builders.kit.errors import problems
from builders.kit.http.pagination import Listing
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.sheets.bodies import MAX_SAVED, SAVED
from builders.portfolio.saved_formats import service
from builders.portfolio.saved_formats.errors import SavedFormatLimit, SavedFormatNotFound
from builders.portfolio.saved_formats.schemas import PortfolioFormat, PortfolioFormatUpdate
from builders.portfolio.team.access import allows
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio", tags=["portfolio"])
Reader = Annotated[Access, allows("portfolio:read", Permission.VIEW)]
Writer = Annotated[Access, allows("portfolio:write", Permission.EDIT_FINANCE)]
Name = Annotated[
    str,
    Path(
        pattern=SAVED,
        max_length=MAX_SAVED,
        description="Name of the format: lower-case letters, digits and hyphens.",
    ),
]


@router.get("/formats", openapi_extra=BEYOND_SPEC)
async def list_portfolio_formats(access: Reader, conn: Reads) -> Listing[PortfolioFormat]:
    """List the formats of your own sheets, at most 50."""
    formats = await service.list_formats(conn, account_id=access.portfolio_id)
    return Listing(items=[PortfolioFormat.model_validate(each) for each in formats])


@router.put("/formats/{name}", responses=problems(SavedFormatLimit), openapi_extra=BEYOND_SPEC)
async def save_portfolio_format(
    name: Name, body: PortfolioFormatUpdate, access: Writer, conn: Tx
) -> PortfolioFormat:
    """Save how your own sheet is written. An import of such a sheet names it in `format`."""
    saved = await service.save_format(
        conn,
        account_id=access.portfolio_id,
        name=name,
        kind=body.kind,
        mapping=body.mapping,
        date_order=body.date_order,
        decimal_mark=body.decimal_mark,
        encoding=body.encoding,
    )
    return PortfolioFormat.model_validate(saved)


@router.delete(
    "/formats/{name}", status_code=204, responses=problems(SavedFormatNotFound), openapi_extra=BEYOND_SPEC
)
async def delete_portfolio_format(name: Name, access: Writer, conn: Tx) -> None:
    """Delete a format of your own sheets."""
    await service.delete_format(conn, account_id=access.portfolio_id, name=name)
