"""/v1/notifications/deliveries."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query

from builders.kit.db.connections import Pool, Reads
from builders.kit.errors import problems
from builders.kit.http.callers import Caller, needs
from builders.kit.http.dependencies import Keys, Outside
from builders.kit.http.idempotency import InFlight
from builders.kit.http.pagination import JsonPage, PageQuery, PageReply
from builders.kit.http.resource_ids import ResourceId
from builders.kit.http.routes import BEYOND, Router
from builders.kit.values import ids
from builders.webhooks import service as webhooks
from builders.webhooks.errors import (
    DeliveryInFlight,
    DeliveryIsTest,
    DeliveryNotFound,
    DeliveryTooOld,
    WebhookDisabled,
    WebhookGone,
)
from builders.webhooks.records import DeliveryStatus
from builders.webhooks.schemas import deliveries as schemas, values

router = Router(prefix="/v1/notifications/deliveries", tags=["webhooks"])
Reader = Annotated[Caller, needs("notifications:read")]
Writer = Annotated[Caller, needs("notifications:write")]
# The specification calls it `id`.
Id = Annotated[UUID, Path(alias="id", description="Identifier of the delivery."), ResourceId(DeliveryNotFound)]


@router.get("", response_model=PageReply[schemas.DeliveryReply])
async def list_deliveries(
    caller: Reader,
    conn: Reads,
    page: PageQuery,
    webhook_id: Annotated[str | None, Query(description="Of this destination, also a deleted one.")] = None,
    event: Annotated[str | None, Query(description="The name of an event.")] = None,
    status: Annotated[DeliveryStatus | None, Query(description="How far it is.")] = None,
    since: Annotated[values.Instant | None, Query(description="Of events that happened from then on.")] = None,
    until: Annotated[values.Instant | None, Query(description="And before then.")] = None,
) -> JsonPage:
    """List the account's deliveries, newest first; kept for 90 days."""
    return await webhooks.list_deliveries(
        conn,
        account_id=caller.account_id,
        livemode=caller.mode == "live",
        page=page,
        destination_id=None if webhook_id is None else ids.parse(webhook_id),
        event=event,
        status=status,
        since=since,
        until=until,
    )


@router.get(
    "/{id}", response_model=schemas.DeliveryDetailReply, responses=problems(DeliveryNotFound), openapi_extra=BEYOND
)
async def get_delivery(delivery_id: Id, caller: Reader, conn: Reads) -> schemas.DeliveryDetailReply:
    """Read one delivery with its attempts and the very text that is sent."""
    found = await webhooks.get_delivery(conn, account_id=caller.account_id, delivery_id=delivery_id)
    return schemas.detailed(found, livemode=caller.mode == "live")


@router.post(
    "/{id}/retry",
    response_model=schemas.DeliveryRetried,
    responses=problems(
        DeliveryNotFound, DeliveryInFlight, DeliveryIsTest, DeliveryTooOld, WebhookDisabled, WebhookGone, InFlight
    ),
)
async def retry_delivery(
    delivery_id: Id, caller: Writer, database: Pool, keyring: Keys, outbound: Outside
) -> schemas.DeliveryRetried:
    """Retry one delivery: an attempt right now, with the same id and bytes; answers how it went."""
    tried = await webhooks.retry_delivery(
        database,
        outbound=outbound,
        keyring=keyring,
        account_id=caller.account_id,
        delivery_id=delivery_id,
    )
    return schemas.retried(tried, livemode=caller.mode == "live")
