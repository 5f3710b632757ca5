"""/v1/events."""

from typing import Annotated

from fastapi import Query, Request

from builders.kit.db.connections import Pool
from builders.kit.errors import problems
from builders.kit.http.callers import Caller, needs
from builders.kit.http.disconnects import unless_disconnected
from builders.kit.http.pagination import FeedQuery
from builders.kit.http.routes import BEYOND, Router
from builders.webhooks import service as webhooks
from builders.webhooks.errors import CursorExpired, FeedBusy, TooManyWaiters
from builders.webhooks.records import FeedPage
from builders.webhooks.schemas import feed as schemas, values

LONGEST_WAIT_S = 20

router = Router(prefix="/v1/events", tags=["webhooks"])
Reader = Annotated[Caller, needs("notifications:read")]
Types = Annotated[
    list[str] | None,
    Query(max_length=100, description="Only events of this type, `area.*` for an area; repeat it for more."),
]
Since = Annotated[values.Instant | None, Query(description="Only events that happened from then on.")]
Wait = Annotated[
    int,
    Query(ge=0, le=LONGEST_WAIT_S, description="Seconds to wait for an event when there is none; 0 when absent."),
]


@router.get(
    "",
    response_model=schemas.FeedReply,
    responses=problems(CursorExpired, TooManyWaiters, FeedBusy),
    openapi_extra=BEYOND,
)
async def read_events(
    request: Request,
    caller: Reader,
    database: Pool,
    page: FeedQuery,
    types: Types = None,
    since: Since = None,
    wait: Wait = 0,
) -> FeedPage:
    """Read the account's events, oldest first, as webhook destinations get them; wait for the next ones."""
    reading = webhooks.read_feed(
        database,
        request.app.state.feed_waiters,
        account_id=caller.account_id,
        live_account_id=caller.live_account_id,
        types=types or [],
        since=since,
        page=page,
        wait_s=wait,
    )
    return await unless_disconnected(request, reading) if wait else await reading
