"""/livez, /health and /readyz."""

from fastapi import Request, Response

from builders.kit.db.connections import Pool
from builders.kit.http.routes import Router
from builders.kit.limits.policies import UNLIMITED
from builders.probes import schemas, service as probes

router = Router(tags=["probes"])
NO_STORE = {"Cache-Control": "no-store"}
ALIVE = schemas.LivenessReply(status="ok")


@router.get("/livez", dependencies=[UNLIMITED])
async def livez() -> schemas.LivenessReply:
    """Process liveness only; does not check dependencies."""
    return ALIVE


@router.get("/health", dependencies=[UNLIMITED])
async def health() -> schemas.LivenessReply:
    """Alias of /livez."""
    return ALIVE


@router.get(
    "/readyz",
    response_model=schemas.ReadinessReply,
    dependencies=[UNLIMITED],
    responses={
        503: {
            "model": schemas.ReadinessReply,
            "description": "Not ready: the database does not respond, or writes to it or to the outbox fail.",
        }
    },
)
async def readyz(request: Request, database: Pool) -> Response:
    """Bounded readiness: core database required; cache store checked when configured."""
    found = await probes.examine(
        database, cache=request.app.state.cache, write_check=request.app.state.write_check
    )
    reply = schemas.ReadinessReply.from_record(found)
    status, headers = (200, NO_STORE) if reply.status == "ready" else (503, {**NO_STORE, "Retry-After": "5"})
    return Response(reply.model_dump_json(), status, headers, "application/json")
