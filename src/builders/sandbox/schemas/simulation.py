"""What is asked of a simulation, by its `type`."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self

from pydantic import (
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    RootModel,
    StrictBool,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from builders.kit.errors import MAX_ERRORS
from builders.kit.http.bodies import StrictBody, by_example
from builders.kit.http.fields import IdText
from builders.sandbox.examples import simulation as examples
from builders.sandbox.manifest import MAX_RESOURCES
from builders.sandbox.records import OnError
from builders.sandbox.schemas.manifest import SandboxManifest

MOST_CHECKS = 50
TYPES = ("event", "manifest", "check", "reset")
ErrorCode = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class SimulateEvent(StrictBody):
    """An event as if it had happened to the sandbox account."""

    type: Annotated[Literal["event"], Field(description="Simulate an event: who gets it, and the exact requests.")]
    event: Annotated[str, Field(max_length=80, description="Its name, as a destination lists it.")]
    overrides: Annotated[
        dict[str, Any],
        Field(description="A merge patch of the event's example, ids too; held against the event's data schema."),
    ] = Field(default_factory=dict)
    webhook_id: Annotated[
        IdText | None, Field(description="One destination of the sandbox account; left out: all of them.")
    ] = None
    deliver: Annotated[StrictBool, Field(description="Send it to those that would get it.")] = False
    seed: Annotated[
        str | None,
        Field(min_length=1, max_length=100, description="Makes the payload the same each time, id and time too."),
    ] = None

    @model_validator(mode="after")
    def _is_of_now(self) -> Self:
        if self.deliver and self.seed is not None:
            raise PydanticCustomError(
                "seed_of_delivery", "What is delivered is new each time: leave out the seed."
            )
        return self


class SimulateManifest(StrictBody):
    """A manifest planned on the sandbox account's own state and promoted, all at once."""

    type: Annotated[
        Literal["manifest"],
        Field(description="Rehearse a manifest on the sandbox account: plan, promotion and invoices."),
    ]
    manifest: Annotated[SandboxManifest, Field(description="The manifest, as for `POST /v1/sandbox/plan`.")]
    fail_at: Annotated[
        dict[Annotated[str, Field(max_length=80)], ErrorCode],
        Field(max_length=MAX_RESOURCES, description="Actions, by their address, that shall fail with this code."),
    ] = Field(default_factory=dict)
    on_error: Annotated[
        OnError,
        Field(description="What to do after a step that failed: `stop` skips the rest, `continue` tries it."),
    ] = OnError.STOP
    persist: Annotated[StrictBool, Field(description="Write it to the sandbox account; its events fire.")] = False


class SimulateCheck(StrictBody):
    """Whether the sandbox account could claim names."""

    type: Annotated[Literal["check"], Field(description="Check whether the sandbox account could claim names.")]
    addresses: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=320)]],
        Field(min_length=1, max_length=MOST_CHECKS, description="Names to check, such as `ada@harbour.example`."),
    ]


class SimulateReset(StrictBody):
    """The sandbox account emptied."""

    type: Annotated[Literal["reset"], Field(description="Delete everything in the sandbox account.")]


SimulationRequest = SimulateEvent | SimulateManifest | SimulateCheck | SimulateReset


class SandboxSimulateRequest(RootModel[Annotated[SimulationRequest, Field(discriminator="type")]]):
    """What to simulate; which members there are depends on `type`."""

    model_config = ConfigDict(json_schema_extra=by_example(*examples.REQUESTS))

    @model_validator(mode="wrap")
    @classmethod
    def _in_place(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Errors point at what was sent: pydantic puts the type before the member."""
        try:
            return handler(value)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)[:MAX_ERRORS]
            lines = [_placed(value, line) for line in found]
            raise ValidationError.from_exception_data(cls.__name__, lines) from None


def _placed(value: object, line: Any) -> InitErrorDetails:  # pydantic's own form of an error
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
