"""Requests of people about connections."""

from datetime import timedelta
from typing import Annotated, Literal, cast

from pydantic import Field

from builders.identity.fields import MandateInput
from builders.identity.oauth.records import Decided, Terms
from builders.identity.records import KeyKind
from builders.kit.errors import Invalid
from builders.kit.http.bodies import Body
from builders.kit.http.members import written_of
from builders.kit.mandates import Mandate
from builders.kit.values import clock
from builders.kit.values.docs import doc

MAX_DAYS = 365
ConnectionDecision = written_of(Decided, "ConnectionDecision")


class ConnectionDecisionCreate(Body, extra="forbid"):
    """What the person decided about a program that asks for a connection."""

    decision: Annotated[Literal["allow", "deny"], doc("`allow` or `deny`.")]
    client_digest: Annotated[str, Field(max_length=64, description="As the request showed it.")]
    key_kind: Annotated[KeyKind, doc("`test` for the sandbox; `live` has real effects.")] = KeyKind.TEST
    expires_in_days: Annotated[
        int, Field(ge=1, le=MAX_DAYS, description="Days until the connection ends, 1 to 365; 30 by default.")
    ] = 30
    mandate: Annotated[MandateInput, doc("What the program may do and spend; needed to allow it.")] = None

    def terms(self) -> Terms | None:
        """Return the terms of the connection; None for a refusal. Raise Invalid without a mandate."""
        if self.decision == "deny":
            return None
        if self.mandate is None:
            raise Invalid(("body", "mandate"), "Say what the program may do.", "missing")
        until = clock.now() + timedelta(days=self.expires_in_days)
        return Terms(kind=self.key_kind, expires_at=until, mandate=cast("Mandate", self.mandate))
