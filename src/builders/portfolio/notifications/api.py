"""/v1/portfolio/webhooks and /v1/portfolio/notifications."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query

from builders.kit.db.connections import Pool
from builders.kit.errors import problems
from builders.kit.http.callers import Caller, needs
from builders.kit.http.dependencies import KeyringDep, OutboundDep
from builders.kit.http.heavy_requests import heavy
from builders.kit.http.idempotency import InFlight
from builders.kit.http.pagination import Listing
from builders.kit.http.resource_ids import ResourceId
from builders.kit.http.routes import Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.portfolio.notifications import schemas, service as notifications
from builders.webhooks import service as webhooks
from builders.webhooks.records import CatalogEvent

router = Router(prefix="/v1/portfolio", tags=["portfolio"])
WebhookId = Annotated[
    UUID, Path(description="Identifier of the destination."), ResourceId(webhooks.WebhookNotFound)
]
Reader = Annotated[Caller, needs("portfolio:read")]
# Samples go only where the account's holder has said.
Writer = Annotated[Caller, needs("portfolio:write", support=("channel", "event", "webhook_id"))]
SAMPLES = declare(
    Policy(
        name="notification_tests",
        quota=10,
        window_s=60,
        by="account",
        counts="Samples to all webhooks and to the account's own address.",
    )
)
REFUSALS = problems(webhooks.WebhookNotFound, webhooks.TooManyTests, webhooks.DeliveryInFlight, InFlight)


@router.get("/webhooks/catalog", response_model=Listing[schemas.PortfolioEventReply])
async def list_webhook_events(caller: Reader) -> Listing[CatalogEvent]:
    """List the events that the owner of a portfolio can ask for."""
    del caller  # the scope is enough
    return Listing(items=list(notifications.list_catalog()))


@router.post(
    "/webhooks/{webhook_id}/test",
    response_model=schemas.WebhookTestReply,
    responses=REFUSALS,
    dependencies=[heavy(is_alone=False)],
)
async def send_sample(
    webhook_id: WebhookId,
    caller: Writer,
    database: Pool,
    keyring: KeyringDep,
    outbound: OutboundDep,
    event: Annotated[str | None, Query(description="Left out: what the destination wants most.")] = None,
) -> schemas.WebhookTestReply:
    """Send a signed sample, marked as a test, to a webhook destination; answers what its receiver said."""
    sample = await notifications.send_sample(
        database,
        outbound=outbound,
        keyring=keyring,
        account_id=caller.account_id,
        destination_id=webhook_id,
        event=event,
    )
    return schemas.tested(sample)


@router.post(
    "/notifications/test",
    response_model=schemas.NotificationTestReply,
    responses=REFUSALS,
    dependencies=[rate_limit(SAMPLES), heavy(is_alone=False)],
)
async def send_samples(
    body: schemas.NotificationTest, caller: Writer, database: Pool, keyring: KeyringDep, outbound: OutboundDep
) -> schemas.NotificationTestReply:
    """Send samples by mail and to webhooks, to see that notices arrive; answers how each went."""
    samples = await notifications.send_samples(
        database,
        outbound=outbound,
        keyring=keyring,
        account_id=caller.account_id,
        live_account_id=caller.live_account_id,
        channel=body.channel,
        webhook_id=body.webhook_id,
        event=body.event,
    )
    return schemas.all_tested(samples)
