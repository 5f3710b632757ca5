"""The event feed on the wire."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from builders.kit.http.bodies import Reply, by_example

_EVENT: JsonDict = {
    "id": "0193a1b2-0000-7000-8000-00000000000e",
    "type": "webhook.deleted",
    "timestamp": "2026-01-05T09:30:00Z",
    "account_id": "0193a1b2-0000-7000-8000-00000000000a",
    "livemode": True,
    "data": {"id": "0193a1b2-0000-7000-8000-000000000005", "label": "main"},
}


class FeedEvent(Reply):
    """An event as a webhook destination receives it: the same members, the same id."""

    model_config = ConfigDict(json_schema_extra=by_example(_EVENT))

    id: Annotated[UUID, Field(description="The header `webhook-id` of a delivery; drop what you have handled.")]
    type: Annotated[str, Field(description="The name of the event, such as `alias.created`.")]
    timestamp: Annotated[datetime, Field(description="When it happened.")]
    account_id: Annotated[UUID, Field(description="The account, also for an event of its sandbox.")]
    livemode: Annotated[bool, Field(description="False for an event of the sandbox.")]
    data: Annotated[dict[str, Any], Field(description="What happened, as the schema of the event says.")]


class FeedReply(Reply):
    """Events of the account in the order of the feed, and where to go on."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {
                "items": [_EVENT],
                "next_cursor": None,
                "resume_cursor": "AQ9vYx3TqGd0bH1kZ2p4c1V3d1hNWzE3NjM2OTY1OTM5OTRd",
                "available_since": "2025-10-07T09:30:00Z",
            }
        )
    )

    items: Annotated[list[FeedEvent], Field(description="Oldest first; empty when there is nothing new.")]
    next_cursor: Annotated[
        str | None, Field(description="Where the next page begins; null when all events so far are read.")
    ]
    resume_cursor: Annotated[
        str, Field(description="Always set: store it once the items are handled, and ask with it from then on.")
    ]
    available_since: Annotated[datetime, Field(description="Events are kept from then on.")]
