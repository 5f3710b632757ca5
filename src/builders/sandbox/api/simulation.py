"""/v1/sandbox/simulate."""

from typing import Annotated
from uuid import UUID

from fastapi import Request

from builders.kit.db.connections import Database, Pool
from builders.kit.errors import problems
from builders.kit.http.callers import Actor, Caller, needs
from builders.kit.http.dependencies import KeyringDep, OutboundDep, SettingsDep
from builders.kit.http.heavy_requests import LARGE_BODY, heavy
from builders.kit.http.routes import Router
from builders.kit.limits.policies import rate_limit
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.projects.errors import ProjectArchived
from builders.sandbox import rehearsal, simulation
from builders.sandbox.api.plans import SIMULATE, SIZE_CHECK, charge_resources
from builders.sandbox.rehearsal import RehearsalRequest
from builders.sandbox.resources.kinds import RunParameters
from builders.sandbox.schemas import rehearsal as rehearsal_schemas, simulation as schemas
from builders.sandbox.schemas.rehearsal import ManifestSimulatedReply, ResetReply
from builders.sandbox.schemas.simulation import ChecksSimulatedReply, EventSimulatedReply
from builders.webhooks.errors import TooManyTests

router = Router(prefix="/v1/sandbox", tags=["sandbox"])
Writer = Annotated[Caller, needs("sandbox:write")]
Simulated = EventSimulatedReply | ManifestSimulatedReply | ChecksSimulatedReply | ResetReply


@router.post(
    "/simulate",
    responses=problems(ProjectArchived, TooManyTests),
    dependencies=[rate_limit(SIMULATE), heavy(above=LARGE_BODY), SIZE_CHECK],
)
async def simulate(
    body: schemas.SandboxSimulateRequest,
    request: Request,
    caller: Writer,
    database: Pool,
    keyring: KeyringDep,
    outbound: OutboundDep,
    settings: SettingsDep,
) -> Simulated:
    """Simulate an event, a promotion or checks in the sandbox account, or reset it; live data does not change."""
    requested, account_id = body.root, caller.live_account_id
    if isinstance(requested, schemas.SimulateManifest):
        await charge_resources(request, SIMULATE, account_id=account_id, manifest=requested.manifest)
        parameters = RunParameters.of(settings, keyring)
        return await _simulate_manifest(database, outbound, account_id, requested, caller.actor, parameters)
    return await _simulate(database, keyring, account_id, requested)


async def _simulate_manifest(
    database: Database,
    outbound: Outbound,
    account_id: UUID,
    requested: schemas.SimulateManifest,
    actor: Actor,
    parameters: RunParameters,
) -> ManifestSimulatedReply:
    wanted = RehearsalRequest(
        manifest=requested.manifest.manifest(),
        fail_at=requested.fail_at,
        on_error=requested.on_error,
        persist=requested.persist,
        actor=actor,
    )
    found = await rehearsal.rehearse(
        database, outbound=outbound, account_id=account_id, request=wanted, parameters=parameters
    )
    return rehearsal_schemas.manifest_reply(found)


async def _simulate(
    database: Database,
    keyring: Keyring,
    account_id: UUID,
    requested: schemas.SimulateEvent | schemas.SimulateCheck | schemas.SimulateReset,
) -> EventSimulatedReply | ChecksSimulatedReply | ResetReply:
    if isinstance(requested, schemas.SimulateReset):
        async with simulation.account_lock(account_id), database.transaction() as conn:
            return rehearsal_schemas.reset_reply(await simulation.reset_account(conn, account_id=account_id))
    if isinstance(requested, schemas.SimulateCheck):
        async with database.connection() as conn:
            found = await simulation.check_names(conn, account_id=account_id, addresses=requested.addresses)
        return schemas.checks_reply(found)
    async with database.transaction() as conn:
        simulated = await simulation.simulate_event(
            conn,
            keyring=keyring,
            account_id=account_id,
            event=requested.event,
            overrides=requested.overrides,
            webhook_id=requested.webhook_id,
            deliver=requested.deliver,
            seed=requested.seed,
        )
    return schemas.event_reply(simulated)
