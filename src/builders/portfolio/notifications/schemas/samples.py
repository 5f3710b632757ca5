"""Request and response models of the catalog of events and of samples."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from builders.kit.http.bodies import Body, Reply, WriteReply, by_example
from builders.kit.http.fields import IdText
from builders.portfolio.notifications.records import Channel, SampleRequest, Samples, Suppression
from builders.portfolio.notifications.schemas.updates import Days, DomainText
from builders.webhooks.records import TestSend

_RESPONSE: JsonDict = {"status": 204, "duration_ms": 81, "excerpt": ""}
_SAMPLE: JsonDict = {
    "webhook_id": "0193a1b2-0000-7000-8000-000000000005",
    "delivery_id": "0193a1b2-0000-7000-8000-00000000000f",
    "event": "webhook.created",
    "status": "succeeded",
    "response": _RESPONSE,
    "error": None,
}
_MAIL: JsonDict = {
    "to": "a***@example.net",
    "status": "queued",
    "message_id": "0193a1b2-0000-7000-8000-000000000010",
    "error": None,
}
_IN_APP: JsonDict = {"notice_id": "0193a1b2-0000-7000-8000-000000000011"}
_PREVIEW: JsonDict = {
    "subject": "Sample: 1 domain to review before renewal",
    "body": "This is a sample of a notice.",
}


class PortfolioEventReply(Reply):
    """An event that the owner of a portfolio can subscribe to."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {
                "name": "webhook.deleted",
                "area": "webhook",
                "version": 1,
                "description": "A webhook destination was deleted.",
                "data_schema": {"type": "object"},
                "example": {"id": "0193a1b2-0000-7000-8000-00000000000e", "type": "webhook.deleted"},
            }
        )
    )

    name: Annotated[str, Field(description="A destination that lists the name receives the event.")]
    area: Annotated[str, Field(description="A destination that lists `area.*` receives it too.")]
    version: Annotated[int, Field(description="Version of the event's data; grows with an incompatible change.")]
    description: Annotated[str, Field(description="When the event happens.")]
    data_schema: Annotated[dict[str, Any], Field(description="The JSON schema of the payload's `data`.")]
    example: Annotated[dict[str, Any], Field(description="A complete payload.")]


class NotificationTest(Body):
    """Which sample to send, and where; every member is optional."""

    model_config = ConfigDict(json_schema_extra=by_example({"channel": "webhook", "event": "webhook.disabled"}))

    channel: Annotated[Channel | None, Field(description="When absent: all.")] = None
    event: Annotated[str | None, Field(description="When absent: the first event that each webhook lists.")] = None
    webhook_id: Annotated[
        IdText | None, Field(description="Identifier of the only webhook to use, even if it is disabled.")
    ] = None
    threshold_days: Annotated[
        Days | None, Field(description="A notice about an expiry in so many days; negative: after it.")
    ] = None
    domain: Annotated[DomainText | None, Field(description="The domain that the sample names.")] = None

    def request(self) -> SampleRequest:
        """Return which samples are sent."""
        return SampleRequest(
            channel=self.channel,
            webhook_id=self.webhook_id,
            event=self.event,
            threshold_days=self.threshold_days,
            domain=self.domain,
        )


class ReceiverResponse(Reply):
    """The response of a receiver."""

    model_config = ConfigDict(json_schema_extra=by_example(_RESPONSE))

    status: Annotated[int, Field(description="HTTP status of the receiver's response.")]
    duration_ms: Annotated[int, Field(description="Milliseconds from sending to the end of the response.")]
    excerpt: Annotated[str, Field(description="The beginning of the body.")]


class WebhookTestReply(Reply):
    """The result of a sample."""

    model_config = ConfigDict(json_schema_extra=by_example(_SAMPLE))

    webhook_id: Annotated[UUID, Field(description="The destination.")]
    delivery_id: Annotated[UUID | None, Field(description="Delivery of the sample; null when `limited`.")]
    event: Annotated[str | None, Field(description="Name of the event that was sent; null when `limited`.")]
    status: Annotated[
        Literal["succeeded", "failed", "limited"],
        Field(description="`limited`: not sent, the destination reached its limit for this minute."),
    ]
    response: Annotated[ReceiverResponse | None, Field(description="Null when the receiver did not respond.")]
    error: Annotated[str | None, Field(description="The class of the failure; null for a response of 2xx.")]


