"""Routes that answer, fail, wait and never end, for tests of the middleware."""

import asyncio
from typing import Any

from starlette.responses import Response
from structlog.contextvars import get_contextvars

from builders.kit.http import routes

LIMIT = 2048  # bytes of a body
SHARED = Response("always the same")


def make_router() -> routes.Router:
    router = routes.Router(tags=["middleware"])

    @router.get("/id", dependencies=[routes.LINK])
    async def own_id() -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"id": get_contextvars().get("request_id")}

    @router.post("/size")
    async def size(body: dict[str, str]) -> dict[str, int]:
        return {name: len(text) for name, text in body.items()}

    @router.get("/fails/{what}", dependencies=[routes.LINK])
    async def fails(what: str) -> dict[str, str]:
        raise RuntimeError(f"no {what} with password=hidden1 and svc_live_hidden2")

    @router.get("/shared")
    async def shared() -> Response:
        return SHARED

    @router.get("/waits")
    async def waits() -> dict[str, str]:
        await asyncio.Event().wait()
        return {}

    @router.get("/times-out")
    async def times_out() -> dict[str, str]:
        raise TimeoutError

    return router
