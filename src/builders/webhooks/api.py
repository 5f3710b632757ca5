"""/v1/notifications/webhooks, /events and /deliveries, and /v1/events."""

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query, Request

from builders.kit.callers import Caller
from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import RotationInProgress, problems
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import needs
from builders.kit.http.deadline import unless_disconnected
from builders.kit.http.dependencies import KeyringDep, OutboundDep
from builders.kit.http.etags import WITH_ETAG, IfMatch, with_etag
from builders.kit.http.heavy_requests import heavy
from builders.kit.http.pagination import CursorExpired, FeedQuery, JsonPage, Listing, PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.pages import Page
from builders.kit.values import ids
from builders.kit.values.instants import Instant
from builders.webhooks import catalog, deliveries, destinations, feed, schemas, simulation
from builders.webhooks.errors import (
    DeliveryInFlight,
    DeliveryIsTest,
    DeliveryNotFound,
    DeliveryTooOld,
    FeedBusy,
    TooManyTests,
    TooManyWaiters,
    WebhookDisabled,
    WebhookGone,
    WebhookLimit,
    WebhookNotFound,
)
from builders.webhooks.feed import LONGEST_WAIT_S, FeedPage
from builders.webhooks.records import (
    AttemptedDelivery,
    CatalogEvent,
    Delivery,
    DeliveryDetail,
    DeliveryFilter,
    DeliveryStatus,
    Destination,
    NewDestination,
    ReplayedDeliveries,
)

router = Router(prefix="/v1/notifications/webhooks", tags=["webhooks"])
deliveries_router = Router(prefix="/v1/notifications/deliveries", tags=["webhooks"])
WebhookId = Annotated[UUID, Path(description="Identifier of the destination."), ResourceId(WebhookNotFound)]
Reader = Annotated[Caller, needs("notifications:read")]
Creator = Annotated[
    Caller, needs("notifications:write", effect=Effect.OUTWARD, plannable=True, checks_target=True)
]
Writer = Annotated[Caller, needs("notifications:write", effect=Effect.WRITE, plannable=True)]
Deleter = Annotated[Caller, needs("notifications:write", effect=Effect.DELETE, plannable=True)]
# A delivery is repeated: no manifest describes it.
Retrier = Annotated[Caller, needs("notifications:write", effect=Effect.WRITE)]


@router.post("", response_model=schemas.WebhookSecretReply, responses=problems(WebhookLimit))
async def create(
    body: schemas.WebhookCreate, caller: Creator, database: Pool, keyring: KeyringDep, outbound: OutboundDep
) -> NewDestination:
    """Create a webhook destination. Only this response contains the generated secret."""
    return await destinations.create_destination(
        database,
        outbound=outbound,
        keyring=keyring,
        account_id=caller.account_id,
        secret=schemas.secret_of(body),
        mandate=caller.mandate,
        **body.values(),
    )


@router.get("", response_model=PageReply[Destination], openapi_extra=BEYOND_SPEC)
async def list_destinations(caller: Reader, conn: Reads, page: PageQuery) -> Page[Destination]:
    """List the account's webhook destinations with their health, newest first."""
    return await destinations.list_destinations(conn, account_id=caller.account_id, page=page)


# No 304: the health of a destination can change while its version does not.
@router.get("/{webhook_id}", response_model=Destination, responses=WITH_ETAG, openapi_extra=BEYOND_SPEC)
async def get(webhook_id: WebhookId, caller: Reader, conn: Reads) -> ReplyWithHeaders:
    """Read one webhook destination with its health."""
    found = await destinations.get_destination(conn, account_id=caller.account_id, destination_id=webhook_id)
    return with_etag(found, of=found.id, version=found.version)


@router.patch("/{webhook_id}", response_model=schemas.WebhookWritten, openapi_extra=BEYOND_SPEC)
async def change(
    webhook_id: WebhookId,
    body: schemas.WebhookUpdate,
    caller: Creator,
    database: Pool,
    outbound: OutboundDep,
    if_match: IfMatch,
) -> ReplyWithHeaders:
    """Change a webhook destination; omitted members do not change. Enabling it again resets its failures."""
    changed = await destinations.update_destination(
        database,
        outbound=outbound,
        account_id=caller.account_id,
        destination_id=webhook_id,
        expected=if_match,
        patch=body.values(),
        mandate=caller.mandate,
    )
    return with_etag(changed, of=changed.id, version=changed.version)


@router.delete("/{webhook_id}", openapi_extra=BEYOND_SPEC)
async def delete(webhook_id: WebhookId, caller: Deleter, conn: Tx, if_match: IfMatch) -> Destination:
    """Delete a webhook destination and its pending deliveries; other deliveries remain readable."""
    return await destinations.delete_destination(
        conn, account_id=caller.account_id, destination_id=webhook_id, expected=if_match
    )


@router.post(
    "/{webhook_id}/rotate-secret",
    response_model=schemas.WebhookSecretReply,
    responses=problems(RotationInProgress),
    openapi_extra=BEYOND_SPEC,
)
async def rotate_secret(
    webhook_id: WebhookId, caller: Writer, conn: Tx, keyring: KeyringDep, body: schemas.WebhookRotate | None = None
) -> NewDestination:
    """Replace the secret of a webhook destination; during the overlap both secrets sign."""
    wanted = body or schemas.WebhookRotate()
    return await destinations.rotate_secret(
        conn,
        keyring=keyring,
        account_id=caller.account_id,
        destination_id=webhook_id,
        overlap=timedelta(hours=wanted.overlap_hours),
        secret=schemas.secret_of(wanted),
    )


