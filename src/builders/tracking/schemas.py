"""Wire format of tracking."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from builders.kit.http.bodies import Reply, by_example


class LinkReply(Reply):
    """The target of a tracked link, for clients other than browsers."""

    model_config = ConfigDict(json_schema_extra=by_example({"target": "https://builders.example/renewals"}))

    target: Annotated[str, Field(description="Target of the link.")]


class CountReply(Reply):
    """Number of opens or clicks, by people and by machines."""

    people: Annotated[int, Field(description="Events that are not attributed to a machine.")]
    machines: Annotated[int, Field(description="Scanners, previews, prefetching proxies and programs.")]
    proxied: Annotated[
        int,
        Field(
            description="Machine events of the image proxies of Gmail and Yahoo, which mostly act for a person."
        ),
    ]
    first_at: Annotated[datetime | None, Field(description="Time of the first event of a person.")]
    last_at: Annotated[datetime | None, Field(description="Time of the latest event of a person.")]


_COUNTED = "the first 1,000 opens and clicks together count."
_NONE: JsonDict = {"people": 0, "machines": 0, "proxied": 0, "first_at": None, "last_at": None}


class MessageReply(Reply):
    """A notice that was emailed for the account."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {
                "id": "0193a1b2-0000-7000-8000-0000000000a1",
                "template": "renewal_notice",
                "recipient": "a***@example.net",
                "status": "sent",
                "created_at": "2026-01-05T09:30:00Z",
                "sent_at": "2026-01-05T09:30:01Z",
                "opens": {
                    "people": 2,
                    "machines": 1,
                    "proxied": 0,
                    "first_at": "2026-01-05T10:02:11Z",
                    "last_at": "2026-01-06T08:15:40Z",
                },
                "clicks": _NONE,
            }
        )
    )

    id: Annotated[UUID, Field(description="Identifier of the message.")]
    template: Annotated[str, Field(description="Email template of the message.")]
    recipient: Annotated[str, Field(description="Address of the recipient, masked.")]
    status: Annotated[
        Literal["queued", "deferred", "sent", "bounced", "expired", "suppressed"],
        Field(description="Delivery state of the message."),
    ]
    created_at: Annotated[datetime, Field(description="When the message was queued.")]
    sent_at: Annotated[datetime | None, Field(description="When the mail server accepted it; null before.")]
    opens: Annotated[CountReply, Field(description=f"Opens of the message; {_COUNTED}")]
    clicks: Annotated[CountReply, Field(description=f"Clicks on links of the message; {_COUNTED}")]
