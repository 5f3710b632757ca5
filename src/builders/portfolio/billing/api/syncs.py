"""/v1/portfolio/registrars/billing/sync and /ensure."""

from datetime import timedelta
from typing import Annotated

from fastapi import Query

from builders.kit.db.connections import Pool
from builders.kit.errors import problems
from builders.kit.http.routes import Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.portfolio.billing import ensuring, syncing
from builders.portfolio.billing.schemas import requests, syncs
from builders.portfolio.registrars.errors import NotConnected, ProviderNotFound
from builders.portfolio.team.access import allows
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio/registrars/billing", tags=["portfolio"])
Writer = Annotated[Access, allows("registrars:write", Permission.EDIT_FINANCE)]
Wait = Annotated[float, Query(ge=0, le=30, description="Maximum seconds to wait for the end of the run.")]
BILLING_SYNCS = declare(
    Policy(name="portfolio_billing_syncs", quota=120, window_s=3_600, by="account", counts="Syncs of charges.")
)


@router.post("/sync", responses=problems(ProviderNotFound, NotConnected), dependencies=[rate_limit(BILLING_SYNCS)])
async def sync_billing_charges(
    access: Writer, database: Pool, body: requests.BillingSync | None = None, wait: Wait = 15
) -> syncs.BillingRun:
    """Fetch the charges of registrars since the last sync, match them with the portfolio, and book them.

    A separate job reads each connection, so a failing, slow or rate-limited connection does not affect the others.
    A charge that is fetched again is not recorded again. A registrar whose API has no billing is `unsupported`:
    `template_path` has a CSV file to fill in. The reply is the state of the run after `wait` seconds; `GET
    /v1/portfolio/registrars/runs/{run_id}` reads it later. After the first sync, charges are fetched with each
    scheduled sync of the domains.
    """
    wanted = body or requests.BillingSync()
    async with database.transaction() as conn:
        run = await syncing.sync_providers(
            conn,
            account_id=access.portfolio_id,
            providers=wanted.providers,
            options=wanted.sync_options(access.member_id),
        )
    return syncs.run_reply(await syncing.wait_for_sync(database, run=run, timeout_s=wait))


@router.post(
    "/ensure", responses=problems(ProviderNotFound, NotConnected), dependencies=[rate_limit(BILLING_SYNCS)]
)
async def ensure_billing_charges(
    access: Writer, database: Pool, body: requests.BillingEnsure | None = None, wait: Wait = 15
) -> syncs.BillingEnsured:
    """Refresh domains and charges of the registrars that are older than `max_age_hours`, or all with `force`.

    A connection that was refreshed within 5 minutes is skipped. The refresh of domains requires a role that may
    sync them.
    """
    wanted = body or requests.BillingEnsure()
    async with database.transaction() as conn:
        started = await ensuring.ensure_fresh(
            conn,
            account_id=access.portfolio_id,
            providers=wanted.providers,
            max_age=timedelta(hours=wanted.max_age_hours),
            is_forced=wanted.force,
            refreshes_inventory=access.has(Permission.EDIT),
            member_id=access.member_id,
        )
    return syncs.ensured_reply(await ensuring.wait_for_refresh(database, refresh=started, timeout_s=wait))