@router.post(
    "/{webhook_id}/test",
    responses=problems(TooManyTests, DeliveryInFlight),
    openapi_extra=BEYOND_SPEC,
    dependencies=[heavy(is_alone=False)],
)
async def send_sample(
    webhook_id: WebhookId,
    caller: Writer,
    database: Pool,
    keyring: KeyringDep,
    outbound: OutboundDep,
    event: Annotated[
        str | None, Query(description="Default: the first event that the destination subscribes to.")
    ] = None,
) -> AttemptedDelivery:
    """Send a signed sample, marked as a test, to a webhook destination; return the receiver's response."""
    return await simulation.send_test(
        database,
        outbound=outbound,
        keyring=keyring,
        account_id=caller.account_id,
        destination_id=webhook_id,
        event=event,
    )


@router.post(
    "/{webhook_id}/replay",
    response_model=schemas.WebhookReplayed,
    responses=problems(WebhookDisabled),
    openapi_extra=BEYOND_SPEC,
)
async def replay(
    webhook_id: WebhookId, body: schemas.WebhookReplay, caller: Writer, conn: Tx
) -> ReplayedDeliveries:
    """Resend the deliveries of a destination for events since a time."""
    return await deliveries.replay_deliveries(
        conn,
        account_id=caller.account_id,
        destination_id=webhook_id,
        since=body.since,
        until=body.until,
        events=body.events,
        status=DeliveryStatus(body.status),
        after=body.cursor or ids.NIL,
    )


events_router = Router(prefix="/v1/notifications/events", tags=["webhooks"])


# The first request makes the schemas of all events, which takes 0.2 s of processor time.
@events_router.get(
    "", openapi_extra=BEYOND_SPEC, dependencies=[needs("notifications:read"), heavy(is_alone=False)]
)
async def list_events() -> Listing[CatalogEvent]:
    """List every event that a destination can select, with its schema and an example of a payload."""
    return Listing(items=catalog.list_catalog())


feed_router = Router(prefix="/v1/events", tags=["webhooks"])
Types = Annotated[
    list[str] | None,
    Query(
        max_length=100, description="Only events of this type, or `area.*` for all of an area; can be repeated."
    ),
]
Since = Annotated[Instant | None, Query(description="Only events from this time on.")]
Wait = Annotated[
    int, Query(ge=0, le=LONGEST_WAIT_S, description="Seconds to wait for an event if there is none; 0 by default.")
]


@feed_router.get(
    "",
    response_model=schemas.FeedReply,
    responses=problems(CursorExpired, TooManyWaiters, FeedBusy),
    openapi_extra=BEYOND_SPEC,
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
    """Read the account's events, oldest first, as webhook destinations receive them; can wait for new ones."""
    reading = feed.read_feed(
        database,
        waiters=request.app.state.feed_waiters,
        account_id=caller.account_id,
        live_account_id=caller.live_account_id,
        types=types or [],
        since=since,
        page=page,
        wait_s=wait,
    )
    return await unless_disconnected(request, reading) if wait else await reading


# The specification calls it `id`.
Id = Annotated[UUID, Path(alias="id", description="Identifier of the delivery."), ResourceId(DeliveryNotFound)]


@deliveries_router.get("", response_model=PageReply[Delivery])
async def list_deliveries(
    caller: Reader,
    conn: Reads,
    page: PageQuery,
    webhook_id: Annotated[
        str | None, Query(description="Only deliveries to this destination, which may be deleted.")
    ] = None,
    event: Annotated[str | None, Query(description="Only deliveries of this event.")] = None,
    status: Annotated[DeliveryStatus | None, Query(description="Only deliveries with this status.")] = None,
    since: Annotated[Instant | None, Query(description="Only events from this time on.")] = None,
    until: Annotated[Instant | None, Query(description="Only events before this time.")] = None,
    *,
    test: Annotated[bool | None, Query(description="Only test sends; false: only others.")] = None,
) -> JsonPage:
    """List the account's deliveries, newest first; kept for 90 days."""
    destination_id = None if webhook_id is None else ids.parse(webhook_id)
    filters = DeliveryFilter(
        destination_id=destination_id, event=event, status=status, since=since, until=until, is_test=test
    )
    livemode = caller.is_live
    return await deliveries.list_deliveries(
        conn, account_id=caller.account_id, livemode=livemode, page=page, filters=filters
    )


@deliveries_router.get("/{id}", openapi_extra=BEYOND_SPEC)
async def get_delivery(delivery_id: Id, caller: Reader, conn: Reads) -> DeliveryDetail:
    """Read one delivery with its attempts and the exact text that is sent."""
    return await deliveries.get_delivery_detail(conn, account_id=caller.account_id, delivery_id=delivery_id)


@deliveries_router.post(
    "/{id}/retry",
    responses=problems(DeliveryInFlight, DeliveryIsTest, DeliveryTooOld, WebhookDisabled, WebhookGone),
)
async def retry_delivery(
    delivery_id: Id, caller: Retrier, database: Pool, keyring: KeyringDep, outbound: OutboundDep
) -> AttemptedDelivery:
    """Retry one delivery immediately, with the same id and bytes; return the receiver's response."""
    return await deliveries.retry_delivery(
        database, outbound=outbound, keyring=keyring, account_id=caller.account_id, delivery_id=delivery_id
    )
