"""Bodies of simulations by `type`, and the replies for events and checks."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    RootModel,
    StrictBool,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from builders.kit.errors import MAX_ERRORS
from builders.kit.http.bodies import Reply, StrictBody
from builders.kit.http.fields import IdText
from builders.sandbox.manifest import MAX_RESOURCES
from builders.sandbox.records import OnError
from builders.sandbox.schemas.actions import ActionPriceReply
from builders.sandbox.schemas.manifest import SandboxManifest
from builders.sandbox.simulation import NameCheck
from builders.webhooks.records import Simulation

MAX_CHECKS = 50
TYPES = ("event", "manifest", "check", "reset")
ErrorCode = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class SimulateEvent(StrictBody):
    """Simulation of an event of the sandbox account."""

    type: Annotated[
        Literal["event"], Field(description="Simulate an event: its recipients and the exact requests.")
    ]
    event: Annotated[
        str, Field(max_length=80, description="Name of the event, as in the events of a destination.")
    ]
    overrides: Annotated[
        dict[str, Any],
        Field(
            description="A merge patch of the event's example, ids included; validated by the event's data schema."
        ),
    ] = Field(default_factory=dict)
    webhook_id: Annotated[
        IdText | None, Field(description="One destination of the sandbox account; absent: all of them.")
    ] = None
    deliver: Annotated[StrictBool, Field(description="Deliver it to the matched destinations.")] = False
    seed: Annotated[
        str | None,
        Field(min_length=1, max_length=100, description="Seed of a reproducible payload, id and time included."),
    ] = None

    @model_validator(mode="after")
    def _validate_seed(self) -> Self:
        if self.deliver and self.seed is not None:
            raise PydanticCustomError(
                "seed_of_delivery", "A delivery always has a new id and time: omit the seed."
            )
        return self


class SimulateManifest(StrictBody):
    """Rehearsal of a manifest: plan and promotion in the sandbox account, in one request."""

    type: Annotated[
        Literal["manifest"],
        Field(description="Rehearse a manifest on the sandbox account: plan, promotion and invoices."),
    ]
    manifest: Annotated[SandboxManifest, Field(description="The manifest, as for `POST /v1/sandbox/plan`.")]
    fail_at: Annotated[
        dict[Annotated[str, Field(max_length=80)], ErrorCode],
        Field(
            max_length=MAX_RESOURCES,
            description="Error codes of failures to inject, by the address of the action.",
        ),
    ] = Field(default_factory=dict)
    on_error: Annotated[
        OnError,
        Field(
            description="Reaction to a failed step: `stop` skips the remaining steps, `continue` executes them."
        ),
    ] = OnError.STOP
    persist: Annotated[
        StrictBool, Field(description="Store the changes in the sandbox account and publish their events.")
    ] = False


class SimulateCheck(StrictBody):
    """Check of names for the sandbox account."""

    type: Annotated[Literal["check"], Field(description="Check whether the sandbox account can claim names.")]
    addresses: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=320)]],
        Field(min_length=1, max_length=MAX_CHECKS, description="Names to check, such as `ada@harbour.example`."),
    ]


class SimulateReset(StrictBody):
    """Reset of the sandbox account."""

    type: Annotated[Literal["reset"], Field(description="Delete everything in the sandbox account.")]


SimulationRequest = SimulateEvent | SimulateManifest | SimulateCheck | SimulateReset


class SandboxSimulateRequest(RootModel[Annotated[SimulationRequest, Field(discriminator="type")]]):
    """A simulation; `type` determines its members."""

    @model_validator(mode="wrap")
    @classmethod
    def _relocate_errors(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Remove the type from the location of errors, where pydantic puts it before the member."""
        try:
            return handler(value)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)[:MAX_ERRORS]
            lines = [_relocate(value, line) for line in found]
            raise ValidationError.from_exception_data(cls.__name__, lines) from None


