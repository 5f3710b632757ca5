"""/v1/sandbox: plans, their promotions, and simulations."""

from datetime import timedelta
from math import ceil
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Path, Query, Request
from starlette.responses import PlainTextResponse, Response

from builders.identity import accounts
from builders.identity.errors import EmailUnverified, KeyLimit
from builders.kit.callers import APPROVE, Caller
from builders.kit.db.connections import Conn, Database, Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import problems, refuses
from builders.kit.http import dependencies
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import API_KEY, CALLER, ApprovalRequired, LiveKeyRequired, needs
from builders.kit.http.dependencies import KeyringDep, OutboundDep, SettingsDep
from builders.kit.http.heavy_requests import LARGE_BODY, charge, heavy
from builders.kit.http.pagination import Listing, PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.kit.limits.rate_limiter import require_quota
from builders.kit.pages import Page
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import ids
from builders.plans import errors, planning, rehearsal, simulation
from builders.plans.approval import decisions, policies, requests
from builders.plans.approval.records import ApprovalRequest, Verdict
from builders.plans.promotion import on_approval, run
from builders.plans.records import MAX_BYTES, MAX_RESOURCES, PLAN_LIFE, Plan, PlanStatus, PromotionStatus
from builders.plans.resources.kinds import RunParameters
from builders.plans.schemas import (
    approvals as approval_schemas,
    manifests as manifest_schemas,
    plans as schemas,
    promotions as promotion_schemas,
    simulations as simulation_schemas,
)
from builders.plans.schemas.simulations import (
    MAX_CHECKS,
    ChecksSimulatedReply,
    EventSimulatedReply,
    ManifestSimulatedReply,
    ResetReply,
)
from builders.portfolio.team.access import reviews
from builders.portfolio.team.records import Access
from builders.projects.errors import ProjectArchived
from builders.webhooks import simulation as event_simulation
from builders.webhooks.errors import TooManyTests
from builders.webhooks.simulation import MAX_SIMULATED

router = Router(prefix="/v1/sandbox", tags=["sandbox"])
PromotionId = Annotated[
    UUID, Path(description="Identifier of the promotion."), ResourceId(errors.PromotionNotFound)
]
PlanId = Annotated[UUID, Path(description="Identifier of the plan."), ResourceId(errors.PlanNotFound)]
Reader = Annotated[Caller, needs("sandbox:read")]
Reviewer = Annotated[Access, reviews("sandbox:read")]
Proposer = Annotated[Caller, needs("sandbox:write", effect=Effect.PROPOSE)]
Decider = Annotated[Access, reviews(APPROVE)]
ProposalId = Annotated[UUID, Path(description="Identifier of the proposal."), ResourceId(errors.ProposalNotFound)]
router.refuse("POST", "/plans", remedy="Plan a manifest: POST /v1/sandbox/plan.")
router.suggest("/v1/sandbox/promotions", meant="/promote")
Promoter = Annotated[Caller, needs("sandbox:promote", effect=Effect.WRITE, fresh=True, checks_target=True)]

# A plan discloses whether a name is claimed: the limit prevents enumeration.
PER_UNIT = 200  # resources of a manifest
PLAN = declare(
    Policy(name="plan", quota=60, window_s=60, by="account", counts="Plans; each 200 resources count as one.")
)
SIMULATE = declare(
    Policy(
        name="simulate",
        quota=60,
        window_s=60,
        by="account",
        counts="Simulations of any type; each 200 resources of a manifest count as one.",
    )
)
DECIDE = declare(
    Policy(name="decide", quota=60, window_s=60, by="account", counts="Decisions about plans and the policy.")
)

UNDECIDABLE = (errors.PlanBlocked, errors.PlanExpired, errors.PlanPromoted)
REFUSALS = (
    ApprovalRequired,
    EmailUnverified,
    errors.PlanNotFound,
    errors.PlanBlocked,
    errors.PlanStale,
    errors.PlanDigestMismatch,
    errors.PlanExpired,
    errors.ConfirmDeletesMismatch,
    errors.TotalExceeded,
    errors.PromotionLimit,
    errors.PromotionRunning,
    ProjectArchived,
)


