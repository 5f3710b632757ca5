"""Events that webhooks publishes."""

from typing import Annotated

from pydantic import BaseModel

from builders.kit.events.outbox import declare
from builders.kit.events.payloads import event_of, values_of
from builders.kit.values.docs import doc
from builders.webhooks.records import DestinationFields


@event_of(DestinationFields, "disabled_reason", "id", "label", "url", "enabled", "events")
class WebhookData(BaseModel):
    """A destination, without its secret."""

    disabled_reason: Annotated[
        str | None, doc("Why it is disabled: `gone`, `failing` or `manual`; null while enabled.")
    ]


def webhook_data(destination: DestinationFields, disabled_reason: str | None) -> WebhookData:
    """Return the data of an event about a destination."""
    return WebhookData(**{**values_of(destination, WebhookData), "disabled_reason": disabled_reason})


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
