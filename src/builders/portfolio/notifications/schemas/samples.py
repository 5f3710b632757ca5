"""Request and response models of the catalog of events and of samples."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Body, Reply, WriteReply
from builders.portfolio.notifications.records import Samples, Suppression
from builders.webhooks.records import TestSend


class PortfolioEventReply(Reply):
    """An event that the owner of a portfolio can subscribe to."""

    name: Annotated[str, Field(description="A destination that lists the name receives the event.")]
    area: Annotated[str, Field(description="A destination that lists `area.*` receives it too.")]
    version: Annotated[int, Field(description="Version of the event's data; grows with an incompatible change.")]
    description: Annotated[str, Field(description="When the event happens.")]
    data_schema: Annotated[dict[str, Any], Field(description="The JSON schema of the payload's `data`.")]
    example: Annotated[dict[str, Any], Field(description="A complete payload.")]


class NotificationTest(Body):
    """Which sample to send through every channel."""

    event: Annotated[str | None, Field(description="When absent: the first event that each webhook lists.")] = None


class ReceiverResponse(Reply):
    """The response of a receiver."""

    status: Annotated[int, Field(description="HTTP status of the receiver's response.")]
    duration_ms: Annotated[int, Field(description="Milliseconds from sending to the end of the response.")]
    excerpt: Annotated[str, Field(description="The beginning of the body.")]


class WebhookTestReply(Reply):
    """The result of a sample."""

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

    to: Annotated[str, Field(description="The account's address, masked.")]
    status: Annotated[
        Literal["queued", "not_sent"], Field(description="`not_sent` when the address is not verified.")
    ]
    message_id: Annotated[UUID | None, Field(description="Identifier of the message; null when it was not sent.")]
    error: Annotated[str | None, Field(description="`email_unverified`, or null.")]


class InAppTestReply(Reply):
    """The result of a sample in the list of notices."""

    notice_id: Annotated[UUID, Field(description="Identifier in `GET /v1/portfolio/notifications`.")]


class NotificationTestReply(WriteReply):
    """The results of samples by each channel."""

    email: Annotated[MailTestReply, Field(description="The email to the address of your own account.")]
    webhooks: Annotated[
        list[WebhookTestReply],
        Field(description="Result for each destination that lists the event, if the portfolio is your own."),
    ]
    in_app: Annotated[InAppTestReply, Field(description="The sample in the list of notices.")]
    would_be_suppressed_by: Annotated[
        Suppression | None,
        Field(description="Reason why your preferences would delay or prevent the email; otherwise null."),
    ]


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
    """Return the results of samples by every channel."""
    is_sent = samples.message_id is not None
    return NotificationTestReply(
        email=MailTestReply(
            to=samples.to,
            status="queued" if is_sent else "not_sent",
            message_id=samples.message_id,
            error=None if is_sent else "email_unverified",
        ),
        webhooks=[webhook_tested(each) for each in samples.webhooks],
        in_app=InAppTestReply(notice_id=samples.notice_id),
        would_be_suppressed_by=samples.suppressed_by,
    )
