"""/v1/portfolio/webhooks and /v1/portfolio/notifications."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query

from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.errors import problems
from builders.kit.http.callers import Caller, needs
from builders.kit.http.dependencies import KeyringDep, OutboundDep
from builders.kit.http.heavy_requests import heavy
from builders.kit.http.pagination import Listing, Page, PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.portfolio.notifications import (
    event_kinds,
    inbox,
    preferences as notification_preferences,
    samples as notification_samples,
)
from builders.portfolio.notifications.records import Mark
from builders.portfolio.notifications.schemas import notices, preferences, samples
from builders.portfolio.notifications.schemas.updates import NotificationPreferencesUpdate
from builders.portfolio.team.access import allows
from builders.portfolio.team.records import Access, Permission
from builders.webhooks import simulation
from builders.webhooks.errors import DeliveryInFlight, TooManyTests, WebhookNotFound
from builders.webhooks.records import CatalogEvent

router = Router(prefix="/v1/portfolio", tags=["portfolio"])
WebhookId = Annotated[UUID, Path(description="Identifier of the destination."), ResourceId(WebhookNotFound)]
Reader = Annotated[Access, allows("portfolio:read", Permission.SET_OWN_NOTIFICATIONS)]
Writer = Annotated[Access, allows("portfolio:write", Permission.SET_OWN_NOTIFICATIONS)]
# Samples go only to receivers that the account's holder has chosen.
_SUPPORT = ("event",)
Sampler = Annotated[Access, allows("portfolio:write", Permission.SET_OWN_NOTIFICATIONS, support=_SUPPORT)]
WebhookSampler = Annotated[Caller, needs("portfolio:write", support=_SUPPORT)]
SAMPLES = declare(
    Policy(
        name="notification_tests",
        quota=10,
        window_s=60,
        by="account",
        counts="Samples to all webhooks and to the account's own address.",
    )
)


@router.get("/notifications/preferences")
async def get_notification_preferences(access: Reader, conn: Reads) -> preferences.NotificationPreferencesReply:
    """Read your notification preferences in the portfolio, with defaults for members that you have not set."""
    return preferences.preferences_reply(await notification_preferences.get_preferences(conn, access=access))


@router.patch("/notifications/preferences")
async def update_notification_preferences(
    body: NotificationPreferencesUpdate, access: Writer, conn: Tx, keyring: KeyringDep
) -> preferences.NotificationPreferencesWritten:
    """Change your notification preferences in the portfolio. Objects merge, arrays replace, null resets."""
    changed = await notification_preferences.change_preferences(
        conn, keyring=keyring, access=access, patch=body.patch()
    )
    return preferences.preferences_written(changed, body)


@router.get("/notifications", response_model=PageReply[notices.PortfolioNoticeReply], openapi_extra=BEYOND_SPEC)
async def list_notices(
    access: Reader,
    conn: Reads,
    page: PageQuery,
    unread: Annotated[bool, Query(description="Only notices that are not marked as read.")] = False,
) -> Page[notices.PortfolioNoticeReply]:
    """List your notices in the portfolio, newest first."""
    found = await inbox.list_notices(conn, access=access, is_unread=unread, page=page)
    return notices.notice_page(found, shows_finance=access.shows_finance)


@router.post("/notifications/read", openapi_extra=BEYOND_SPEC)
async def mark_notices_read(body: notices.NoticesRead, access: Writer, conn: Tx) -> notices.NoticesReadReply:
    """Mark notices as read. A repeated request has no effect."""
    marked = await inbox.mark(conn, access=access, mark=Mark.READ, notice_ids=body.ids, until=body.until)
    return notices.NoticesReadReply(marked=marked)


@router.post("/notifications/acknowledge", openapi_extra=BEYOND_SPEC)
async def acknowledge_notices(
    body: notices.NoticesRead, access: Writer, conn: Tx
) -> notices.NoticesAcknowledgedReply:
    """Acknowledge notices, so that `expiry.repeat_until_ack` does not repeat them; marks them as read."""
    marked = await inbox.mark(conn, access=access, mark=Mark.ACKNOWLEDGED, notice_ids=body.ids, until=body.until)
    return notices.NoticesAcknowledgedReply(acknowledged=marked)


@router.get(
    "/webhooks/catalog",
    response_model=Listing[samples.PortfolioEventReply],
    dependencies=[needs("portfolio:read")],
)
async def list_webhook_events() -> Listing[CatalogEvent]:
    """List the events that the owner of a portfolio can subscribe to."""
    return Listing(items=list(event_kinds.list_catalog()))


@router.post(
    "/webhooks/{webhook_id}/test",
    responses=problems(TooManyTests, DeliveryInFlight),
    dependencies=[heavy(is_alone=False)],
)
async def send_sample(
    webhook_id: WebhookId,
    caller: WebhookSampler,
    database: Pool,
    keyring: KeyringDep,
    outbound: OutboundDep,
    event: Annotated[
        str | None, Query(description="When absent: the first event that the destination lists.")
    ] = None,
) -> samples.WebhookTestReply:
    """Send a signed sample, marked as a test, to a webhook destination; return the receiver's response."""
    sample = await simulation.send_test(
        database,
        outbound=outbound,
        keyring=keyring,
        account_id=caller.account_id,
        destination_id=webhook_id,
        event=event,
        prefer=event_kinds.PREFERRED,
    )
    return samples.webhook_tested(sample)


@router.post(
    "/notifications/test",
    dependencies=[rate_limit(SAMPLES), heavy(is_alone=False)],
)
async def send_samples(
    body: samples.NotificationTest, access: Sampler, database: Pool, keyring: KeyringDep, outbound: OutboundDep
) -> samples.NotificationTestReply:
    """Send samples through every channel, to test their delivery; return the result of each."""
    sent = await notification_samples.send_samples(
        database, outbound=outbound, keyring=keyring, access=access, event=body.event
    )
    return samples.all_tested(sent)
