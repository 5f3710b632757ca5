"""What a simulation answers, by its `type`."""

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from builders.kit.bodies import Reply, by_example
from builders.sandbox.examples import simulation as examples
from builders.sandbox.replies.plans import ActionPriceReply
from builders.sandbox.simulate import Checked
from builders.webhooks.service import Simulation


class SimulatedReply(Reply):
    """That nothing of it is live."""

    simulated: Literal[True] = True
    livemode: Literal[False] = False


class MatchReply(Reply):
    """Whether a destination of the sandbox account would get the event."""

    webhook_id: UUID
    label: str
    would_deliver: bool
    skip_reason: Annotated[
        Literal["disabled", "not_subscribed", "unsealable"] | None,
        Field(description="`unsealable`: the service has lost the key of its secret; rotate it."),
    ]


class RenderedReply(Reply):
    """The request as the destination would get it at this moment; Host and the like come with the connection."""

    webhook_id: UUID
    method: Literal["POST"]
    url: str
    headers: Annotated[dict[str, str], Field(description="With the signature, over the very body shown.")]
    body: Annotated[str, Field(description="The bytes, as UTF-8 text.")]


class EventSimulatedReply(SimulatedReply):
    """Who would get the event, and the exact requests."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.EVENT))

    type: Literal["event"] = "event"
    event: str
    event_id: Annotated[UUID, Field(description="`webhook-id` in each request, and `id` in the payload.")]
    matched: list[MatchReply]
    rendered: list[RenderedReply]
    delivery_ids: Annotated[list[UUID], Field(description="Of what is really sent; empty without `deliver`.")]


class SimulatedCheckReply(Reply):
    """Whether the sandbox account could claim the name."""

    address: Annotated[str, Field(description="As it was asked for.")]
    available: bool
    reason: Annotated[str, Field(description="`ok`, or why not: as in `GET /v1/catalog/check`.")]
    message: str
    normalized: Annotated[str | None, Field(description="The address as it would be delivered to.")]
    price: ActionPriceReply | None


class ChecksSimulatedReply(SimulatedReply):
    """The names in the order in which they were asked for."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.CHECK))

    type: Literal["check"] = "check"
    results: list[SimulatedCheckReply]


def event_reply(found: Simulation) -> EventSimulatedReply:
    """The answer to a simulated event."""
    return EventSimulatedReply.model_validate(found)


def checks_reply(found: Sequence[Checked]) -> ChecksSimulatedReply:
    """The answer to a batch of checks."""
    return ChecksSimulatedReply(results=[_checked(each) for each in found])


def _checked(found: Checked) -> SimulatedCheckReply:
    price = found.price
    return SimulatedCheckReply(
        address=found.address,
        available=found.available,
        reason=found.reason,
        message=found.message,
        normalized=found.normalized,
        price=price and ActionPriceReply(**price.money.to_wire(), interval=price.interval),
    )
