"""Events of renewals. They hold no money."""

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from builders.kit.events.outbox import declare
from builders.portfolio.domains.records import Domain, RenewalDecision
from builders.portfolio.registrars.auto_renew import AutoRenewSetting
from builders.portfolio.renewals.records import Decision


class DecisionData(BaseModel):
    """A decision about the next renewal of a domain."""

    id: Annotated[UUID, Field(description="Identifier of the portfolio domain.")]
    domain: Annotated[str, Field(description="Lower-case A-label.")]
    decision: Annotated[RenewalDecision, Field(description="The decision about the next expiry.")]
    previous: Annotated[RenewalDecision, Field(description="The decision before.")]
    years: Annotated[int | None, Field(description="Years to renew for; null when not decided.")]
    note: Annotated[str | None, Field(description="The team's note about the decision.")]
    snooze_until: Annotated[date | None, Field(description="First day of reminders.")]
    expires_at: Annotated[datetime | None, Field(description="The expiry that the decision is about.")]


RENEWAL_DECISION_CHANGED = declare(
    name="portfolio.renewal.decision_changed",
    description="A member decided to renew or to drop a domain, or withdrew the decision.",
    data=DecisionData,
)


def decision_data(domain: Domain, decision: Decision, previous: Decision) -> DecisionData:
    """Return the data of the event."""
    return DecisionData(
        id=domain.id,
        domain=domain.domain,
        decision=decision.decision,
        previous=previous.decision,
        years=decision.years,
        note=decision.note,
        snooze_until=decision.snooze_until,
        expires_at=domain.expires_at,
    )


class RenewalFailureData(BaseModel):
    """An auto-renew setting that could not be set at the registrar."""

    id: Annotated[UUID, Field(description="Identifier of the portfolio domain.")]
    domain: Annotated[str, Field(description="Lower-case A-label.")]
    auto_renew: Annotated[bool, Field(description="The requested setting.")]
    provider: Annotated[str | None, Field(description="The registrar; null when none is connected.")]
    error: Annotated[str | None, Field(description="The reason, in a sentence.")]
    expires_at: Annotated[datetime | None, Field(description="When the registration expires; null when unknown.")]


RENEWAL_FAILED = declare(
    name="portfolio.renewal.failed",
    description="The auto-renew setting of a decision could not be set at the registrar.",
    data=RenewalFailureData,
)


def failure_data(domain: Domain, setting: AutoRenewSetting) -> RenewalFailureData:
    """Return the data of the event."""
    return RenewalFailureData(
        id=domain.id,
        domain=domain.domain,
        auto_renew=setting.enabled,
        provider=None if setting.connection is None else setting.connection.provider,
        error=setting.error,
        expires_at=domain.expires_at,
    )
