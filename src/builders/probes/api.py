"""/livez, /health and /readyz."""

from typing import Annotated, Literal

from fastapi import Query, Request, Response
from pydantic import TypeAdapter

from builders.kit.http.routes import Router
from builders.kit.limits.policies import UNLIMITED
from builders.probes import schemas, service as probes
from builders.probes.records import Readiness

router = Router(tags=["probes"])
NO_STORE = {"Cache-Control": "no-store"}
_READINESS = TypeAdapter(Readiness)
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
    response_model=Readiness,
    dependencies=[UNLIMITED],
    responses={
        503: {
            "model": Readiness,
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
    is_ready = found.status == "ready" and (found.writes or writes is None)
    status, headers = (200, NO_STORE) if is_ready else (503, {**NO_STORE, "Retry-After": "5"})
    return Response(_READINESS.dump_json(found), status, headers, "application/json")
