"""What a simulation answers, by its `type`."""

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from builders.kit.http.bodies import Reply, by_example
from builders.sandbox.examples import simulation as examples
from builders.sandbox.replies.plans import ActionPriceReply
from builders.sandbox.simulate import Checked
from builders.webhooks.service import Simulation


class SimulatedReply(Reply):
    """That nothing of it is live."""

    simulated: Annotated[Literal[True], Field(description="Always true: nothing of it is live.")] = True
    livemode: Annotated[Literal[False], Field(description="Always false: a simulation works on the sandbox.")] = (
        False
    )


class MatchReply(Reply):
    """Whether a destination of the sandbox account would get the event."""

    webhook_id: Annotated[UUID, Field(description="The destination.")]
    label: Annotated[str, Field(description="Your name for the destination.")]
    would_deliver: Annotated[bool, Field(description="Whether it gets the event.")]
    skip_reason: Annotated[
        Literal["disabled", "not_subscribed", "not_selected", "unsealable"] | None,
        Field(
            description=(
                "`not_selected`: the notification preferences of the portfolio name other destinations; "
                "`unsealable`: the service has lost the key of its secret; rotate it."
            )
        ),
    ]


class RenderedReply(Reply):
    """The request as the destination would get it at this moment; Host and the like come with the connection."""

    webhook_id: Annotated[UUID, Field(description="The destination.")]
    method: Annotated[Literal["POST"], Field(description="Method of the request.")]
    url: Annotated[str, Field(description="Address that the request goes to.")]
    headers: Annotated[dict[str, str], Field(description="With the signature, over the very body shown.")]
    body: Annotated[str, Field(description="The bytes, as UTF-8 text.")]


class EventSimulatedReply(SimulatedReply):
    """Who would get the event, and the exact requests."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.EVENT))

    type: Annotated[Literal["event"], Field(description="Type of the simulation.")] = "event"
    event: Annotated[str, Field(description="Name of the event.")]
    event_id: Annotated[UUID, Field(description="`webhook-id` in each request, and `id` in the payload.")]
    matched: Annotated[
        list[MatchReply],
        Field(description="Each destination of the sandbox account, and whether it gets the event."),
    ]
    rendered: Annotated[
        list[RenderedReply], Field(description="The request for each destination that gets the event.")
    ]
    delivery_ids: Annotated[list[UUID], Field(description="Of what is really sent; empty without `deliver`.")]


class SimulatedCheckReply(Reply):
    """Whether the sandbox account could claim the name."""

    address: Annotated[str, Field(description="As it was asked for.")]
    available: Annotated[bool, Field(description="Whether the sandbox account could claim the name.")]
    reason: Annotated[str, Field(description="`ok`, or why not: as in `GET /v1/catalog/check`.")]
    message: Annotated[str, Field(description="What is wrong and what to do, for people; empty when available.")]
    normalized: Annotated[str | None, Field(description="The address as it would be delivered to.")]
    price: Annotated[
        ActionPriceReply | None, Field(description="What the name costs; null when it cannot be claimed.")
    ]


class ChecksSimulatedReply(SimulatedReply):
    """The names in the order in which they were asked for."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.CHECK))

    type: Annotated[Literal["check"], Field(description="Type of the simulation.")] = "check"
    results: Annotated[
        list[SimulatedCheckReply],
        Field(description="Result for each address, in the order in which they were sent."),
    ]


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
        price=price and ActionPriceReply(**price.money.to_wire(), interval=price.interval.value),
    )
