"""/v1/sandbox."""

from datetime import timedelta
from typing import Annotated, Any

from fastapi import Request

from builders.kit import ids
from builders.kit.callers import Caller, LiveKeyRequired, needs
from builders.kit.db import Pool, Reads, Tx
from builders.kit.errors import problems
from builders.kit.idempotency import InFlight
from builders.kit.limits import Policy, declare, within
from builders.kit.routes import Router
from builders.kit.settings import Settings
from builders.sandbox import errors, replies, schemas
from builders.sandbox import service as sandbox

router = Router(prefix="/v1/sandbox", tags=["sandbox"])
Reader = Annotated[Caller, needs("sandbox:read")]
Writer = Annotated[Caller, needs("sandbox:write")]
Promoter = Annotated[Caller, needs("sandbox:promote", fresh=True)]

# A plan shows whether an address has a mailbox, masked: nobody should go through many of them.
PLAN = declare(Policy(name="plan", quota=60, window_s=60, by="account", counts="Plans that are made."))

REFUSALS = problems(
    LiveKeyRequired,
    errors.EmailUnverified,
    errors.PlanNotFound,
    errors.PlanBlocked,
    errors.PlanStale,
    errors.PlanDigestMismatch,
    errors.PlanExpired,
    errors.ConfirmDeletesMismatch,
    errors.TotalExceeded,
    InFlight,
)

# What follows a plan, for clients that can follow (OpenAPI 3.1, "Link Object").
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


@router.get("/status", response_model=replies.StatusReply)
async def get_status(request: Request, caller: Reader, conn: Reads) -> replies.StatusReply:
    """Sandbox status: what this caller may do, and why not."""
    settings: Settings = request.app.state.settings
    status = await sandbox.get_status(conn, account_id=caller.live_account_id)
    ttl_s = int(sandbox.PLAN_LIFE.total_seconds())
    return replies.status_reply(status, caller=caller, manifest_bytes=settings.body_limit, plan_ttl_s=ttl_s)


@router.post(
    "/plan",
    response_model=replies.PlanReply,
    responses={**problems(InFlight), **PROMOTION},
    dependencies=[within(PLAN)],
)
async def make_plan(body: schemas.SandboxManifest, caller: Writer, conn: Tx) -> replies.PlanReply:
    """Build a reviewable plan from an apply manifest; preferably called with a test key."""
    plan = await sandbox.make_plan(
        conn, account_id=caller.live_account_id, manifest=body.manifest(), actor=caller.actor
    )
    return replies.plan_reply(plan, masked=caller.mode == "test")


@router.get(
    "/plans/{plan_id}",
    response_model=replies.PlanReply,
    responses=problems(errors.PlanNotFound),
    tags=["beyond"],
)
async def get_plan(plan_id: str, caller: Reader, conn: Reads) -> replies.PlanReply:
    """Read a plan."""
    plan = await sandbox.get_plan(conn, account_id=caller.live_account_id, plan_id=ids.find(plan_id))
    return replies.plan_reply(plan, masked=caller.mode == "test")


@router.post("/promote", response_model=replies.PromotionReply, responses=REFUSALS)
async def promote(
    body: schemas.SandboxPromoteRequest, request: Request, caller: Promoter, database: Pool
) -> replies.PromotionReply:
    """Execute a reviewed plan with a live key; real side effects. Repeating the call does nothing twice."""
    if caller.mode != "live" or caller.method != "api_key":
        raise LiveKeyRequired("A plan is promoted with a live API key.", next_action="Repeat with a live key.")
    promotion = await sandbox.promote(
        database,
        account_id=caller.live_account_id,
        order=body.order(ids.find(body.plan_id)),
        actor=caller.actor,
        quarantine=timedelta(days=request.app.state.settings.quarantine_days),
    )
    return replies.promotion_reply(promotion)


@router.get(
    "/promotions/{promotion_id}",
    response_model=replies.PromotionReply,
    responses=problems(errors.PromotionNotFound),
    tags=["beyond"],
)
async def get_promotion(promotion_id: str, caller: Reader, conn: Reads) -> replies.PromotionReply:
    """Read a promotion with its steps."""
    found = await sandbox.get_promotion(
        conn, account_id=caller.live_account_id, promotion_id=ids.find(promotion_id)
    )
    return replies.promotion_reply(found)