class MailTestReply(Reply):
    """The result of a sample email."""

    model_config = ConfigDict(json_schema_extra=by_example(_MAIL))

    to: Annotated[str, Field(description="The account's address, masked.")]
    status: Annotated[
        Literal["queued", "not_sent"], Field(description="`not_sent` when the address is not verified.")
    ]
    message_id: Annotated[UUID | None, Field(description="Identifier of the message; null when it was not sent.")]
    error: Annotated[str | None, Field(description="`email_unverified`, or null.")]


class InAppTestReply(Reply):
    """The result of a sample in the list of notices."""

    model_config = ConfigDict(json_schema_extra=by_example(_IN_APP))

    notice_id: Annotated[UUID, Field(description="Identifier in `GET /v1/portfolio/notifications`.")]


class PreviewReply(Reply):
    """The email of the sample, rendered."""

    model_config = ConfigDict(json_schema_extra=by_example(_PREVIEW))

    subject: Annotated[str, Field(description="Subject of the email.")]
    body: Annotated[str, Field(description="Text of the email.")]


class NotificationTestReply(WriteReply):
    """The results of samples by each channel."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {
                "sent": True,
                "email": _MAIL,
                "webhooks": [_SAMPLE],
                "in_app": _IN_APP,
                "would_be_suppressed_by": None,
                "preview": _PREVIEW,
                "warnings": [],
            }
        )
    )

    sent: Annotated[bool, Field(description="Whether a sample was sent by any channel.")]
    email: Annotated[MailTestReply | None, Field(description="Null when the channel was not selected.")]
    webhooks: Annotated[
        list[WebhookTestReply],
        Field(description="Result for each destination; empty when the channel was not selected."),
    ]
    in_app: Annotated[InAppTestReply | None, Field(description="Null when the channel was not selected.")]
    would_be_suppressed_by: Annotated[
        Suppression | None,
        Field(
            description=(
                "Reason why your preferences would delay or drop the email of such a notice; otherwise null."
            )
        ),
    ]
    preview: Annotated[PreviewReply, Field(description="The email of the sample.")]


def webhook_tested(sample: TestSend) -> WebhookTestReply:
    """Return the result of a sample to a webhook."""
    attempt, delivery = sample.attempt, sample.delivery
    if attempt is None or delivery is None:
        return WebhookTestReply(
            webhook_id=sample.destination.id,
            delivery_id=None,
            event=None,
            status="limited",
            response=None,
            error=None,
        )
    response = None
    if attempt.status is not None:
        response = ReceiverResponse(
            status=attempt.status, duration_ms=attempt.duration_ms, excerpt=attempt.excerpt or ""
        )
    return WebhookTestReply(
        webhook_id=sample.destination.id,
        delivery_id=delivery.id,
        event=delivery.event,
        status="succeeded" if attempt.error is None else "failed",
        response=response,
        error=attempt.error,
    )


def all_tested(samples: Samples) -> NotificationTestReply:
    """Return the results of samples by any channel."""
    mailed, email = samples.email, None
    if mailed is not None:
        email = MailTestReply(
            to=mailed.to,
            status="not_sent" if mailed.message_id is None else "queued",
            message_id=mailed.message_id,
            error=mailed.error,
        )
    sent = [webhook_tested(each) for each in samples.webhooks]
    return NotificationTestReply(
        sent=samples.notice_id is not None
        or (email is not None and email.status == "queued")
        or any(each.status == "succeeded" for each in sent),
        email=email,
        webhooks=sent,
        in_app=None if samples.notice_id is None else InAppTestReply(notice_id=samples.notice_id),
        would_be_suppressed_by=samples.suppressed_by,
        preview=PreviewReply(subject=samples.subject, body=samples.body),
    )
