# Written by script/clients.
"""What callers send: catalog."""

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypedDict

from builders_client.values import TimeLike


class Utm(TypedDict):
    """The campaign parameters of the link that a visitor followed."""

    source: NotRequired[str | None]
    """`utm_source` of the page: the site or newsletter that sent the visitor."""
    medium: NotRequired[str | None]
    """`utm_medium`: the kind of channel, such as `email` or `cpc`."""
    campaign: NotRequired[str | None]
    """`utm_campaign`: the campaign."""
    term: NotRequired[str | None]
    """`utm_term`: the search term that was paid for."""
    content: NotRequired[str | None]
    """`utm_content`: which link or advertisement was followed."""


class FunnelEventBody(TypedDict):
    """One step of a visitor."""

    kind: Literal["view", "check", "claim"]
    """Step of the funnel. Required, unless `events` is sent."""
    domain: NotRequired[str | None]
    """Domain in Unicode or as an A-label; required for `check` and `claim`."""
    local_part: NotRequired[str | None]
    """Local part; required for `claim`."""
    category: NotRequired[str | None]
    """Slug of the category that the page shows."""
    event_id: NotRequired[str | None]
    """A random identifier of your choice; for a week, an event with the same identifier is a repeat."""
    session_id: NotRequired[str | None]
    """Random identifier of the session, not of a user."""
    occurred_at: NotRequired[TimeLike | None]
    """Time of the event; limited to the last 24 hours and the next 5 minutes."""
    result: NotRequired[Literal["available", "unavailable", "completed", "abandoned"] | None]
    """Result of a `check` or a `claim`."""
    referrer: NotRequired[str | None]
    """URL of the referring page; only its host is stored."""
    utm: NotRequired[Utm | None]
    """Campaign parameters of the visit."""
    metadata: NotRequired[Mapping[str, str] | None]
    """Your own pairs of text, at most 20."""


class CatalogFunnelEventRequest(TypedDict):
    """One event, or up to 50 in `events` without the other members."""

    kind: NotRequired[Literal["view", "check", "claim"] | None]
    """Step of the funnel; absent if `events` is present."""
    domain: NotRequired[str | None]
    """Domain in Unicode or as an A-label; required for `check` and `claim`."""
    local_part: NotRequired[str | None]
    """Local part; required for `claim`."""
    category: NotRequired[str | None]
    """Slug of the category that the page shows."""
    event_id: NotRequired[str | None]
    """A random identifier of your choice; for a week, an event with the same identifier is a repeat."""
    session_id: NotRequired[str | None]
    """Random identifier of the session, not of a user."""
    occurred_at: NotRequired[TimeLike | None]
    """Time of the event; limited to the last 24 hours and the next 5 minutes."""
    result: NotRequired[Literal["available", "unavailable", "completed", "abandoned"] | None]
    """Result of a `check` or a `claim`."""
    referrer: NotRequired[str | None]
    """URL of the referring page; only its host is stored."""
    utm: NotRequired[Utm | None]
    """Campaign parameters of the visit."""
    metadata: NotRequired[Mapping[str, str] | None]
    """Your own pairs of text, at most 20."""
    events: NotRequired[Sequence[FunnelEventBody] | None]
    """A batch of 1 to 50 events. An invalid event is reported in `results` and does not affect the others."""
