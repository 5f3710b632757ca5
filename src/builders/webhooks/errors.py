"""Errors of webhooks."""

from collections.abc import Iterable
from uuid import UUID

from builders.kit.errors import Problem


class WebhookNotFound(Problem):
    """The account has no such webhook destination."""

    status, code = 404, "webhook_not_found"
    default_detail = "There is no such webhook destination."
    remedy = "List the destinations: GET /v1/notifications/webhooks."
    collection = "/v1/notifications/webhooks"


class DeliveryNotFound(Problem):
    """The account has no such delivery."""

    status, code = 404, "delivery_not_found"
    default_detail = "There is no such delivery."
    remedy = "List the deliveries: GET /v1/notifications/deliveries."
    collection = "/v1/notifications/deliveries"


class WebhookLimit(Problem):
    """The account has the maximum number of webhook destinations."""

    status, code = 409, "webhook_limit"
    remedy = "Delete one that is not used."


class WebhookDisabled(Problem):
    """The webhook destination is disabled."""

    status, code = 409, "webhook_disabled"
    remedy = "Enable it first: PATCH /v1/notifications/webhooks/{webhook_id}."


class WebhookGone(Problem):
    """The webhook destination of this delivery was deleted."""

    status, code = 409, "webhook_gone"
    remedy = "Create a destination, POST /v1/notifications/webhooks, and read missed events with GET /v1/events."


class DeliveryInFlight(Problem):
    """The delivery is being sent."""

    status, code = 409, "delivery_in_flight"
    remedy = "Wait for the seconds of Retry-After, then read the delivery again."


class DeliveryIsTest(Problem):
    """A test send is one attempt and cannot be retried."""

    status, code = 409, "delivery_is_test"
    remedy = "Send another sample."


class DeliveryTooOld(Problem):
    """The delivery is about to be pruned."""

    status, code = 409, "delivery_too_old"
    remedy = "Read the event in GET /v1/events."


class TooManyTests(Problem):
    """Too many test sends."""

    status, code = 429, "webhook_test_limit"
    remedy = "Wait for the seconds of Retry-After, then send the sample again."


class SecretsGone(Problem):
    """The webhook destination whose secret was to be copied does not exist."""

    status, code = 409, "webhook_secret_gone"

    def __init__(self, copies: Iterable[UUID]) -> None:
        super().__init__("A secret to copy no longer exists.", next_action="Plan again.")
        self.copies = frozenset(copies)  # the destinations that were to get them


class TooManyWaiters(Problem):
    """The account has the maximum number of requests that wait for events."""

    status, code = 429, "too_many_waiters"
    remedy = "Use one waiting request for all consumers, or omit `wait`."


class FeedBusy(Problem):
    """Too many requests are waiting for events."""

    status, code = 503, "feed_busy"
    remedy = "Omit `wait`, or repeat the request after the seconds of Retry-After."