@refuses(errors.ManifestTooLarge)
async def check_manifest_size(request: Request) -> None:
    """Raise ManifestTooLarge for a manifest above the limit; other bodies can be larger."""
    if len(await request.body()) > MAX_BYTES:
        raise errors.ManifestTooLarge(f"A manifest is larger than {MAX_BYTES} bytes.")


VARY = {"Vary": "Accept"}  # of responses in JSON or text
SIZE_CHECK = Depends(check_manifest_size)


async def charge_resources(
    request: Request, policy: Policy, *, account_id: UUID, manifest: manifest_schemas.SandboxManifest
) -> None:
    """Count a manifest by its size, less the unit that its request has counted. Raise RateLimited."""
    units = ceil(manifest.size / PER_UNIT) - 1
    await charge(request, policy, subject=account_id, units=units)


# The link from a plan to its promotion (OpenAPI 3.1, "Link Object").
PROMOTION: dict[int | str, dict[str, Any]] = {
    200: {
        "links": {
            "promote": {
                "operationId": "sandbox_promote",
                "requestBody": {"plan_id": "$response.body#/id", "digest": "$response.body#/digest"},
            }
        }
    }
}


async def _plan_response(conn: Conn, plan: Plan, request: Request, *, masked: bool) -> ReplyWithHeaders | Response:
    """Return the plan as JSON or text by the Accept header; masked for a test key."""
    mask = schemas.Mask(dependencies.keyring(request), plan.account_id) if masked else None
    caller: Caller = request.scope[CALLER]
    approval = await decisions.get_approval(conn, plan=plan, mandate=caller.mandate)
    base_url = dependencies.settings(request).url
    reply = schemas.plan_reply(plan, approval, base_url=base_url, mask=mask)
    if schemas.wants_text(request.headers.get("accept", "")):
        return PlainTextResponse(schemas.render(reply), headers=VARY)
    return ReplyWithHeaders(reply, VARY)


@router.get("/status")
async def get_status(caller: Reader, conn: Reads, settings: SettingsDep) -> promotion_schemas.StatusReply:
    """Sandbox status: allowed operations and their obstacles, open plans, running promotions, and limits."""
    found = await simulation.get_overview(conn, account_id=caller.live_account_id)
    limits = promotion_schemas.LimitsReply(
        max_resources=MAX_RESOURCES,
        manifest_bytes=min(MAX_BYTES, settings.body_limit),
        plan_ttl_s=int(PLAN_LIFE.total_seconds()),
        checks=MAX_CHECKS,
        plans_per_minute=PLAN.quota,
        simulations_per_minute=SIMULATE.quota,
        simulated_deliveries_per_minute=MAX_SIMULATED,
    )
    return promotion_schemas.status_reply(found, caller=caller, limits=limits)


@router.get(
    "/manifest.schema.json", response_model=manifest_schemas.ManifestSchemaReply, openapi_extra=BEYOND_SPEC
)
async def get_manifest_schema(config: SettingsDep) -> ReplyWithHeaders:
    """Get the JSON Schema of a manifest, for editors and for validation before a request."""
    address = f"{config.base_url}/v1/sandbox/manifest.schema.json"
    return ReplyWithHeaders(manifest_schemas.json_schema(address), {"Cache-Control": "public, max-age=3600"})


@router.post(
    "/plan",
    response_model=schemas.PlanReply,
    responses={**problems(ProjectArchived), **PROMOTION},
    dependencies=[rate_limit(PLAN), heavy(above=LARGE_BODY), SIZE_CHECK],
)
async def make_plan(
    body: manifest_schemas.SandboxManifest,
    request: Request,
    caller: Proposer,
    database: Pool,
    outbound: OutboundDep,
    config: SettingsDep,
) -> ReplyWithHeaders | Response:
    """Build a reviewable plan from an apply manifest; preferably called with a test key.

    The plan has no effect until its promotion. The response is JSON; with `Accept: text/plain` a text in the form
    of a diff.
    """
    await charge_resources(request, PLAN, account_id=caller.live_account_id, manifest=body)
    plan = await planning.make_plan(
        database,
        outbound=outbound,
        account_id=caller.live_account_id,
        manifest=body.manifest(),
        actor=caller.actor,
        cooling_off=timedelta(hours=config.cooling_off_hours),
    )
    async with database.connection() as conn:
        return await _plan_response(conn, plan, request, masked=caller.mode == "test")


