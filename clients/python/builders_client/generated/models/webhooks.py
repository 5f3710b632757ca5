# Written by script/clients.

from typing import Any

from pydantic import AwareDatetime

from builders_client.values import Model

from .shared import UnknownField


class AttemptReply(Model):
    """One request to the receiver."""

    n: int
    """Number of the attempt, from 1."""
    started_at: AwareDatetime
    """When the request was sent."""
    status: int | None
    """HTTP status of the response; null without a response."""
    error: str | None
    """Class of the failure; null for a 2xx response."""
    response_excerpt: str | None
    """Beginning of the response body."""
    duration_ms: int | None
    """Duration in milliseconds; null without a connection."""


class DeliveryDetailReply(Model):
    """A delivery with its attempts and the sent text."""

    id: str
    """Identifier of the delivery."""
    webhook_id: str
    """The destination, which may have been deleted since."""
    livemode: bool
    """False for data of the sandbox, which a test key works on."""
    event_id: str
    """`webhook-id` in each attempt, and `id` in the payload."""
    event: str
    """Name of the event."""
    status: str
    """Status; a `pending` delivery is attempted at `next_attempt_at`. Known values: pending, delivering, succeeded, failed, cancelled."""
    trigger: str
    """Cause of the newest attempts. Known values: event, manual, test, replay."""
    attempt_count: int
    """Attempts so far."""
    next_attempt_at: AwareDatetime | None
    """Time of the next attempt; null if there is none."""
    last_attempt_at: AwareDatetime | None
    """Time of the last attempt; null before the first."""
    last_status: int | None
    """HTTP status of the newest response; null without one."""
    last_error: str | None
    """Class of the newest failure; null after a success."""
    succeeded_at: AwareDatetime | None
    """When the receiver accepted the event; null before."""
    simulated: bool
    """Whether the event was simulated."""
    created_at: AwareDatetime
    """When it was created."""
    attempts: list[AttemptReply]
    """The newest 100 attempts that are kept, by default for 30 days, oldest first."""
    payload: str | None
    """The exact text that is signed and sent; null after its retention."""


class DeliveryReply(Model):
    """The delivery of an event to a destination."""

    id: str
    """Identifier of the delivery."""
    webhook_id: str
    """The destination, which may have been deleted since."""
    livemode: bool
    """False for data of the sandbox, which a test key works on."""
    event_id: str
    """`webhook-id` in each attempt, and `id` in the payload."""
    event: str
    """Name of the event."""
    status: str
    """Status; a `pending` delivery is attempted at `next_attempt_at`. Known values: pending, delivering, succeeded, failed, cancelled."""
    trigger: str
    """Cause of the newest attempts. Known values: event, manual, test, replay."""
    attempt_count: int
    """Attempts so far."""
    next_attempt_at: AwareDatetime | None
    """Time of the next attempt; null if there is none."""
    last_attempt_at: AwareDatetime | None
    """Time of the last attempt; null before the first."""
    last_status: int | None
    """HTTP status of the newest response; null without one."""
    last_error: str | None
    """Class of the newest failure; null after a success."""
    succeeded_at: AwareDatetime | None
    """When the receiver accepted the event; null before."""
    simulated: bool
    """Whether the event was simulated."""
    created_at: AwareDatetime
    """When it was created."""


class DeliveryReplyPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[DeliveryReply]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class DeliveryRetried(Model):
    """A delivery after a manual attempt, with the attempt."""

    id: str
    """Identifier of the delivery."""
    webhook_id: str
    """The destination, which may have been deleted since."""
    livemode: bool
    """False for data of the sandbox, which a test key works on."""
    event_id: str
    """`webhook-id` in each attempt, and `id` in the payload."""
    event: str
    """Name of the event."""
    status: str
    """Status; a `pending` delivery is attempted at `next_attempt_at`. Known values: pending, delivering, succeeded, failed, cancelled."""
    trigger: str
    """Cause of the newest attempts. Known values: event, manual, test, replay."""
    attempt_count: int
    """Attempts so far."""
    next_attempt_at: AwareDatetime | None
    """Time of the next attempt; null if there is none."""
    last_attempt_at: AwareDatetime | None
    """Time of the last attempt; null before the first."""
    last_status: int | None
    """HTTP status of the newest response; null without one."""
    last_error: str | None
    """Class of the newest failure; null after a success."""
    succeeded_at: AwareDatetime | None
    """When the receiver accepted the event; null before."""
    simulated: bool
    """Whether the event was simulated."""
    created_at: AwareDatetime
    """When it was created."""
    attempt: AttemptReply
    """The attempt that was just made."""


class EventReply(Model):
    """An event that a destination can subscribe to."""

    name: str
    """Name of the event, for `events` of a destination."""
    area: str
    """Part of the name before the first dot; `area.*` subscribes to all of it."""
    version: int
    """Version of the event's data; grows with an incompatible change."""
    description: str
    """When the event happens."""
    data_schema: dict[str, Any]
    """The JSON schema of the payload's `data`."""
    example: dict[str, Any]
    """An example payload."""


class EventReplyListing(Model):
    """A short list that needs no pages."""

    items: list[EventReply]
    """All items."""


class FeedEvent(Model):
    """An event as a webhook destination receives it: the same members, the same id."""

    id: str
    """Identifier, also in the header `webhook-id`; ignore an event that you have processed."""
    type: str
    """The name of the event, such as `alias.created`."""
    timestamp: AwareDatetime
    """Time of the event."""
    account_id: str
    """The account, also for an event of its sandbox."""
    livemode: bool
    """False for an event of the sandbox."""
    data: dict[str, Any]
    """Data of the event, by its schema."""


