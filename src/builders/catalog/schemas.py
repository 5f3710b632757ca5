"""Bodies of the catalog on the wire."""

from typing import Annotated, Any

from pydantic import AwareDatetime, ConfigDict, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from builders.catalog import examples
from builders.catalog.funnel_events import EventError, EventKind, EventResult, FunnelEvent
from builders.kit.http.bodies import Body, by_example

ClientId = Annotated[str, Field(min_length=8, max_length=64)]
UtmValue = Annotated[str, Field(max_length=100)]


class Utm(Body):
    """Where a visitor comes from, as campaigns mark their links."""

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
        str | None, Field(max_length=253, description="In either form; required for `check` and `claim`.")
    ] = None
    local_part: Annotated[str | None, Field(max_length=64, description="Required for `claim`.")] = None
    category: Annotated[
        str | None, Field(max_length=40, description="Slug of the category that the visitor was in.")
    ] = None
    event_id: Annotated[
        ClientId | None, Field(description="Your own, random: the same again is known as a repeat for a week.")
    ] = None
    session_id: Annotated[ClientId | None, Field(description="Random, of no user.")] = None
    occurred_at: Annotated[
        AwareDatetime | None, Field(description="Taken as at most 24 hours old, and 5 minutes ahead.")
    ] = None
    result: Annotated[EventResult | None, Field(description="How a `check` or a `claim` ended.")] = None
    referrer: Annotated[str | None, Field(max_length=2048, description="Its host is kept.")] = None
    utm: Annotated[Utm | None, Field(description="Campaign parameters of the visit.")] = None
    metadata: Annotated[
        dict[Annotated[str, Field(max_length=40)], Annotated[str, Field(max_length=500)]] | None,
        Field(max_length=20, description="Your own pairs of text, 20 at most."),
    ] = None

    def record(self) -> FunnelEvent:
        """What it says."""
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
    """An event of a batch; a bad one is said of by itself, and does not stop the others."""
    try:
        event: FunnelEventBody = handler(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return EventError(field=".".join(map(str, first["loc"])), code=first["type"], message=first["msg"])
    return event


class CatalogFunnelEventRequest(FunnelEventBody):
    """One event, or up to 50 in `events`, which then go without the other members."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.EVENT, examples.EVENTS))

    kind: Annotated[EventKind | None, Field(description="Step of the funnel; left out when `events` is sent.")] = (
        None  # type: ignore[assignment] # absent with `events`
    )
    events: Annotated[
        list[Annotated[FunnelEventBody, WrapValidator(_event_or_error)]] | None,
        Field(
            min_length=1,
            max_length=50,
            description="A batch of 1 to 50 events. An invalid one is reported in `results` and does not stop the "
            "others.",
        ),
    ] = None

    def records(self) -> list[FunnelEvent | EventError]:
        """The events, one when it is no batch."""
        if self.events is None:
            return [self.record()]
        return [each if isinstance(each, EventError) else each.record() for each in self.events]