@router.get("/plans", response_model=PageReply[schemas.PlanItemReply], openapi_extra=BEYOND_SPEC)
async def list_plans(
    access: Reviewer,
    conn: Reads,
    page: PageQuery,
    status: Annotated[PlanStatus | None, Query(description="Only plans with this status.")] = None,
    q: Annotated[
        str | None, Query(max_length=320, description="Only plans whose manifest has this text in its name.")
    ] = None,
) -> Page[schemas.PlanItemReply]:
    """List the account's plans of the last 30 days, newest first, without their actions.

    Only the newest 1,000 plans are kept, and those that were promoted. A member of the team with the permission
    `approve_plans` lists them in a browser, with `X-Portfolio-Account`.
    """
    found = await planning.list_plans(
        conn, account_id=access.owner_id, page=page, status=status, containing=(q or "").strip()
    )
    items = [schemas.PlanItemReply.model_validate(each) for each in found.items]
    return Page(items=items, next_cursor=found.next_cursor)


@router.get(
    "/plans/{plan_id}", response_model=schemas.PlanReply, openapi_extra=BEYOND_SPEC, dependencies=[heavy()]
)
async def get_plan(
    plan_id: PlanId, request: Request, access: Reviewer, conn: Reads
) -> ReplyWithHeaders | Response:
    """Read a plan: JSON, or a text in the form of a diff with `Accept: text/plain`.

    A member of the team with the permission `approve_plans` reads it in a browser, with `X-Portfolio-Account`.
    """
    plan = await planning.get_plan(conn, account_id=access.owner_id, plan_id=plan_id)
    return await _plan_response(conn, plan, request, masked=access.is_sandbox)


@router.post(
    "/plans/{plan_id}/approval/request", openapi_extra=BEYOND_SPEC, dependencies=[rate_limit(PLAN), heavy()]
)
async def request_approval(
    plan_id: PlanId, caller: Proposer, conn: Tx, keyring: KeyringDep, config: SettingsDep
) -> approval_schemas.ApprovalReply:
    """Ask the people who decide about plans for a decision; they are emailed once about a digest in a day.

    It has no effect if the plan needs no decision, so it can be repeated.
    """
    plan, approval = await requests.request_approval(
        conn,
        keyring=keyring,
        base_url=config.url,
        account_id=caller.live_account_id,
        plan_id=plan_id,
        mandate=caller.mandate,
    )
    return approval_schemas.approval_reply(plan, approval, base_url=config.url)


@router.post(
    "/plans/{plan_id}/approval",
    responses=problems(*UNDECIDABLE, errors.PlanDigestMismatch, errors.OwnPlan),
    openapi_extra=BEYOND_SPEC,
    dependencies=[rate_limit(DECIDE, has_reserve=True), heavy()],
)
async def decide(
    request: Request,
    plan_id: PlanId,
    body: approval_schemas.SandboxDecision,
    access: Decider,
    conn: Tx,
    config: SettingsDep,
) -> approval_schemas.ApprovalReply:
    """Approve or reject a plan, as a person who has signed in with a browser within ten minutes.

    The decision is bound to the digest, and replaces an earlier one of the same person. It ends after 24 hours, or
    with the promotion that starts under it.
    """
    new = body.new()
    if new.verdict is not Verdict.REJECT:
        require_quota(request.scope)
    plan, approval = await decisions.decide(conn, access=access, plan_id=plan_id, new=new)
    return approval_schemas.approval_reply(plan, approval, base_url=config.url)


@router.delete(
    "/plans/{plan_id}/approval",
    responses=problems(*UNDECIDABLE, errors.DecisionNotFound),
    openapi_extra=BEYOND_SPEC,
    dependencies=[rate_limit(DECIDE, has_reserve=True), heavy()],
)
async def withdraw(
    plan_id: PlanId, access: Decider, conn: Tx, config: SettingsDep
) -> approval_schemas.ApprovalReply:
    """Withdraw your own decision about a plan that is not promoted."""
    plan, approval = await decisions.withdraw(conn, access=access, plan_id=plan_id)
    return approval_schemas.approval_reply(plan, approval, base_url=config.url)


