"""/v1/sandbox/simulate."""

from typing import Annotated, NamedTuple
from uuid import UUID

from fastapi import Request

from builders.kit.db.connections import Database, Pool
from builders.kit.errors import problems
from builders.kit.http.callers import Actor, Caller, needs
from builders.kit.http.dependencies import KeyringDep, OutboundDep, SettingsDep
from builders.kit.http.heavy_requests import LARGE_BODY, HeavyRequestRunning, heavy
from builders.kit.http.idempotency import InFlight
from builders.kit.http.routes import Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.sandbox import errors, service as sandbox
from builders.sandbox.api.plans import Bounded, charge_resources
from builders.sandbox.means import Means
from builders.sandbox.replies import rehearsal as rehearsal_replies, simulation as replies
from builders.sandbox.replies.rehearsal import ManifestSimulatedReply, ResetReply
from builders.sandbox.replies.simulation import ChecksSimulatedReply, EventSimulatedReply
from builders.sandbox.schemas import simulation as schemas
from builders.webhooks.service import TooManyTests

router = Router(prefix="/v1/sandbox", tags=["sandbox"])
Writer = Annotated[Caller, needs("sandbox:write")]
Simulated = EventSimulatedReply | ManifestSimulatedReply | ChecksSimulatedReply | ResetReply
SIMULATE = declare(
    Policy(
        name="simulate",
        quota=60,
        window_s=60,
        by="account",
        counts="Simulations of whatever type; of a manifest, one for each 200 resources begun.",
    )
)


@router.post(
    "/simulate",
    response_model=Simulated,
    responses=problems(
        sandbox.ProjectArchived, errors.ManifestTooLarge, TooManyTests, InFlight, HeavyRequestRunning
    ),
    dependencies=[rate_limit(SIMULATE), heavy(above=LARGE_BODY)],
)
async def simulate(
    body: schemas.SandboxSimulateRequest,
    request: Request,
    caller: Writer,
    database: Pool,
    keyring: KeyringDep,
    outbound: OutboundDep,
    settings: SettingsDep,
    bounds: Bounded,
) -> Simulated:
    """Simulate an event, a promotion or checks in the sandbox account, or reset it; nothing live changes."""
    del bounds
    await _charge(request, caller.live_account_id, body.root)
    supplies = _Supplies(
        database=database,
        outbound=outbound,
        keyring=keyring,
        means=Means.of(settings, keyring),
        actor=caller.actor,
    )
    return await _answer(supplies, body.root, account_id=caller.live_account_id)


async def _charge(request: Request, account_id: UUID, asked: schemas.Asked) -> None:
    if isinstance(asked, schemas.SimulateManifest):
        await charge_resources(request, SIMULATE, account_id=account_id, manifest=asked.manifest)


class _Supplies(NamedTuple):
    """What simulations need besides what is asked."""

    database: Database
    outbound: Outbound
    keyring: Keyring
    means: Means
    actor: Actor


async def _answer(supplies: _Supplies, asked: schemas.Asked, *, account_id: UUID) -> Simulated:
    match asked:
        case schemas.SimulateEvent():
            return await _event(supplies, asked, account_id)
        case schemas.SimulateManifest():
            return await _manifest(supplies, asked, account_id)
        case schemas.SimulateCheck():
            return await _check(supplies, asked, account_id)
        case schemas.SimulateReset():
            return await _reset(supplies, account_id)


async def _event(supplies: _Supplies, asked: schemas.SimulateEvent, account_id: UUID) -> EventSimulatedReply:
    async with supplies.database.transaction() as conn:
        found = await sandbox.simulate_event(
            conn,
            keyring=supplies.keyring,
            account_id=account_id,
            event=asked.event,
            overrides=asked.overrides,
            webhook_id=asked.webhook_id,
            deliver=asked.deliver,
            seed=asked.seed,
        )
    return replies.event_reply(found)


async def _manifest(
    supplies: _Supplies, asked: schemas.SimulateManifest, account_id: UUID
) -> ManifestSimulatedReply:
    found = await sandbox.rehearse(
        supplies.database,
        outbound=supplies.outbound,
        account_id=account_id,
        script=sandbox.Script(
            manifest=asked.manifest.manifest(),
            fail_at=asked.fail_at,
            on_error=asked.on_error,
            persist=asked.persist,
            actor=supplies.actor,
        ),
        means=supplies.means,
    )
    return rehearsal_replies.manifest_reply(found)


async def _check(supplies: _Supplies, asked: schemas.SimulateCheck, account_id: UUID) -> ChecksSimulatedReply:
    async with supplies.database.connection() as conn:
        found = await sandbox.check_names(conn, account_id=account_id, addresses=asked.addresses)
    return replies.checks_reply(found)


async def _reset(supplies: _Supplies, account_id: UUID) -> ResetReply:
    async with sandbox.gate(account_id), supplies.database.transaction() as conn:
        return rehearsal_replies.reset_reply(await sandbox.reset_account(conn, account_id=account_id))
