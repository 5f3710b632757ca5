"""Events that webhooks publishes."""

from dataclasses import fields
from typing import Annotated

from pydantic import BaseModel

from builders.kit.events.outbox import declare
from builders.kit.http.members import reply_members, with_members
from builders.kit.values.docs import doc
from builders.webhooks.records import DestinationFields


@with_members(reply_members(DestinationFields))
class WebhookData(BaseModel):
    """A destination, without its secret."""

    disabled_reason: Annotated[
        str | None, doc("Why it is disabled: `gone`, `failing` or `manual`; null while enabled.")
    ]


def webhook_data(destination: DestinationFields, disabled_reason: str | None) -> WebhookData:
    """Return the data of an event about a destination."""
    members = {each.name: getattr(destination, each.name) for each in fields(DestinationFields)}
    return WebhookData.model_validate(members | {"disabled_reason": disabled_reason})


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
