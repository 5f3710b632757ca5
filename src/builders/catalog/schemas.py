"""Bodies and replies of the catalog: domains, categories, names and funnel events."""

from collections.abc import Sequence
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AwareDatetime, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from builders.catalog.records import (
    Category,
    EventError,
    EventKind,
    EventResult,
    FunnelEvent,
    Receipt,
)
from builders.kit.http.bodies import Body, Reply, WriteReply
from builders.kit.values.docs import doc


class CategoriesReply(Reply):
    """All categories, in their display order."""

    items: Annotated[list[Category], doc("The categories, in their display order.")]


RecordedId = Annotated[
    UUID | None, doc("Identifier of the event, for a repeat of the first one; null for a batch or an error.")
]
ClientId = Annotated[str, Field(min_length=8, max_length=64)]
UtmValue = Annotated[str, Field(max_length=100)]


class Utm(Body):
    """The campaign parameters of the link that a visitor followed."""

    source: Annotated[
        UtmValue | None, doc("`utm_source` of the page: the site or newsletter that sent the visitor.")
    ] = None
    medium: Annotated[UtmValue | None, doc("`utm_medium`: the kind of channel, such as `email` or `cpc`.")] = None
    campaign: Annotated[UtmValue | None, doc("`utm_campaign`: the campaign.")] = None
    term: Annotated[UtmValue | None, doc("`utm_term`: the search term that was paid for.")] = None
    content: Annotated[UtmValue | None, doc("`utm_content`: which link or advertisement was followed.")] = None


class FunnelEventBody(Body):
    """One step of a visitor."""

    kind: Annotated[EventKind, doc("Step of the funnel. Required, unless `events` is sent.")]
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
        doc("A random identifier of your choice; for a week, an event with the same identifier is a repeat."),
    ] = None
    session_id: Annotated[ClientId | None, doc("Random identifier of the session, not of a user.")] = None
    occurred_at: Annotated[
        AwareDatetime | None, doc("Time of the event; limited to the last 24 hours and the next 5 minutes.")
    ] = None
    result: Annotated[EventResult | None, doc("Result of a `check` or a `claim`.")] = None
    referrer: Annotated[
        str | None, Field(max_length=2048, description="URL of the referring page; only its host is stored.")
    ] = None
    utm: Annotated[Utm | None, doc("Campaign parameters of the visit.")] = None
    metadata: Annotated[
        dict[Annotated[str, Field(max_length=40)], Annotated[str, Field(max_length=500)]] | None,
        Field(max_length=20, description="Your own pairs of text, at most 20."),
    ] = None

    def record(self) -> FunnelEvent:
        """Return the record."""
        members = {name: getattr(self, name) for name in FunnelEvent._fields}
        utm = {} if self.utm is None else self.utm.model_dump(include=set(Utm.model_fields), exclude_none=True)
        return FunnelEvent(**members | {"utm": utm, "metadata": self.metadata or {}})


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

    kind: Annotated[EventKind | None, doc("Step of the funnel; absent if `events` is present.")] = None  # type: ignore[assignment] # absent with `events`
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


class ReceiptReply(Reply):
    """The result of one event of a batch."""

    id: RecordedId
    accepted: Annotated[bool, doc("Whether the event is recorded.")]
    duplicate: Annotated[bool, doc("Whether it is a repeat of a recorded event; it counts once.")]
    error: Annotated[EventError | None, doc("The error of an event that was not accepted; null otherwise.")]


class FunnelReply(WriteReply):
    """The result of an event, or of a batch."""

    id: RecordedId
    accepted: Annotated[bool, doc("Whether all events are recorded, now or before.")]
    duplicate: Annotated[bool, doc("Whether all events are repeats, which are not counted again.")]
    results: Annotated[
        list[ReceiptReply] | None, doc("Result of each event of a batch, in order; null otherwise.")
    ]

    @classmethod
    def of(cls, results: Sequence[Receipt | EventError], *, is_batch: bool) -> Self:
        """Return the reply to one recorded event, or to a batch."""
        receipts = [each for each in results if isinstance(each, Receipt)]
        if not is_batch:
            [one] = receipts
            # With `warnings`, because pydantic makes a deep copy of a default.
            return cls(id=one.id, accepted=True, duplicate=one.duplicate, results=None, warnings=[])
        is_whole = len(receipts) == len(results)
        lines = [
            ReceiptReply(id=each.id, accepted=True, duplicate=each.duplicate, error=None)
            if isinstance(each, Receipt)
            else ReceiptReply(id=None, accepted=False, duplicate=False, error=each)
            for each in results
        ]
        is_repeat = is_whole and all(each.duplicate for each in receipts)
        return cls(id=None, accepted=is_whole, duplicate=is_repeat, results=lines)