def _relocate(value: object, line: Any) -> InitErrorDetails:  # an error of pydantic
    if line["type"] in {"union_tag_invalid", "union_tag_not_found"}:
        written = value.get("type") if isinstance(value, Mapping) else None
        close = get_close_matches(written[:20], TYPES, n=1) if isinstance(written, str) else []
        meant = f" Did you mean {close[0]!r}?" if close else ""
        context = {"types": ", ".join(TYPES), "meant": meant}
        said = PydanticCustomError("simulation_type", "One of {types}.{meant}", context)
        return InitErrorDetails(type=said, loc=("type",), input=None)
    loc = line["loc"][1:] if line["loc"][:1] and line["loc"][0] in TYPES else line["loc"]
    said = PydanticCustomError(line["type"], line["msg"])
    return InitErrorDetails(type=said, loc=loc, input=None)


class SimulatedReply(Reply):
    """Common members of simulations, which do not change live data."""

    simulated: Annotated[Literal[True], Field(description="Always true: a simulation changes nothing live.")] = (
        True
    )
    livemode: Annotated[
        Literal[False], Field(description="Always false: a simulation uses the sandbox account.")
    ] = False


class MatchReply(Reply):
    """A destination of the sandbox account and its decision about the event."""

    webhook_id: Annotated[UUID, Field(description="The destination.")]
    label: Annotated[str, Field(description="Your name for the destination.")]
    would_deliver: Annotated[bool, Field(description="Whether it would receive the event.")]
    skip_reason: Annotated[
        Literal["disabled", "not_subscribed", "unsealable"] | None,
        Field(description="`unsealable`: the service cannot decrypt its secret, which must be rotated."),
    ]


class RenderedReply(Reply):
    """The request that the destination would receive now, without the headers of the connection."""

    webhook_id: Annotated[UUID, Field(description="The destination.")]
    method: Annotated[Literal["POST"], Field(description="Method of the request.")]
    url: Annotated[str, Field(description="URL of the request.")]
    headers: Annotated[dict[str, str], Field(description="Headers with the signature over `body`.")]
    body: Annotated[str, Field(description="The body as UTF-8 text.")]


class EventSimulatedReply(SimulatedReply):
    """The recipients of the event and the exact requests."""

    type: Annotated[Literal["event"], Field(description="Type of the simulation.")] = "event"
    event: Annotated[str, Field(description="Name of the event.")]
    event_id: Annotated[UUID, Field(description="`webhook-id` in each request, and `id` in the payload.")]
    matched: Annotated[
        list[MatchReply],
        Field(description="Each destination of the sandbox account, and whether it would receive the event."),
    ]
    rendered: Annotated[
        list[RenderedReply], Field(description="The request to each destination that would receive the event.")
    ]
    delivery_ids: Annotated[
        list[UUID], Field(description="Identifiers of the deliveries; empty without `deliver`.")
    ]


class SimulatedCheckReply(Reply):
    """The availability of the name for the sandbox account."""

    address: Annotated[str, Field(description="The address in the request.")]
    available: Annotated[bool, Field(description="Whether the sandbox account can claim the name.")]
    reason: Annotated[str, Field(description="`ok`, or the reason as in `GET /v1/catalog/check`.")]
    message: Annotated[
        str, Field(description="Text for people: the problem and the remedy; empty when available.")
    ]
    normalized: Annotated[str | None, Field(description="The address that would receive mail.")]
    price: Annotated[
        ActionPriceReply | None, Field(description="The price of the name; null if it cannot be claimed.")
    ]


class ChecksSimulatedReply(SimulatedReply):
    """The results in the sequence of the request."""

    type: Annotated[Literal["check"], Field(description="Type of the simulation.")] = "check"
    results: Annotated[
        list[SimulatedCheckReply],
        Field(description="Result for each address, in the sequence of the request."),
    ]


def event_reply(found: Simulation) -> EventSimulatedReply:
    """Return the reply of a simulated event."""
    return EventSimulatedReply.model_validate(found)


def checks_reply(found: Sequence[NameCheck]) -> ChecksSimulatedReply:
    """Return the reply of checks."""
    return ChecksSimulatedReply(results=[_checked(each) for each in found])


def _checked(found: NameCheck) -> SimulatedCheckReply:
    price = found.price
    shown = price and ActionPriceReply(**price.money.to_wire(), interval=price.interval.value)
    return SimulatedCheckReply.from_record(found, price=shown)
