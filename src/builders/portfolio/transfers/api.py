"""/v1/portfolio/domains/{domain_id}: auth code and transfer."""

from typing import Annotated

from fastapi import Query

from builders.kit.db.connections import Pool
from builders.kit.effects import Effect
from builders.kit.errors import problems
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.dependencies import KeyringDep, OutboundDep
from builders.kit.http.routes import Router
from builders.portfolio.domains.filters import DomainKey
from builders.portfolio.registrars.errors import PROVIDER_REFUSALS, NotConnected
from builders.portfolio.runs.work import Tools
from builders.portfolio.team.access import allows
from builders.portfolio.team.records import Access, Permission
from builders.portfolio.transfers import auth_codes, replies, status
from builders.portfolio.transfers.errors import AuthCodeLimit
from builders.portfolio.transfers.records import CodeOptions

router = Router(prefix="/v1/portfolio/domains/{domain_id}", tags=["portfolio"])
Reader = Annotated[Access, allows("portfolio:read", Permission.VIEW)]
Mover = Annotated[Access, allows("transfers:write", Permission.REQUEST_AUTH_CODES, effect=Effect.OUTWARD)]
_NO_STORE = {"Cache-Control": "no-store"}


@router.post(
    "/auth-code",
    response_model=replies.AuthCodeReply,
    responses=problems(*PROVIDER_REFUSALS, NotConnected, AuthCodeLimit),
)
async def request_auth_code(
    domain_id: DomainKey,
    access: Mover,
    pool: Pool,
    keyring: KeyringDep,
    outbound: OutboundDep,
    reason: Annotated[replies.Reason | None, Query(description=replies.REASON)] = None,
    unlock: Annotated[bool, Query(description=replies.UNLOCK)] = False,
    regenerate: Annotated[bool, Query(description=replies.REGENERATE)] = False,
) -> ReplyWithHeaders:
    """Request the auth code of a domain from its registrar, as an owner or admin. The code is shown once."""
    options = CodeOptions(unlock=unlock, regenerate=regenerate, reason=reason)
    tools = Tools(database=pool, outbound=outbound, keyring=keyring)
    issued = await auth_codes.request_auth_code(tools, access=access, key=domain_id, options=options)
    return ReplyWithHeaders(replies.auth_code_reply(issued, options), _NO_STORE)


@router.get("/transfer")
async def get_transfer(
    domain_id: DomainKey,
    access: Reader,
    pool: Pool,
    keyring: KeyringDep,
    outbound: OutboundDep,
    refresh: Annotated[
        bool, Query(description="Query the registrar now, even if its last response is less than 10 minutes old.")
    ] = False,
) -> replies.TransferReply:
    """Get the state of a domain's transfer: eligibility, obstacles, and the registrar's report."""
    tools = Tools(database=pool, outbound=outbound, keyring=keyring)
    found = await status.get_situation(tools, account_id=access.portfolio_id, key=domain_id, refresh=refresh)
    return replies.transfer_reply(found)
