"""/v1/portfolio/webhooks and /v1/portfolio/notifications."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query

from builders.kit.callers import Caller
from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import problems
from builders.kit.http.callers import needs
from builders.kit.http.dependencies import KeyringDep, OutboundDep
from builders.kit.http.heavy_requests import heavy
from builders.kit.http.pagination import Listing, PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.kit.pages import Page
from builders.kit.values import clock
from builders.kit.values.resources import extended
from builders.portfolio.notifications import event_kinds, notices, preferences, schemas, store
from builders.portfolio.notifications.records import Notice
from builders.portfolio.team.access import allows
from builders.portfolio.team.records import Access, Permission
from builders.portfolio.team.visibility import visible
from builders.webhooks import simulation
from builders.webhooks.errors import DeliveryInFlight, TooManyTests, WebhookNotFound

router = Router(prefix="/v1/portfolio", tags=["portfolio"])
WebhookId = Annotated[UUID, Path(description="Identifier of the destination."), ResourceId(WebhookNotFound)]
Reader = Annotated[Access, allows("portfolio:read", Permission.SET_OWN_NOTIFICATIONS)]
Writer = Annotated[Access, allows("portfolio:write", Permission.SET_OWN_NOTIFICATIONS, effect=Effect.WRITE)]
# Samples go only to receivers that the account's holder has chosen.
_SUPPORT = ("event",)
Sampler = Annotated[
    Access, allows("portfolio:write", Permission.SET_OWN_NOTIFICATIONS, effect=Effect.WRITE, support=_SUPPORT)
]
WebhookSampler = Annotated[Caller, needs("portfolio:write", effect=Effect.WRITE, support=_SUPPORT)]
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
async def get_notification_preferences(access: Reader, conn: Reads) -> schemas.NotificationPreferencesReply:
    """Read your notification preferences in the portfolio, with defaults for members that you have not set."""
    return schemas.preferences_reply(await preferences.get_preferences(conn, access=access))


@router.patch("/notifications/preferences")
async def update_notification_preferences(
    body: schemas.NotificationPreferencesUpdate, access: Writer, conn: Tx, keyring: KeyringDep
) -> schemas.NotificationPreferencesWritten:
    """Change your notification preferences in the portfolio. Objects merge, arrays replace, null resets."""
    changed = await preferences.change_preferences(conn, keyring=keyring, access=access, patch=body.patch())
    return schemas.preferences_written(changed, body)


@router.get("/notifications", response_model=PageReply[Notice], openapi_extra=BEYOND_SPEC)
async def list_notices(
    access: Reader,
    conn: Reads,
    page: PageQuery,
    unread: Annotated[bool, Query(description="Only notices that are not marked as read.")] = False,
) -> Page[Notice]:
    """List your notices in the portfolio, newest first."""
    rows = await (store.list_unread if unread else store.list_notices)(
        conn,
        account_id=access.portfolio_id,
        member_id=access.member_id,
        before=page.before_id,
        limit=page.limit + 1,
    )
    return visible(page.cut(rows, lambda each: [str(each.id)]), shows_finance=access.shows_finance)


@router.post("/notifications/read", openapi_extra=BEYOND_SPEC)
async def mark_notices_read(body: schemas.NoticesRead, access: Writer, conn: Tx) -> schemas.NoticesReadReply:
    """Mark notices as read. A repeated request has no effect."""
    marked = await store.mark_read(
        conn,
        account_id=access.portfolio_id,
        member_id=access.member_id,
        ids=body.ids,
        until=body.until,
        now=clock.now(),
    )
    return schemas.NoticesReadReply(marked=marked)


@router.post("/notifications/acknowledge", openapi_extra=BEYOND_SPEC)
async def acknowledge_notices(
    body: schemas.NoticesRead, access: Writer, conn: Tx
) -> schemas.NoticesAcknowledgedReply:
    """Acknowledge notices, so that `expiry.repeat_until_ack` does not repeat them; marks them as read."""
    marked = await store.acknowledge(
        conn,
        account_id=access.portfolio_id,
        member_id=access.member_id,
        ids=body.ids,
        until=body.until,
        now=clock.now(),
    )
    return schemas.NoticesAcknowledgedReply(acknowledged=marked)


# The first request makes the schemas of all events, which takes 0.2 s of processor time.
@router.get(
    "/webhooks/catalog",
    dependencies=[needs("portfolio:read"), heavy(is_alone=False)],
)
async def list_webhook_events() -> Listing[schemas.PortfolioEvent]:
    """List the events that the owner of a portfolio can subscribe to."""
    return Listing(items=[extended(schemas.PortfolioEvent, each) for each in event_kinds.list_catalog()])


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
) -> schemas.WebhookTestReply:
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
    return schemas.webhook_tested(webhook_id, sample)


@router.post(
    "/notifications/test",
    dependencies=[rate_limit(SAMPLES), heavy(is_alone=False)],
)
async def send_samples(
    body: schemas.NotificationTest, access: Sampler, database: Pool, keyring: KeyringDep, outbound: OutboundDep
) -> schemas.NotificationTestReply:
    """Send samples through every channel, to test their delivery; return the result of each."""
    sent = await notices.send_samples(
        database, outbound=outbound, keyring=keyring, access=access, event=body.event
    )
    return schemas.all_tested(sent)
