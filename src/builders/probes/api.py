"""/livez, /health and /readyz."""

from typing import Annotated, Literal

from fastapi import Query, Request, Response

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
            "description": "Not ready: the database does not respond, or with `writes=required` refuses writes.",
        }
    },
)
async def readyz(
    request: Request,
    writes: Annotated[
        Literal["required"] | None,
        Query(description="With `required`, a service that can only be read is not ready. Default: it is."),
    ] = None,
) -> Response:
    """Bounded readiness: core database required; cache store checked when configured."""
    prober: probes.Prober = request.app.state.prober
    found = await prober.examine()
    reply = schemas.ReadinessReply.from_record(found)
    is_ready = reply.status == "ready" and (reply.writes or writes is None)
    status, headers = (200, NO_STORE) if is_ready else (503, {**NO_STORE, "Retry-After": "5"})
    return Response(reply.model_dump_json(), status, headers, "application/json")