@router.post(
    "/plans/{plan_id}/promotion",
    response_model=promotion_schemas.PromotionDetail,
    responses=problems(*REFUSALS, KeyLimit),
    openapi_extra=BEYOND_SPEC,
    dependencies=[rate_limit(DECIDE), heavy(is_alone=False)],
)
async def promote_as_person(
    plan_id: PlanId,
    body: promotion_schemas.SandboxPersonPromotion,
    access: Decider,
    database: Pool,
    config: SettingsDep,
    keyring: KeyringDep,
    outbound: OutboundDep,
) -> promotion_schemas.PromotionDetail:
    """Promote a plan of your own account, as a person who has signed in with a browser within ten minutes.

    The service mints a live key for this plan, shows it to nobody, and revokes it afterwards. The plan needs its
    approval here too.
    """
    promotion = await on_approval.promote_as_person(
        database,
        outbound=outbound,
        access=access,
        request=body.request(plan_id),
        parameters=RunParameters.of(config, keyring),
    )
    return promotion_schemas.promotion_reply(promotion, masked=False)


@router.get(
    "/approval-requests",
    response_model=Listing[ApprovalRequest],
    openapi_extra=BEYOND_SPEC,
)
async def list_requests(access: Reviewer, conn: Reads) -> Listing[ApprovalRequest]:
    """List the plans that ask for a decision: the newest of each manifest, at most 100."""
    return Listing(items=await requests.list_requests(conn, account_id=access.owner_id))


@router.get("/approval-policy", openapi_extra=BEYOND_SPEC)
async def get_policy(access: Reviewer, conn: Reads) -> approval_schemas.ApprovalPolicyReply:
    """Read which plans a person must approve, and the proposal to change that."""
    found = await policies.get_policy_in_force(conn, account_id=access.owner_id)
    return approval_schemas.policy_reply(found)


@router.put(
    "/approval-policy",
    responses=problems(errors.DecidersNotChosen),
    openapi_extra=BEYOND_SPEC,
    dependencies=[rate_limit(DECIDE)],
)
async def change_policy(
    body: approval_schemas.SandboxApprovalPolicy,
    access: Decider,
    conn: Tx,
    keyring: KeyringDep,
    config: SettingsDep,
) -> approval_schemas.ApprovalPolicyReply:
    """Change the approval policy, as the person who holds the account.

    A policy that stops all that the present one stops takes effect at once. Any other is a `proposal`, until
    as many people have confirmed it as the present policy requires to approve a plan; with `own_plans` `allow` you
    are one of them. The first policy other than `never` ends the other sessions of the account,
    and its connections except those that you keep.
    """
    found = await policies.change_policy(
        conn, keyring=keyring, settings=config, access=access, request=body.request()
    )
    return approval_schemas.policy_reply(found)


@router.post(
    "/approval-policy/proposals/{proposal_id}/confirm",
    responses=problems(errors.OwnProposal),
    openapi_extra=BEYOND_SPEC,
    dependencies=[rate_limit(DECIDE)],
)
async def confirm_policy(
    proposal_id: ProposalId, access: Decider, conn: Tx, keyring: KeyringDep, config: SettingsDep
) -> approval_schemas.ApprovalPolicyReply:
    """Confirm a proposed policy, as a person who decides about plans; the last confirmation puts it in force."""
    found = await policies.confirm(conn, keyring=keyring, settings=config, access=access, proposal_id=proposal_id)
    return approval_schemas.policy_reply(found)


@router.delete(
    "/approval-policy/proposals/{proposal_id}",
    openapi_extra=BEYOND_SPEC,
    dependencies=[rate_limit(DECIDE, has_reserve=True)],
)
async def discard_policy(
    proposal_id: ProposalId, access: Decider, conn: Tx, keyring: KeyringDep, config: SettingsDep
) -> approval_schemas.ApprovalPolicyReply:
    """Discard a proposed policy, as a person who decides about plans."""
    found = await policies.discard(conn, keyring=keyring, settings=config, access=access, proposal_id=proposal_id)
    return approval_schemas.policy_reply(found)


