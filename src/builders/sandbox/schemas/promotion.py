"""The consent to a plan, as it is sent."""

from typing import Annotated
from uuid import UUID

from pydantic import (
    ConfigDict,
    Field,
    StrictBool,
)

from builders.kit.http.bodies import StrictBody, by_example
from builders.kit.http.fields import IdText
from builders.kit.values.money import Money
from builders.sandbox.examples import plans as examples
from builders.sandbox.records import OnError, PromotionRequest
from builders.sandbox.schemas.values import Count


class SandboxPromoteRequest(StrictBody):
    """Consent to a plan as it was reviewed."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.CONSENT))

    plan_id: Annotated[IdText, Field(description="The plan to execute.")]
    digest: Annotated[str, Field(description="The plan's digest, which binds what was reviewed.")]
    confirm_deletes: Annotated[
        Count | None, Field(description="Number of resources of all kinds that the plan deletes or replaces.")
    ] = None
    max_total: Annotated[Money | None, Field(description="Refuse when more than this is due now.")] = None
    on_error: Annotated[
        OnError,
        Field(description="What to do after a step that failed: `stop` skips the rest, `continue` tries it."),
    ] = OnError.STOP
    resume: Annotated[StrictBool, Field(description="Try the failed and skipped steps of a promotion again.")] = (
        False
    )

    def request(self, plan_id: UUID) -> PromotionRequest:
        """Return the request as a record."""
        return PromotionRequest(
            plan_id=plan_id,
            digest=self.digest,
            confirm_deletes=self.confirm_deletes,
            max_total=self.max_total,
            on_error=self.on_error,
            resume=self.resume,
        )
