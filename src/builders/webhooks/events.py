"""Events that webhooks publishes."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from builders.kit.events.outbox import declare
from builders.webhooks.records import DestinationFields


class WebhookData(BaseModel):
    """A destination, without its secret."""

    id: Annotated[UUID, Field(description="Identifier of the destination.")]
    label: Annotated[str, Field(description="Your name for the destination.")]
    url: Annotated[str, Field(description="Address that events are sent to.")]
    enabled: Annotated[bool, Field(description="Whether it receives events.")]
    events: Annotated[list[str], Field(description="Names of events, `area.*`, or `*` for all.")]
    disabled_reason: Annotated[
        str | None, Field(description="Why it is disabled: `gone`, `failing` or `manual`; null while enabled.")
    ]


def webhook_data(destination: DestinationFields, disabled_reason: str | None) -> WebhookData:
    """Return the data of an event about a destination."""
    return WebhookData(
        id=destination.id,
        label=destination.label,
        url=destination.url,
        enabled=destination.enabled,
        events=list(destination.events),
        disabled_reason=disabled_reason,
    )


WEBHOOK_CREATED = declare(
    name="webhook.created", description="A webhook destination was created.", data=WebhookData
)
WEBHOOK_UPDATED = declare(
    name="webhook.updated", description="A webhook destination was changed.", data=WebhookData
)
WEBHOOK_DELETED = declare(
    name="webhook.deleted", description="A webhook destination was deleted.", data=WebhookData
)
WEBHOOK_DISABLED = declare(
    name="webhook.disabled",
    description="A webhook destination was disabled by a member, a response 410, or repeated failures.",
    data=WebhookData,
)