@router.post(
    "/promote",
    response_model=promotion_schemas.PromotionDetail,
    responses=problems(LiveKeyRequired, *REFUSALS),
    openapi_extra={"x-security": [API_KEY]},
    dependencies=[heavy(is_alone=False)],
)
async def promote(
    body: promotion_schemas.SandboxPromoteRequest,
    caller: Promoter,
    database: Pool,
    config: SettingsDep,
    keyring: KeyringDep,
    outbound: OutboundDep,
) -> ReplyWithHeaders:
    """Execute a reviewed plan with a live key. The call has real effects and is idempotent."""
    if caller.mode != "live" or caller.key_id is None:
        raise LiveKeyRequired("The promotion of a plan requires a live API key.")
    promotion = await run.promote(
        database,
        outbound=outbound,
        account_id=caller.live_account_id,
        request=body.request(ids.parse(body.plan_id)),
        actor=caller.actor,
        parameters=RunParameters.of(config, keyring),
    )
    is_running = promotion.status in {PromotionStatus.WAITING, PromotionStatus.RUNNING}
    headers = {"Location": f"/v1/sandbox/promotions/{promotion.id}"} if is_running else {}
    return ReplyWithHeaders(promotion_schemas.promotion_reply(promotion, masked=False), headers)


@router.get("/promotions/{promotion_id}", openapi_extra=BEYOND_SPEC, dependencies=[heavy()])
async def get_promotion(
    promotion_id: PromotionId, caller: Reader, conn: Reads
) -> promotion_schemas.PromotionDetail:
    """Read a promotion with its steps."""
    found = await run.get_promotion(conn, account_id=caller.live_account_id, promotion_id=promotion_id)
    return promotion_schemas.promotion_reply(found, masked=caller.mode == "test")


@router.post(
    "/simulate",
    responses=problems(ProjectArchived, TooManyTests),
    dependencies=[rate_limit(SIMULATE), heavy(above=LARGE_BODY), SIZE_CHECK],
)
async def simulate(
    body: simulation_schemas.SandboxSimulateRequest,
    request: Request,
    caller: Proposer,
    database: Pool,
    keyring: KeyringDep,
    outbound: OutboundDep,
    settings: SettingsDep,
) -> EventSimulatedReply | ManifestSimulatedReply | ChecksSimulatedReply | ResetReply:
    """Simulate an event, a promotion or checks in the sandbox account, or reset it; live data does not change."""
    requested, account_id = body.root, caller.live_account_id
    if isinstance(requested, simulation_schemas.SimulateManifest):
        await charge_resources(request, SIMULATE, account_id=account_id, manifest=requested.manifest)
        wanted, parameters = requested.request(caller.actor), RunParameters.of(settings, keyring)
        found = await rehearsal.rehearse(
            database, outbound=outbound, account_id=account_id, request=wanted, parameters=parameters
        )
        return simulation_schemas.manifest_reply(found)
    return await _simulate(database, keyring, account_id, requested)


async def _simulate(
    database: Database,
    keyring: Keyring,
    account_id: UUID,
    requested: simulation_schemas.SimulateEvent
    | simulation_schemas.SimulateCheck
    | simulation_schemas.SimulateReset,
) -> EventSimulatedReply | ChecksSimulatedReply | ResetReply:
    if isinstance(requested, simulation_schemas.SimulateReset):
        async with simulation.account_lock(account_id), database.transaction() as conn:
            return ResetReply(cleared=await simulation.reset_account(conn, account_id=account_id))
    if isinstance(requested, simulation_schemas.SimulateCheck):
        async with database.connection() as conn:
            found = await simulation.check_names(conn, account_id=account_id, addresses=requested.addresses)
        return ChecksSimulatedReply(results=found)
    async with database.transaction() as conn:
        account = await accounts.get_account(conn, account_id=account_id)
        simulated = await event_simulation.simulate(
            conn,
            keyring=keyring,
            account_id=account.sandbox_id,
            event=requested.event,
            overrides=requested.overrides,
            only=() if requested.webhook_id is None else (ids.parse(requested.webhook_id),),
            deliver=requested.deliver,
            seed=requested.seed,
        )
    return EventSimulatedReply.model_validate(simulated)
