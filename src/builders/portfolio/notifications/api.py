"""/v1/portfolio/webhooks and /v1/portfolio/notifications."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query

from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.errors import problems
from builders.kit.http.callers import Caller, needs
from builders.kit.http.dependencies import KeyringDep, OutboundDep
from builders.kit.http.heavy_requests import heavy
from builders.kit.http.idempotency import InFlight
from builders.kit.http.pagination import Listing
from builders.kit.http.resource_ids import ResourceId
from builders.kit.http.routes import Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.portfolio.notifications import service as notifications
from builders.portfolio.notifications.schemas import preferences, samples
from builders.portfolio.notifications.schemas.updates import NotificationPreferencesUpdate
from builders.portfolio.team import service as team
from builders.portfolio.team.records import Permission
from builders.webhooks import service as webhooks
from builders.webhooks.records import CatalogEvent

router = Router(prefix="/v1/portfolio", tags=["portfolio"])
WebhookId = Annotated[
    UUID, Path(description="Identifier of the destination."), ResourceId(webhooks.WebhookNotFound)
]
Reader = Annotated[Caller, needs("portfolio:read")]
Writer = Annotated[Caller, needs("portfolio:write")]
# Samples go only to receivers that the account's holder has chosen.
Sampler = Annotated[Caller, needs("portfolio:write", support=("channel", "event", "webhook_id"))]
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


@router.get(
    "/notifications/preferences",
    response_model=preferences.NotificationPreferencesReply,
    responses=problems(*team.ACCESS_REFUSALS),
)
async def get_notification_preferences(
    caller: Reader, conn: Reads, portfolio: team.PortfolioAccount = None
) -> preferences.NotificationPreferencesReply:
    """Read your notification preferences in the portfolio, with the defaults of what you have not set."""
    own = Permission.SET_OWN_NOTIFICATIONS
    access = await team.get_access(conn, caller=caller, portfolio=portfolio, permission=own)
    return preferences.preferences_reply(await notifications.get_preferences(conn, access=access))


@router.patch(
    "/notifications/preferences",
    response_model=preferences.NotificationPreferencesWritten,
    responses=problems(*team.ACCESS_REFUSALS),
)
async def update_notification_preferences(
    body: NotificationPreferencesUpdate,
    caller: Writer,
    conn: Tx,
    keyring: KeyringDep,
    portfolio: team.PortfolioAccount = None,
) -> preferences.NotificationPreferencesWritten:
    """Change your notification preferences in the portfolio. Objects merge, arrays replace, null resets."""
    own = Permission.SET_OWN_NOTIFICATIONS
    access = await team.get_access(conn, caller=caller, portfolio=portfolio, permission=own)
    changed = await notifications.change_preferences(conn, keyring=keyring, access=access, patch=body.patch())
    return preferences.preferences_written(changed, body)


@router.get("/webhooks/catalog", response_model=Listing[samples.PortfolioEventReply])
async def list_webhook_events(caller: Reader) -> Listing[CatalogEvent]:
    """List the events that the owner of a portfolio can subscribe to."""
    del caller  # the scope is enough
    return Listing(items=list(notifications.list_catalog()))


@router.post(
    "/webhooks/{webhook_id}/test",
    response_model=samples.WebhookTestReply,
    responses=REFUSALS,
    dependencies=[heavy(is_alone=False)],
)
async def send_sample(
    webhook_id: WebhookId,
    caller: Sampler,
    database: Pool,
    keyring: KeyringDep,
    outbound: OutboundDep,
    event: Annotated[
        str | None, Query(description="When absent: the first event that the destination lists.")
    ] = None,
) -> samples.WebhookTestReply:
    """Send a signed sample, marked as a test, to a webhook destination; return the receiver's response."""
    sample = await notifications.send_sample(
        database,
        outbound=outbound,
        keyring=keyring,
        account_id=caller.account_id,
        destination_id=webhook_id,
        event=event,
    )
    return samples.webhook_tested(sample)


@router.post(
    "/notifications/test",
    response_model=samples.NotificationTestReply,
    responses=REFUSALS,
    dependencies=[rate_limit(SAMPLES), heavy(is_alone=False)],
)
async def send_samples(
    body: samples.NotificationTest,
    caller: Sampler,
    database: Pool,
    keyring: KeyringDep,
    outbound: OutboundDep,
) -> samples.NotificationTestReply:
    """Send samples by email and to webhooks, to check that notices arrive; return the result of each."""
    sent = await notifications.send_samples(
        database,
        outbound=outbound,
        keyring=keyring,
        account_id=caller.account_id,
        live_account_id=caller.live_account_id,
        channel=body.channel,
        webhook_id=body.webhook_id,
        event=body.event,
    )
    return samples.all_tested(sent)
