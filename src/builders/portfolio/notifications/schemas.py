"""Request and reply models of a portfolio's notifications."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import or_
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt

from builders.kit.http.bodies import (
    MAX_WARNINGS,
    Body,
    PatchBody,
    Reply,
    UnknownField,
    WriteReply,
    unknown_fields,
)
from builders.kit.http.members import form_of
from builders.kit.values import domain_names, texts
from builders.kit.values.docs import doc
from builders.kit.values.resources import resource
from builders.kit.values.suggestions import find_similar
from builders.kit.values.texts import checked
from builders.portfolio.notifications.event_kinds import EVENT_KINDS
from builders.portfolio.notifications.records import (
    MAX_DAYS,
    MIN_DAYS,
    ChannelList,
    ChannelPreference,
    Channels,
    CostAlert,
    Digest,
    Expiry,
    OwnPreferences,
    Preferences,
    QuietHours,
    Samples,
    Suppression,
    Topic,
)
from builders.webhooks.records import AttemptedDelivery, CatalogEvent

B = TypeVar("B", bound=Body)
MAX_MARKED = 500
MAX_MUTED = 1000
MAX_THRESHOLDS = 50
_NONE: list[UUID] = []


class NoticesRead(Body):
    """Which notices are marked as read or acknowledged: those in `ids`, and all up to `until`."""

    ids: Annotated[list[UUID], Field(max_length=MAX_MARKED, description="Identifiers of notices.")] = _NONE
    until: Annotated[UUID | None, doc("This notice and all older ones; the first of the list for all.")] = None


class NoticesReadReply(WriteReply):
    """Result of marking notices as read."""

    marked: Annotated[int, doc("Number of notices that were unread before.")]


class NoticesAcknowledgedReply(WriteReply):
    """Result of an acknowledgement."""

    acknowledged: Annotated[int, doc("Number of notices that were not acknowledged before.")]


@resource("PortfolioEventReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioEvent(CatalogEvent):
    """An event that the owner of a portfolio can subscribe to."""


class NotificationTest(Body):
    """Which sample to send through every channel."""

    event: Annotated[str | None, doc("When absent: the first event that each webhook lists.")] = None


class ReceiverResponse(Reply):
    """The response of a receiver."""

    status: Annotated[int, doc("HTTP status of the receiver's response.")]
    duration_ms: Annotated[int, doc("Milliseconds from sending to the end of the response.")]
    excerpt: Annotated[str, doc("The beginning of the body.")]


class WebhookTestReply(Reply):
    """The result of a sample."""

    webhook_id: Annotated[UUID, doc("The destination.")]
    delivery_id: Annotated[UUID | None, doc("Delivery of the sample; null when `limited`.")]
    event: Annotated[str | None, doc("Name of the event that was sent; null when `limited`.")]
    status: Annotated[
        Literal["succeeded", "failed", "limited"],
        doc("`limited`: not sent, the destination reached its limit for this minute."),
    ]
    response: Annotated[ReceiverResponse | None, doc("Null when the receiver did not respond.")]
    error: Annotated[str | None, doc("The class of the failure; null for a response of 2xx.")]


class MailTestReply(Reply):
    """The result of a sample email."""

    to: Annotated[str, doc("The account's address, masked.")]
    status: Annotated[Literal["queued", "not_sent"], doc("`not_sent` when the address is not verified.")]
    message_id: Annotated[UUID | None, doc("Identifier of the message; null when it was not sent.")]
    error: Annotated[str | None, doc("`email_unverified`, or null.")]


class InAppTestReply(Reply):
    """The result of a sample in the list of notices."""

    notice_id: Annotated[UUID, doc("Identifier in `GET /v1/portfolio/notifications`.")]


class NotificationTestReply(WriteReply):
    """The results of samples by each channel."""

    email: Annotated[MailTestReply, doc("The email to the address of your own account.")]
    webhooks: Annotated[
        list[WebhookTestReply],
        doc("Result for each destination that lists the event, if the portfolio is your own."),
    ]
    in_app: Annotated[InAppTestReply, doc("The sample in the list of notices.")]
    would_be_suppressed_by: Annotated[
        Suppression | None, doc("Reason why your preferences would delay or prevent the email; otherwise null.")
    ]


def webhook_tested(webhook_id: UUID, sent: AttemptedDelivery | None) -> WebhookTestReply:
    """Return the result of a sample to a webhook; None is one at its limit."""
    attempt = None if sent is None else sent.attempt
    response = None
    if attempt is not None and attempt.status is not None:
        response = ReceiverResponse(
            status=attempt.status, duration_ms=attempt.took_ms, excerpt=attempt.response_excerpt or ""
        )
    return WebhookTestReply(
        webhook_id=webhook_id,
        delivery_id=sent and sent.id,
        event=sent and sent.event,
        status="limited" if attempt is None else "failed" if attempt.error else "succeeded",
        response=response,
        error=attempt and attempt.error,
    )


def all_tested(samples: Samples) -> NotificationTestReply:
    """Return the results of samples by every channel."""
    is_sent = samples.message_id is not None
    return NotificationTestReply(
        email=MailTestReply(
            to=samples.to,
            status="queued" if is_sent else "not_sent",
            message_id=samples.message_id,
            error=None if is_sent else "email_unverified",
        ),
        webhooks=[webhook_tested(*each) for each in samples.webhooks.items()],
        in_app=InAppTestReply(notice_id=samples.notice_id),
        would_be_suppressed_by=samples.suppressed_by,
    )


def _domain(text: str) -> str:
    found = domain_names.find_a_label(text)
    if found is None:
        raise ValueError("Not a domain name; send one such as harbour.example.")
    return found


def _in_order(values: list[Any]) -> list[Any]:
    return sorted(set(values))


def _patch_of(
    options: type[BaseModel], *, omit: Collection[str] = (), **types: Any
) -> Callable[[type[B]], type[B]]:
    """Return a decorator of a patch of these options, with types that a request accepts; null is the default."""
    members = {
        name: (Annotated[or_(types.get(name, each.annotation), None), Field(description=each.description)], None)
        for name, each in options.model_fields.items()
        if name not in omit
    }
    return form_of(options, members)


DomainText = Annotated[str, checked(_domain, "domain_form")]
Thresholds = Annotated[
    list[Annotated[StrictInt, Field(ge=MIN_DAYS, le=MAX_DAYS)]],
    Field(max_length=MAX_THRESHOLDS),
    AfterValidator(lambda days: sorted(set(days), reverse=True)),
]
HourMinute = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
Tag = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(lambda tag: tag.strip().casefold())]


@_patch_of(ChannelPreference, enabled=StrictBool)
class ChannelUpdate(Body):
    """A channel."""


@_patch_of(Channels, email=ChannelUpdate, webhook=ChannelUpdate, in_app=ChannelUpdate)
class ChannelsUpdate(Body):
    """The channels."""


@_patch_of(Expiry, thresholds=Thresholds, include_auto_renew_on=StrictBool, repeat_until_ack=StrictBool)
class ExpiryUpdate(Body):
    """When notices about expiring domains are due."""


class EventUpdate(Body):
    """Whether and how you are notified of an event."""

    enabled: Annotated[StrictBool | None, doc("Null: the default of the event.")] = None
    channels: ChannelList = None


@_patch_of(QuietHours, enabled=StrictBool, start=HourMinute, end=HourMinute)
class QuietHoursUpdate(Body):
    """A part of the day without email."""


@_patch_of(
    Digest,
    enabled=StrictBool,
    hour=Annotated[StrictInt, Field(ge=0, le=23)],
    include=Annotated[list[Topic], Field(max_length=20)],
)
class DigestUpdate(Body):
    """One email with the notices of a day, a week or a month."""


@_patch_of(CostAlert)
class CostAlertUpdate(Body):
    """A limit on the renewals of a calendar month."""


@_patch_of(
    Preferences,
    omit={"enabled", "timezone", "events"},
    channels=ChannelsUpdate,
    expiry=ExpiryUpdate,
    quiet_hours=QuietHoursUpdate,
    digest=DigestUpdate,
    muted_domains=Annotated[list[DomainText], Field(max_length=MAX_MUTED), AfterValidator(_in_order)],
    muted_tags=Annotated[list[Tag], Field(max_length=MAX_MUTED), AfterValidator(_in_order)],
    cost_alert=CostAlertUpdate,
)
class NotificationPreferencesUpdate(PatchBody):
    """A merge patch of your preferences: objects merge, arrays replace, null resets to the default."""

    enabled: Annotated[StrictBool | None, doc("Whether you are notified at all.")] = None
    timezone: Annotated[
        Annotated[str, Field(max_length=64), checked(texts.timezone, "timezone")] | None,
        doc("IANA name; by default that of your profile, else UTC."),
    ] = None
    events: Annotated[
        dict[str, EventUpdate | None] | None, Field(max_length=100, description="By name of the event.")
    ] = None

    def patch(self) -> dict[str, Any]:
        """Return the known members as JSON values, without unknown events."""
        sent = self.sent_members()
        if self.events is not None:
            sent["events"] = {name: each for name, each in sent["events"].items() if name in EVENT_KINDS}
        return sent

    def warnings(self) -> Iterator[UnknownField]:
        """Yield the unknown events, and the unknown members of known ones."""
        for name, each in (self.events or {}).items():
            if name in EVENT_KINDS:
                yield from unknown_fields(each, f"events.{name}.")
                continue
            meant = find_similar(name, EVENT_KINDS)
            hint = f" Did you mean {meant!r}?" if meant else ""
            message = f"{name[:80]!r} is not an event of a portfolio; ignored.{hint}"
            yield UnknownField(field=f"events.{name[:80]}", did_you_mean=meant, message=message)


class EmailChannelReply(ChannelPreference):
    """Email to your own account's address."""

    address: Annotated[str, doc("The address of your account.")]
    verified: Annotated[bool, doc("Only a verified address gets email.")]


class ChannelsReply(Channels):
    """The channels."""

    email: Annotated[EmailChannelReply, doc(Channels.model_fields["email"].description)]


class NotificationPreferencesReply(Preferences, Reply):
    """Your preferences in the portfolio, with the defaults of what you have not set."""

    model_config = ConfigDict(frozen=False)

    channels: Annotated[ChannelsReply, doc(Preferences.model_fields["channels"].description)]


class NotificationPreferencesWritten(NotificationPreferencesReply, WriteReply):
    """Your preferences after a change."""


def preferences_reply(own: OwnPreferences) -> NotificationPreferencesReply:
    """Return preferences for display."""
    members = own.preferences.model_dump()
    members["channels"]["email"] |= {"address": own.address, "verified": own.is_verified}
    return NotificationPreferencesReply.model_validate(members)


def preferences_written(
    own: OwnPreferences, body: NotificationPreferencesUpdate
) -> NotificationPreferencesWritten:
    """Return changed preferences with the warnings about the patch."""
    warnings = list(islice(body.warnings(), MAX_WARNINGS))
    return NotificationPreferencesWritten(**dict(preferences_reply(own)), warnings=warnings)
