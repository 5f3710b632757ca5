"""/v1/notifications/webhooks."""

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query

from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.errors import RotationInProgress, problems
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import Caller, needs
from builders.kit.http.dependencies import KeyringDep, OutboundDep
from builders.kit.http.etags import WITH_ETAG, IfMatch, with_etag
from builders.kit.http.heavy_requests import heavy
from builders.kit.http.pagination import Page, PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.values import ids
from builders.webhooks import deliveries, destinations, simulation
from builders.webhooks.errors import (
    DeliveryInFlight,
    TooManyTests,
    WebhookDisabled,
    WebhookLimit,
    WebhookNotFound,
)
from builders.webhooks.records import DeliveryStatus, ReplayedDeliveries
from builders.webhooks.schemas import destinations as schemas, events as delivery_schemas

router = Router(prefix="/v1/notifications/webhooks", tags=["webhooks"])
WebhookId = Annotated[UUID, Path(description="Identifier of the destination."), ResourceId(WebhookNotFound)]
Reader = Annotated[Caller, needs("notifications:read")]
Writer = Annotated[Caller, needs("notifications:write")]


@router.post("", responses=problems(WebhookLimit))
async def create(
    body: schemas.WebhookCreate, caller: Writer, database: Pool, keyring: KeyringDep, outbound: OutboundDep
) -> schemas.WebhookSecretReply:
    """Create a webhook destination. Only this response contains the generated secret."""
    new = await destinations.create_destination(
        database,
        outbound=outbound,
        keyring=keyring,
        account_id=caller.account_id,
        label=body.label,
        url=body.url,
        enabled=body.enabled,
        events=body.events,
        secret=schemas.secret_of(body),
    )
    return schemas.webhook_secret_reply(new, livemode=caller.is_live)


@router.get("", response_model=PageReply[schemas.WebhookReply], openapi_extra=BEYOND_SPEC)
async def list_destinations(caller: Reader, conn: Reads, page: PageQuery) -> Page[schemas.WebhookReply]:
    """List the account's webhook destinations with their health, newest first."""
    found = await destinations.list_destinations(conn, account_id=caller.account_id, page=page)
    items = [schemas.webhook_reply(each, livemode=caller.is_live) for each in found.items]
    return Page(items=items, next_cursor=found.next_cursor)


# No 304: the health of a destination can change while its version does not.
@router.get("/{webhook_id}", response_model=schemas.WebhookReply, responses=WITH_ETAG, openapi_extra=BEYOND_SPEC)
async def get(webhook_id: WebhookId, caller: Reader, conn: Reads) -> ReplyWithHeaders:
    """Read one webhook destination with its health."""
    found = await destinations.get_destination(conn, account_id=caller.account_id, destination_id=webhook_id)
    return with_etag(schemas.webhook_reply(found, livemode=caller.is_live), of=found.id, version=found.version)


@router.patch("/{webhook_id}", response_model=schemas.WebhookWritten, openapi_extra=BEYOND_SPEC)
async def change(
    webhook_id: WebhookId,
    body: schemas.WebhookUpdate,
    caller: Writer,
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
        patch=body.patch(),
    )
    reply = schemas.webhook_written(changed, livemode=caller.is_live)
    return with_etag(reply, of=changed.id, version=changed.version)


@router.delete("/{webhook_id}", openapi_extra=BEYOND_SPEC)
async def delete(webhook_id: WebhookId, caller: Writer, conn: Tx, if_match: IfMatch) -> schemas.WebhookReply:
    """Delete a webhook destination and its pending deliveries; other deliveries remain readable."""
    deleted = await destinations.delete_destination(
        conn, account_id=caller.account_id, destination_id=webhook_id, expected=if_match
    )
    return schemas.webhook_reply(deleted, livemode=caller.is_live)


@router.post("/{webhook_id}/rotate-secret", responses=problems(RotationInProgress), openapi_extra=BEYOND_SPEC)
async def rotate_secret(
    webhook_id: WebhookId, caller: Writer, conn: Tx, keyring: KeyringDep, body: schemas.WebhookRotate | None = None
) -> schemas.WebhookSecretReply:
    """Replace the secret of a webhook destination; during the overlap both secrets sign."""
    wanted = body or schemas.WebhookRotate()
    new = await destinations.rotate_secret(
        conn,
        keyring=keyring,
        account_id=caller.account_id,
        destination_id=webhook_id,
        overlap=timedelta(hours=wanted.overlap_hours),
        secret=schemas.secret_of(wanted),
    )
    return schemas.webhook_secret_reply(new, livemode=caller.is_live)


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
) -> delivery_schemas.DeliveryRetried:
    """Send a signed sample, marked as a test, to a webhook destination; return the receiver's response."""
    sample = await simulation.send_test(
        database,
        outbound=outbound,
        keyring=keyring,
        account_id=caller.account_id,
        destination_id=webhook_id,
        event=event,
    )
    return delivery_schemas.test_send_reply(sample, livemode=caller.is_live)


@router.post(
    "/{webhook_id}/replay",
    response_model=delivery_schemas.WebhookReplayed,
    responses=problems(WebhookDisabled),
    openapi_extra=BEYOND_SPEC,
)
async def replay(
    webhook_id: WebhookId, body: delivery_schemas.WebhookReplay, caller: Writer, conn: Tx
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
