"""/v1/t, the endpoints of tracked links, and /v1/messages."""

import json
from functools import lru_cache
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Path, Query, Request, Response

from builders.kit.callers import Caller
from builders.kit.db.connections import Reads
from builders.kit.errors import problems
from builders.kit.http import html, visitors
from builders.kit.http.bodies import RawResponse
from builders.kit.http.callers import needs
from builders.kit.http.pagination import PageQuery, PageReply
from builders.kit.http.routes import BEYOND_SPEC, LINK, Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.kit.pages import Page
from builders.kit.visitors import Machine
from builders.tracking import messages
from builders.tracking.recorder import LinkAltered, Recorder
from builders.tracking.records import LinkTarget, TrackedMessage

router = Router(prefix="/v1/t", tags=["tracking"])
messages_router = Router(prefix="/v1/messages", tags=["messages"])
TrackingToken = Annotated[str, Path(description="Token of the email, from its links.")]

# High, because the image proxies of mail services load for millions of recipients from few addresses.
TRACKED = declare(
    Policy(
        name="tracked",
        quota=12_000,
        window_s=60,
        by="address",
        counts="Images and links of emails, instead of `address`.",
    )
)
_IMAGE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "An image of one pixel, for any token.",
        "content": {"image/gif": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_LINK: dict[int | str, dict[str, Any]] = {
    200: {"description": "The target, for clients without `text/html` in Accept, and for scanners."},
    302: {"description": "Redirect to the target.", "headers": {"Location": {"schema": {"type": "string"}}}},
}
Reader = Annotated[Caller, needs("account:read")]
# 43 bytes, transparent.
GIF = bytes.fromhex("47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b")
_NO_CACHE = "no-store, no-cache, must-revalidate, private, max-age=0"
_PIXEL_HEADERS = {
    "Content-Type": "image/gif",
    "Content-Length": str(len(GIF)),
    "Cache-Control": _NO_CACHE,
    "Expires": "0",
    "Pragma": "no-cache",
    "Cross-Origin-Resource-Policy": "cross-origin",  # webmail embeds it
    "X-Robots-Tag": "noindex",
}
_PIXEL, _PIXEL_HEAD = RawResponse(GIF, 200, _PIXEL_HEADERS), RawResponse(b"", 200, _PIXEL_HEADERS)
_TARGET_HEADERS = {**html.NEGOTIATED, "X-Robots-Tag": "noindex"}
_SAFE = ":/%#?=@[]!$&'()*+,;~"  # characters that a browser leaves unescaped
_PREVIEWS = {Machine.SCANNER, Machine.PREFETCH}  # they read the target without following it


def get_recorder(request: Request) -> Recorder:
    """Return the recorder of the service."""
    found: Recorder = request.app.state.tracking_recorder
    return found


RecorderDep = Annotated[Recorder, Depends(get_recorder)]


@router.get(
    "/o/{token}", response_class=Response, responses=_IMAGE, dependencies=[rate_limit(TRACKED, alone=True), LINK]
)
async def open_mail(request: Request, recorder: RecorderDep, token: TrackingToken) -> Response:
    """Record the open of an email; the image does not depend on the token."""
    if request.method != "HEAD":
        await recorder.record(token=token, target=None, visitor=visitors.visitor_of(request))
    return _PIXEL_HEAD if request.method == "HEAD" else _PIXEL


@router.get(
    "/c/{token}",
    response_model=LinkTarget,
    responses={**_LINK, **problems(LinkAltered)},
    dependencies=[rate_limit(TRACKED, alone=True), LINK],
)
async def follow_link(
    request: Request,
    recorder: RecorderDep,
    token: TrackingToken,
    u: Annotated[str, Query(description="Target of the link.")],
    m: Annotated[str, Query(description="Signature of the token and `u`.")],
) -> Response:
    """Follow a link of an email: 302 to `u` for browsers, the target as JSON for other clients."""
    recorder.check(token=token, target=u, mac=m)
    visitor = visitors.visitor_of(request)
    if request.method != "HEAD":
        await recorder.record(token=token, target=u, visitor=visitor)
    if visitor.machine not in _PREVIEWS and html.wants_html(request):
        return _redirect(u)
    return Response(json.dumps({"target": u}), 200, _TARGET_HEADERS, "application/json")


@messages_router.get("", response_model=PageReply[TrackedMessage], openapi_extra=BEYOND_SPEC)
async def list_messages(caller: Reader, conn: Reads, page: PageQuery) -> Page[TrackedMessage]:
    """List the emailed notices of the account, newest first, with opens and clicks; kept for 90 days."""
    return await messages.list_messages(conn, account_id=caller.account_id, page=page)


@lru_cache(maxsize=1024)
def _redirect(target: str) -> RawResponse:
    return RawResponse(b"", 302, {**_TARGET_HEADERS, "Content-Length": "0", "Location": quote(target, safe=_SAFE)})
