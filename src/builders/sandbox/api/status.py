"""/v1/sandbox/status."""

from typing import Annotated

from builders.kit.db.connections import Reads
from builders.kit.http.callers import Caller, needs
from builders.kit.http.dependencies import SettingsDep
from builders.kit.http.routes import Router
from builders.kit.process.settings import Settings
from builders.sandbox import service as sandbox
from builders.sandbox.api.plans import PLAN
from builders.sandbox.api.simulation import SIMULATE
from builders.sandbox.manifest import MAX_BYTES
from builders.sandbox.records import PLAN_LIFE
from builders.sandbox.replies import status as replies
from builders.sandbox.schemas.simulation import MOST_CHECKS
from builders.webhooks.service import MAX_SIMULATED

router = Router(prefix="/v1/sandbox", tags=["sandbox"])
Reader = Annotated[Caller, needs("sandbox:read")]


@router.get("/status", response_model=replies.StatusReply)
async def get_status(caller: Reader, conn: Reads, settings: SettingsDep) -> replies.StatusReply:
    """Sandbox status: what this caller may do and why not, what is open, and the limits."""
    found = await sandbox.get_overview(conn, account_id=caller.live_account_id)
    return replies.status_reply(found, caller=caller, limits=_limits(settings))


def _limits(settings: Settings) -> replies.LimitsReply:
    return replies.limits_reply(
        manifest_bytes=min(MAX_BYTES, settings.body_limit),
        plan_ttl_s=int(PLAN_LIFE.total_seconds()),
        checks=MOST_CHECKS,
        plans=PLAN.quota,
        simulations=SIMULATE.quota,
        deliveries=MAX_SIMULATED,
    )
