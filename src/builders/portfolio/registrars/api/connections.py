"""/v1/portfolio/registrars: connections."""

from typing import Annotated

from builders.kit.db.connections import Reads
from builders.kit.errors import problems
from builders.kit.http.callers import Caller, needs
from builders.kit.http.routes import Router
from builders.portfolio.registrars import replies, service as registrars
from builders.portfolio.team import service as team
from builders.portfolio.team.records import Permission

router = Router(prefix="/v1/portfolio/registrars", tags=["portfolio"])
Reader = Annotated[Caller, needs("registrars:read")]


@router.get("", response_model=replies.RegistrarList, responses=problems(*team.ACCESS_REFUSALS))
async def list_registrars(
    caller: Reader, conn: Reads, portfolio: team.PortfolioAccount = None
) -> replies.RegistrarList:
    """List the registrars: each connection of the portfolio, and the registrars that can be connected."""
    access = await team.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    return replies.registrar_list(await registrars.list_registrars(conn, access=access))
