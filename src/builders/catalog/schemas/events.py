"""Bodies and replies of funnel events."""

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from pydantic import AwareDatetime, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from builders.catalog.funnel_events import EventError, EventKind, EventResult, FunnelEvent, Receipt
from builders.kit.http.bodies import Body, Reply, WriteReply

RecordedId = Annotated[
    UUID | None,
    Field(description="Identifier of the event, for a repeat of the first one; null for a batch or an error."),
]
ClientId = Annotated[str, Field(min_length=8, max_length=64)]
UtmValue = Annotated[str, Field(max_length=100)]


class Utm(Body):
    """The campaign parameters of the link that a visitor followed."""

    source: Annotated[
        UtmValue | None,
        Field(description="`utm_source` of the page: the site or newsletter that sent the visitor."),
    ] = None
    medium: Annotated[
        UtmValue | None, Field(description="`utm_medium`: the kind of channel, such as `email` or `cpc`.")
    ] = None
    campaign: Annotated[UtmValue | None, Field(description="`utm_campaign`: the campaign.")] = None
    term: Annotated[UtmValue | None, Field(description="`utm_term`: the search term that was paid for.")] = None
    content: Annotated[
        UtmValue | None, Field(description="`utm_content`: which link or advertisement was followed.")
    ] = None


class FunnelEventBody(Body):
    """One step of a visitor."""

    kind: Annotated[EventKind, Field(description="Step of the funnel. Required, unless `events` is sent.")]
    domain: Annotated[
        str | None,
        Field(max_length=253, description="Domain in Unicode or as an A-label; required for `check` and `claim`."),
    ] = None
    local_part: Annotated[str | None, Field(max_length=64, description="Local part; required for `claim`.")] = None
    category: Annotated[
        str | None, Field(max_length=40, description="Slug of the category that the page shows.")
    ] = None
    event_id: Annotated[
        ClientId | None,
        Field(
            description=(
                "A random identifier of your choice; for a week, an event with the same identifier is a repeat."
            )
        ),
    ] = None
    session_id: Annotated[
        ClientId | None, Field(description="Random identifier of the session, not of a user.")
    ] = None
    occurred_at: Annotated[
        AwareDatetime | None,
        Field(description="Time of the event; limited to the last 24 hours and the next 5 minutes."),
    ] = None
    result: Annotated[EventResult | None, Field(description="Result of a `check` or a `claim`.")] = None
    referrer: Annotated[
        str | None, Field(max_length=2048, description="URL of the referring page; only its host is stored.")
    ] = None
    utm: Annotated[Utm | None, Field(description="Campaign parameters of the visit.")] = None
    metadata: Annotated[
        dict[Annotated[str, Field(max_length=40)], Annotated[str, Field(max_length=500)]] | None,
        Field(max_length=20, description="Your own pairs of text, at most 20."),
    ] = None

    def record(self) -> FunnelEvent:
        """Return the record."""
        utm = {} if self.utm is None else self.utm.model_dump(include=set(Utm.model_fields), exclude_none=True)
        return FunnelEvent(
            kind=self.kind,
            domain=self.domain,
            local_part=self.local_part,
            category=self.category,
            event_id=self.event_id,
            session_id=self.session_id,
            occurred_at=self.occurred_at,
            result=self.result,
            referrer=self.referrer,
            utm=utm,
            metadata=self.metadata or {},
        )


def _event_or_error(
    value: Any, handler: ValidatorFunctionWrapHandler
) -> FunnelEventBody | EventError:  # of any JSON
    """Return an event of a batch, or the error of an invalid one, which does not affect the others."""
    try:
        event: FunnelEventBody = handler(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return EventError(field=".".join(map(str, first["loc"])), code=first["type"], message=first["msg"])
    return event


class CatalogFunnelEventRequest(FunnelEventBody):
    """One event, or up to 50 in `events` without the other members."""

    kind: Annotated[EventKind | None, Field(description="Step of the funnel; absent if `events` is present.")] = (
        None  # type: ignore[assignment] # absent with `events`
    )
    events: Annotated[
        list[Annotated[FunnelEventBody, WrapValidator(_event_or_error)]] | None,
        Field(
            min_length=1,
            max_length=50,
            description=(
                "A batch of 1 to 50 events. An invalid event is reported in `results` and does not affect the "
                "others."
            ),
        ),
    ] = None

    def records(self) -> list[FunnelEvent | EventError]:
        """Return the events of the batch, or the single event."""
        if self.events is None:
            return [self.record()]
        return [each if isinstance(each, EventError) else each.record() for each in self.events]


class FlawReply(Reply):
    """The error of an event."""

    field: Annotated[str, Field(description="Path of the invalid member.")]
    code: Annotated[str, Field(description="Stable name of the broken rule, as `type` in a 422.")]
    message: Annotated[str, Field(description="The error as a sentence.")]


class ReceiptReply(Reply):
    """The result of one event of a batch."""

    id: RecordedId
    accepted: Annotated[bool, Field(description="Whether the event is recorded.")]
    duplicate: Annotated[bool, Field(description="Whether it is a repeat of a recorded event; it counts once.")]
    error: Annotated[
        FlawReply | None, Field(description="The error of an event that was not accepted; null otherwise.")
    ]


class FunnelReply(WriteReply):
    """The result of an event, or of a batch."""

    id: RecordedId
    accepted: Annotated[bool, Field(description="Whether all events are recorded, now or before.")]
    duplicate: Annotated[bool, Field(description="Whether all events are repeats, which are not counted again.")]
    results: Annotated[
        list[ReceiptReply] | None, Field(description="Result of each event of a batch, in order; null otherwise.")
    ]


def funnel_reply(results: Sequence[Receipt | EventError], *, is_batch: bool) -> FunnelReply:
    """Return the reply to one recorded event, or to a batch."""
    receipts = [each for each in results if isinstance(each, Receipt)]
    if not is_batch:
        [one] = receipts
        # With `warnings`, because pydantic makes a deep copy of a default.
        return FunnelReply(id=one.id, accepted=True, duplicate=one.duplicate, results=None, warnings=[])
    return FunnelReply(
        id=None,
        accepted=len(receipts) == len(results),
        duplicate=len(receipts) == len(results) and all(each.duplicate for each in receipts),
        results=list(map(_receipt_reply, results)),
    )


def _receipt_reply(result: Receipt | EventError) -> ReceiptReply:
    if isinstance(result, Receipt):
        return ReceiptReply(id=result.id, accepted=True, duplicate=result.duplicate, error=None)
    return ReceiptReply(id=None, accepted=False, duplicate=False, error=FlawReply.model_validate(result))
