"""/v1/portfolio/registrars/sync and /v1/portfolio/registrars/runs."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query

from builders.kit.db.connections import Pool, Reads
from builders.kit.errors import problems
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.portfolio.registrars import parts, syncing
from builders.portfolio.registrars.errors import NotConnected, ProviderNotFound, RunNotFound
from builders.portfolio.registrars.replies import runs as replies
from builders.portfolio.runs import runs
from builders.portfolio.team.access import allows
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio/registrars", tags=["portfolio"])
Reader = Annotated[Access, allows("registrars:read", Permission.VIEW)]
Writer = Annotated[Access, allows("registrars:write", Permission.EDIT)]
RunId = Annotated[UUID, Path(description="Identifier of the run."), ResourceId(RunNotFound)]
MAX_PROVIDERS = 100
SYNCS = declare(
    Policy(name="portfolio_syncs", quota=120, window_s=3_600, by="account", counts="Syncs with registrars.")
)


@router.post("/sync", responses=problems(ProviderNotFound, NotConnected), dependencies=[rate_limit(SYNCS)])
async def sync_registrars(
    access: Writer,
    database: Pool,
    provider: Annotated[
        list[str] | None,
        Query(max_length=MAX_PROVIDERS, description="Only connections to this registrar; may be repeated."),
    ] = None,
    dry_run: Annotated[
        bool, Query(description="Whether to report the changes of the sync without writing them.")
    ] = False,
    confirm_drop: Annotated[
        bool,
        Query(
            description="Whether the domains that a complete listing does not have are missing, however many they "
            "are. Requires `provider`."
        ),
    ] = False,
    wait: Annotated[float, Query(ge=0, le=30, description="Maximum seconds to wait for the end of the run.")] = 15,
) -> replies.RegistrarRun:
    """Update the inventory and the portfolio from the registrars.

    A separate job lists each connection, so a failing, slow or rate-limited connection does not affect the others.
    The expiry and auto-renew of portfolio domains get the registrar's values; other fields are set where they are
    unknown. A value that the registrar does not report does not overwrite a known value. No domain is added or
    removed. If a complete listing lacks more than a tenth and at least ten of a connection's domains, they are
    held back as `suspicious_drop` until the next complete listing lacks them too. The reply is the state of the
    run after `wait` seconds; `GET /v1/portfolio/registrars/runs/{run_id}` reads it later. A connection in another
    run is skipped; if all connections are, the reply is that run.
    """
    async with database.transaction() as conn:
        run = await syncing.refresh_inventory(
            conn,
            account_id=access.portfolio_id,
            member_id=access.member_id,
            providers=provider,
            dry_run=dry_run,
            confirms_drop=confirm_drop,
        )
    run = await runs.wait_for_run(database, run=run, timeout_s=wait)
    return replies.run_reply(run, shows_finance=access.shows_finance)


@router.get("/runs/{run_id}", openapi_extra=BEYOND_SPEC)
async def get_registrar_run(run_id: RunId, access: Reader, conn: Reads) -> replies.RegistrarRun:
    """Read the progress and the result of a run."""
    run = await parts.get_run(conn, account_id=access.portfolio_id, run_id=run_id)
    return replies.run_reply(run, shows_finance=access.shows_finance)