class FeedReply(Model):
    """Events of the account in the order of the feed, with the cursor to continue."""

    items: list[FeedEvent]
    """Events, the oldest first; empty without new events."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""
    resume_cursor: str
    """Always set: store it after you process the items, and send it as `cursor` next time."""
    available_since: AwareDatetime
    """Time of the oldest event that is kept."""


class LastFailure(Model):
    """The last failed attempt at a destination."""

    at: AwareDatetime
    """When the attempt failed."""
    status: int | None
    """HTTP status of the response; null without a response."""
    error: str
    """Class of the failure, such as `http_status` or `timeout`."""


class WebhookReplayed(Model):
    """Number of deliveries that will be sent again."""

    count: int
    """Number of deliveries that are sent again."""
    next_cursor: str | None
    """Send it as `cursor` to continue; null at the end."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    more: bool
    """Whether more deliveries remain; call again with the cursor."""


class WebhookReply(Model):
    """A webhook destination with its health."""

    id: str
    """Identifier of the destination."""
    label: str
    """Your name for the destination."""
    url: str
    """Public http or https address that events are sent to."""
    enabled: bool
    """Whether it receives events."""
    events: list[str]
    """Names of events, `area.*`, or `*` for all."""
    livemode: bool
    """False for data of the sandbox, which a test key works on."""
    disabled_reason: str | None
    """`gone`: the receiver answered 410; `failing`: attempts failed for days; `manual`: by you. Known values: gone, failing, manual."""
    disabled_at: AwareDatetime | None
    """When it was disabled; null while enabled."""
    failing_since: AwareDatetime | None
    """Time of the first failure since the last success; null while deliveries succeed."""
    last_success_at: AwareDatetime | None
    """When a delivery last succeeded; null: never."""
    pending: int
    """Deliveries that are not finished."""
    success_rate_24h: float | None
    """Share of successful attempts of the last day, of at most 1,000; null without attempts."""
    secret_hint: str
    """The last characters of the signing secret; empty for a secret of fewer than 32 characters."""
    old_secret_until: AwareDatetime | None
    """Time until which the previous secret also signs."""
    version: int
    """Increases by one with each change; part of the `ETag`."""
    created_at: AwareDatetime
    """When it was created."""
    updated_at: AwareDatetime
    """When it last changed."""
    status: str
    """`failing`: enabled, and every attempt since `failing_since` failed. Known values: enabled, disabled, failing."""
    last_failure: LastFailure | None
    """The newest failed attempt; null without one."""


class WebhookReplyPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[WebhookReply]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class WebhookSecretReply(Model):
    """A webhook destination with its new secret. Store it at once: it is never shown again."""

    id: str
    """Identifier of the destination."""
    label: str
    """Your name for the destination."""
    url: str
    """Public http or https address that events are sent to."""
    enabled: bool
    """Whether it receives events."""
    events: list[str]
    """Names of events, `area.*`, or `*` for all."""
    livemode: bool
    """False for data of the sandbox, which a test key works on."""
    disabled_reason: str | None
    """`gone`: the receiver answered 410; `failing`: attempts failed for days; `manual`: by you. Known values: gone, failing, manual."""
    disabled_at: AwareDatetime | None
    """When it was disabled; null while enabled."""
    failing_since: AwareDatetime | None
    """Time of the first failure since the last success; null while deliveries succeed."""
    last_success_at: AwareDatetime | None
    """When a delivery last succeeded; null: never."""
    pending: int
    """Deliveries that are not finished."""
    success_rate_24h: float | None
    """Share of successful attempts of the last day, of at most 1,000; null without attempts."""
    secret_hint: str
    """The last characters of the signing secret; empty for a secret of fewer than 32 characters."""
    old_secret_until: AwareDatetime | None
    """Time until which the previous secret also signs."""
    version: int
    """Increases by one with each change; part of the `ETag`."""
    created_at: AwareDatetime
    """When it was created."""
    updated_at: AwareDatetime
    """When it last changed."""
    signing_secret: str | None = None
    """The generated secret; null if you set it. An idempotent repetition omits it."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    status: str
    """`failing`: enabled, and every attempt since `failing_since` failed. Known values: enabled, disabled, failing."""
    last_failure: LastFailure | None
    """The newest failed attempt; null without one."""


class WebhookWritten(Model):
    """A webhook destination with its health."""

    id: str
    """Identifier of the destination."""
    label: str
    """Your name for the destination."""
    url: str
    """Public http or https address that events are sent to."""
    enabled: bool
    """Whether it receives events."""
    events: list[str]
    """Names of events, `area.*`, or `*` for all."""
    livemode: bool
    """False for data of the sandbox, which a test key works on."""
    disabled_reason: str | None
    """`gone`: the receiver answered 410; `failing`: attempts failed for days; `manual`: by you. Known values: gone, failing, manual."""
    disabled_at: AwareDatetime | None
    """When it was disabled; null while enabled."""
    failing_since: AwareDatetime | None
    """Time of the first failure since the last success; null while deliveries succeed."""
    last_success_at: AwareDatetime | None
    """When a delivery last succeeded; null: never."""
    pending: int
    """Deliveries that are not finished."""
    success_rate_24h: float | None
    """Share of successful attempts of the last day, of at most 1,000; null without attempts."""
    secret_hint: str
    """The last characters of the signing secret; empty for a secret of fewer than 32 characters."""
    old_secret_until: AwareDatetime | None
    """Time until which the previous secret also signs."""
    version: int
    """Increases by one with each change; part of the `ETag`."""
    created_at: AwareDatetime
    """When it was created."""
    updated_at: AwareDatetime
    """When it last changed."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    status: str
    """`failing`: enabled, and every attempt since `failing_since` failed. Known values: enabled, disabled, failing."""
    last_failure: LastFailure | None
    """The newest failed attempt; null without one."""
