"""/v1/portfolio/exchange-rates."""

from typing import Annotated

from builders.kit.db.connections import Reads, Tx
from builders.kit.effects import Effect
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.portfolio.ledger import currencies
from builders.portfolio.ledger.schemas import OwnRatesUpdate, OwnRatesWritten, PortfolioOwnRates
from builders.portfolio.team.access import allows
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio", tags=["portfolio"])
Reader = Annotated[Access, allows("portfolio:read", Permission.VIEW)]
Writer = Annotated[Access, allows("portfolio:write", Permission.EDIT_FINANCE, effect=Effect.WRITE)]


@router.get("/exchange-rates", openapi_extra=BEYOND_SPEC)
async def read_exchange_rates(access: Reader, conn: Reads) -> PortfolioOwnRates:
    """Read your own exchange rates. All others are those of the European Central Bank."""
    return PortfolioOwnRates.of(await currencies.list_own_rates(conn, account_id=access.portfolio_id))


@router.put("/exchange-rates", openapi_extra=BEYOND_SPEC)
async def replace_exchange_rates(body: OwnRatesUpdate, access: Writer, conn: Tx) -> OwnRatesWritten:
    """Replace your own exchange rates of currencies that the European Central Bank does not quote."""
    account_id = access.portfolio_id
    await currencies.set_own_rates(conn, account_id=account_id, rates=body.records)
    return OwnRatesWritten.of(await currencies.list_own_rates(conn, account_id=account_id))
