# Written by script/clients.
"""Operations: webhooks."""

from collections.abc import Sequence
from typing import Literal, Unpack

from builders_client.aio.pages import AsyncPages
from builders_client.aio.sender import AsyncSender
from builders_client.generated.bodies.webhooks import WebhookCreate, WebhookReplay, WebhookRotate, WebhookUpdate
from builders_client.generated.models.webhooks import (
    DeliveryDetailReply,
    DeliveryReply,
    DeliveryReplyPage,
    DeliveryRetried,
    EventReplyListing,
    FeedReply,
    WebhookReplayed,
    WebhookReply,
    WebhookReplyPage,
    WebhookSecretReply,
    WebhookWritten,
)
from builders_client.values import TimeLike


class AsyncWebhooks:
    """Webhook destinations, deliveries, and the catalog of events with their payloads."""

    def __init__(self, client: AsyncSender) -> None:
        self._client = client

    async def change(
        self,
        webhook_id: str,
        *,
        if_match: str | None = None,
        **body: Unpack[WebhookUpdate],
    ) -> WebhookWritten:
        """Change a webhook destination; omitted members do not change. Enabling it again resets its failures.

        Requires the scope `notifications:write`.

        Errors: `webhook_not_found`, `version_mismatch`.

        Args:
            webhook_id: Identifier of the destination.
            if_match: `ETag` of the version to change; 412 if another one is current.
        """
        return await self._client.send(
            "webhooks_change",
            WebhookWritten,
            path={"webhook_id": webhook_id},
            headers={"If-Match": if_match},
            body=body,
        )

    async def create(
        self,
        **body: Unpack[WebhookCreate],
    ) -> WebhookSecretReply:
        """Create a webhook destination. Only this response contains the generated secret.

        Requires the scope `notifications:write`.

        Errors: `webhook_limit`.
        """
        return await self._client.send("webhooks_create", WebhookSecretReply, body=body)

    async def delete(
        self,
        webhook_id: str,
        *,
        if_match: str | None = None,
    ) -> WebhookReply:
        """Delete a webhook destination and its pending deliveries; other deliveries remain readable.

        Requires the scope `notifications:write`.

        Errors: `webhook_not_found`, `version_mismatch`.

        Args:
            webhook_id: Identifier of the destination.
            if_match: `ETag` of the version to change; 412 if another one is current.
        """
        return await self._client.send(
            "webhooks_delete", WebhookReply, path={"webhook_id": webhook_id}, headers={"If-Match": if_match}
        )

    async def get(
        self,
        webhook_id: str,
    ) -> WebhookReply:
        """Read one webhook destination with its health.

        Requires the scope `notifications:read`.

        Errors: `webhook_not_found`.

        Args:
            webhook_id: Identifier of the destination.
        """
        return await self._client.send("webhooks_get", WebhookReply, path={"webhook_id": webhook_id})

    async def get_delivery(
        self,
        id: str,
    ) -> DeliveryDetailReply:
        """Read one delivery with its attempts and the exact text that is sent.

        Requires the scope `notifications:read`.

        Errors: `delivery_not_found`.

        Args:
            id: Identifier of the delivery.
        """
        return await self._client.send("webhooks_get_delivery", DeliveryDetailReply, path={"id": id})

    def list_deliveries(
        self,
        *,
        webhook_id: str | None = None,
        event: str | None = None,
        status: Literal["pending", "delivering", "succeeded", "failed", "cancelled"] | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        test: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[DeliveryReplyPage, DeliveryReply]:
        """List the account's deliveries, newest first; kept for 90 days.

        Requires the scope `notifications:read`.

        Args:
            webhook_id: Only deliveries to this destination, which may be deleted.
            event: Only deliveries of this event.
            status: Only deliveries with this status.
            since: Only events from this time on.
            until: Only events before this time.
            test: Only test sends; false: only others.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return AsyncPages(
            self._client,
            "webhooks_list_deliveries",
            DeliveryReplyPage,
            "items",
            query={
                "webhook_id": webhook_id,
                "event": event,
                "status": status,
                "since": since,
                "until": until,
                "test": test,
                "limit": limit,
                "cursor": cursor,
            },
        )

    def list_destinations(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[WebhookReplyPage, WebhookReply]:
        """List the account's webhook destinations with their health, newest first.

        Requires the scope `notifications:read`.

        Args:
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return AsyncPages(
            self._client,
            "webhooks_list_destinations",
            WebhookReplyPage,
            "items",
            query={"limit": limit, "cursor": cursor},
        )

    async def list_events(
        self,
    ) -> EventReplyListing:
        """List every event that a destination can select, with its schema and an example of a payload.

        Requires the scope `notifications:read`.
        """
        return await self._client.send("webhooks_list_events", EventReplyListing)

    async def read_events(
        self,
        *,
        types: Sequence[str] | None = None,
        since: TimeLike | None = None,
        wait: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> FeedReply:
        """Read the account's events, oldest first, as webhook destinations receive them; can wait for new ones.

        Requires the scope `notifications:read`.

        Errors: `cursor_expired`.

        Args:
            types: Only events of this type, or `area.*` for all of an area; can be repeated.
            since: Only events from this time on.
            wait: Seconds to wait for an event if there is none; 0 by default.
            limit: Items on a page; 50 by default.
            cursor: `resume_cursor` of the previous reply; it is valid for every filter.
        """
        return await self._client.send(
            "webhooks_read_events",
            FeedReply,
            query={"types": types, "since": since, "wait": wait, "limit": limit, "cursor": cursor},
        )

    async def replay(
        self,
        webhook_id: str,
        **body: Unpack[WebhookReplay],
    ) -> WebhookReplayed:
        """Resend the deliveries of a destination for events since a time.

        Requires the scope `notifications:write`.

        Errors: `webhook_not_found`, `webhook_disabled`.

        Args:
            webhook_id: Identifier of the destination.
        """
        return await self._client.send(
            "webhooks_replay", WebhookReplayed, path={"webhook_id": webhook_id}, body=body
        )

    async def retry_delivery(
        self,
        id: str,
    ) -> DeliveryRetried:
        """Retry one delivery immediately, with the same id and bytes; return the receiver's response.

        Requires the scope `notifications:write`.

        Errors: `delivery_not_found`, `delivery_in_flight`, `delivery_is_test`, `delivery_too_old`,
        `webhook_disabled`, `webhook_gone`.

        Args:
            id: Identifier of the delivery.
        """
        return await self._client.send("webhooks_retry_delivery", DeliveryRetried, path={"id": id})

    async def rotate_secret(
        self,
        webhook_id: str,
        **body: Unpack[WebhookRotate],
    ) -> WebhookSecretReply:
        """Replace the secret of a webhook destination; during the overlap both secrets sign.

        Requires the scope `notifications:write`.

        Errors: `webhook_not_found`, `rotation_in_progress`.

        Args:
            webhook_id: Identifier of the destination.
        """
        return await self._client.send(
            "webhooks_rotate_secret", WebhookSecretReply, path={"webhook_id": webhook_id}, body=body
        )

    async def send_sample(
        self,
        webhook_id: str,
        *,
        event: str | None = None,
    ) -> DeliveryRetried:
        """Send a signed sample, marked as a test, to a webhook destination; return the receiver's response.

        Requires the scope `notifications:write`.

        Errors: `webhook_not_found`, `delivery_in_flight`.

        Args:
            webhook_id: Identifier of the destination.
            event: Default: the first event that the destination subscribes to.
        """
        return await self._client.send(
            "webhooks_send_sample", DeliveryRetried, path={"webhook_id": webhook_id}, query={"event": event}
        )
