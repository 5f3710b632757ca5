"""/v1/sandbox/simulate."""

from typing import Annotated, NamedTuple
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
    await _charge(request, caller.live_account_id, body.root)
    context = _Context(
        database=database,
        outbound=outbound,
        keyring=keyring,
        parameters=RunParameters.of(settings, keyring),
        actor=caller.actor,
    )
    return await _simulate(context, body.root, account_id=caller.live_account_id)


async def _charge(request: Request, account_id: UUID, requested: schemas.SimulationRequest) -> None:
    if isinstance(requested, schemas.SimulateManifest):
        await charge_resources(request, SIMULATE, account_id=account_id, manifest=requested.manifest)


class _Context(NamedTuple):
    """The dependencies of simulations."""

    database: Database
    outbound: Outbound
    keyring: Keyring
    parameters: RunParameters
    actor: Actor


async def _simulate(context: _Context, requested: schemas.SimulationRequest, *, account_id: UUID) -> Simulated:
    match requested:
        case schemas.SimulateEvent():
            return await _simulate_event(context, requested, account_id)
        case schemas.SimulateManifest():
            return await _simulate_manifest(context, requested, account_id)
        case schemas.SimulateCheck():
            return await _check_names(context, requested, account_id)
        case schemas.SimulateReset():
            return await _reset_account(context, account_id)


async def _simulate_event(
    context: _Context, requested: schemas.SimulateEvent, account_id: UUID
) -> EventSimulatedReply:
    async with context.database.transaction() as conn:
        found = await simulation.simulate_event(
            conn,
            keyring=context.keyring,
            account_id=account_id,
            event=requested.event,
            overrides=requested.overrides,
            webhook_id=requested.webhook_id,
            deliver=requested.deliver,
            seed=requested.seed,
        )
    return schemas.event_reply(found)


async def _simulate_manifest(
    context: _Context, requested: schemas.SimulateManifest, account_id: UUID
) -> ManifestSimulatedReply:
    found = await rehearsal.rehearse(
        context.database,
        outbound=context.outbound,
        account_id=account_id,
        request=RehearsalRequest(
            manifest=requested.manifest.manifest(),
            fail_at=requested.fail_at,
            on_error=requested.on_error,
            persist=requested.persist,
            actor=context.actor,
        ),
        parameters=context.parameters,
    )
    return rehearsal_schemas.manifest_reply(found)


async def _check_names(
    context: _Context, requested: schemas.SimulateCheck, account_id: UUID
) -> ChecksSimulatedReply:
    async with context.database.connection() as conn:
        found = await simulation.check_names(conn, account_id=account_id, addresses=requested.addresses)
    return schemas.checks_reply(found)


async def _reset_account(context: _Context, account_id: UUID) -> ResetReply:
    async with simulation.account_lock(account_id), context.database.transaction() as conn:
        return rehearsal_schemas.reset_reply(await simulation.reset_account(conn, account_id=account_id))
