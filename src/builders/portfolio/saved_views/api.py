"""/v1/portfolio/views."""

from typing import Annotated

from builders.kit.db.connections import Reads, Tx
from builders.kit.effects import Effect
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.portfolio.saved_views import service
from builders.portfolio.saved_views.records import SavedViews
from builders.portfolio.saved_views.schemas import SavedViewsUpdate
from builders.portfolio.team.access import allows
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio", tags=["portfolio"])
Reader = Annotated[Access, allows("portfolio:read", Permission.VIEW)]
# Each role has views of its own.
Writer = Annotated[Access, allows("portfolio:write", Permission.VIEW, effect=Effect.WRITE)]


@router.get("/views", openapi_extra=BEYOND_SPEC)
async def get_portfolio_views(access: Reader, conn: Reads) -> SavedViews:
    """Read your saved views of the domains, and the columns that you have chosen."""
    return await service.get_views(conn, access=access)


@router.patch("/views", openapi_extra=BEYOND_SPEC)
async def update_portfolio_views(body: SavedViewsUpdate, access: Writer, conn: Tx) -> SavedViews:
    """Save views of the domains, or the columns that you choose. Other members of a team do not see them."""
    return await service.change_views(conn, access=access, columns=body.saved_columns(), views=body.saved_views())
