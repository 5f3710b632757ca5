"""What goes over the wire at tracking."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from builders.kit.http.bodies import Reply, by_example


class LinkReply(Reply):
    """Where a tracked link leads, for whoever is no browser."""

    model_config = ConfigDict(json_schema_extra=by_example({"target": "https://builders.example/renewals"}))

    target: Annotated[str, Field(description="Address that the link leads to.")]


class CountReply(Reply):
    """How often, by whom."""

    people: Annotated[int, Field(description="All that does not look like a machine.")]
    machines: Annotated[int, Field(description="Scanners, previews, proxies that load ahead, programs.")]
    proxied: Annotated[
        int, Field(description="Of the machines, image proxies of Gmail and Yahoo: mostly there was a reader.")
    ]
    first_at: Annotated[datetime | None, Field(description="By a person.")]
    last_at: Annotated[datetime | None, Field(description="By a person.")]


_NONE: JsonDict = {"people": 0, "machines": 0, "proxied": 0, "first_at": None, "last_at": None}


class MessageReply(Reply):
    """A notice that was mailed for the account."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {
                "id": "0193a1b2-0000-7000-8000-0000000000a1",
                "letter": "renewal_notice",
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
    letter: Annotated[str, Field(description="Its kind.")]
    recipient: Annotated[str, Field(description="Address of the recipient, masked.")]
    status: Annotated[
        Literal["queued", "deferred", "sent", "bounced", "expired", "suppressed"],
        Field(description="How far the delivery of the message is."),
    ]
    created_at: Annotated[datetime, Field(description="When the message was queued.")]
    sent_at: Annotated[datetime | None, Field(description="When the mail server accepted it; null before.")]
    opens: Annotated[CountReply, Field(description="How often people opened it, without machines.")]
    clicks: Annotated[CountReply, Field(description="How often people followed a link in it, without machines.")]
