"""/v1/t, where the links of mail lead, and /v1/messages."""

from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request, Response

from builders.kit.db.connections import Reads
from builders.kit.errors import problems
from builders.kit.http import visitors
from builders.kit.http.callers import Caller, needs
from builders.kit.http.pagination import Page, PageQuery, PageReply
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.tracking import answers, schemas, service as tracking
from builders.tracking.errors import LinkAltered
from builders.tracking.records import Followed

router = Router(prefix="/v1/t", tags=["tracking"])
messages_router = Router(prefix="/v1/messages", tags=["messages"])
TrackingToken = Annotated[str, Path(description="Token of the email, as it stands in its links.")]

# Wide: the image proxies of mail services load for millions of readers, from few addresses.
TRACKED = declare(
    Policy(
        name="tracked",
        quota=12_000,
        window_s=60,
        by="address",
        counts="Images and links of mail, in place of address.",
    )
)
_IMAGE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "An image of one pixel, whatever the token.",
        "content": {"image/gif": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_LINK: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Where the link leads, for whoever does not name `text/html` in Accept, and for scanners."
    },
    302: {"description": "To the target.", "headers": {"Location": {"schema": {"type": "string"}}}},
}
Reader = Annotated[Caller, needs("account:read")]


def recorder(request: Request) -> tracking.Recorder:
    """Who takes down what comes in."""
    found: tracking.Recorder = request.app.state.hits
    return found


Hits = Annotated[tracking.Recorder, Depends(recorder)]


@router.get(
    "/o/{token}", response_class=Response, responses=_IMAGE, dependencies=[rate_limit(TRACKED, alone=True)]
)
async def open_mail(request: Request, hits: Hits, token: TrackingToken) -> Response:
    """Tell of a mail's opening: always the same image; what is ours is recorded."""
    if request.method != "HEAD":
        await hits.note_open(token=token, visitor=visitors.visitor_of(request))
    return answers.pixel(request)


@router.get(
    "/c/{token}",
    response_model=schemas.LinkReply,
    responses={**_LINK, **problems(LinkAltered)},
    dependencies=[rate_limit(TRACKED, alone=True)],
)
async def follow_link(
    request: Request,
    hits: Hits,
    token: TrackingToken,
    u: Annotated[str, Query(description="Where it leads.")],
    m: Annotated[str, Query(description="Our signature of token and `u`.")],
) -> Response:
    """Follow a link of a mail: 302 to `u` for browsers, the target as JSON for everything else."""
    hits.check(token=token, target=u, mac=m)
    visitor = visitors.visitor_of(request)
    if request.method != "HEAD":
        await hits.note_click(token=token, target=u, visitor=visitor)
    return answers.way(request, u, visitor)


@messages_router.get("", response_model=PageReply[schemas.MessageReply], openapi_extra=BEYOND_SPEC)
async def list_messages(caller: Reader, conn: Reads, page: PageQuery) -> Page[Followed]:
    """List the notices mailed for the account, newest first, with their opens and clicks; kept for 90 days."""
    return await tracking.list_messages(conn, account_id=caller.account_id, page=page)
