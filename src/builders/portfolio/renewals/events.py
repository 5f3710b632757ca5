"""Events of renewals. They hold no money."""

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel

from builders.kit.events.outbox import declare
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.portfolio.domains.records import RenewalDecision


class DecisionData(BaseModel):
    """A decision about the next renewal of a domain."""

    id: Annotated[UUID, doc("Identifier of the portfolio domain.")]
    domain: DomainName
    decision: Annotated[RenewalDecision, doc("The decision about the next expiry.")]
    previous: Annotated[RenewalDecision, doc("The decision before.")]
    years: Annotated[int | None, doc("Years to renew for; null when not decided.")]
    note: Annotated[str | None, doc("The team's note about the decision.")]
    snooze_until: Annotated[date | None, doc("First day of reminders.")]
    expires_at: Annotated[datetime | None, doc("The expiry that the decision is about.")]


RENEWAL_DECISION_CHANGED = declare(
    name="portfolio.renewal.decision_changed",
    description="A member decided to renew or to drop a domain, or withdrew the decision.",
    data=DecisionData,
)


class RenewalFailureData(BaseModel):
    """An auto-renew setting that could not be set at the registrar."""

    id: Annotated[UUID, doc("Identifier of the portfolio domain.")]
    domain: DomainName
    auto_renew: Annotated[bool, doc("The requested setting.")]
    provider: Annotated[str | None, doc("The registrar; null when none is connected.")]
    error: Annotated[str | None, doc("The reason, in a sentence.")]
    expires_at: Annotated[datetime | None, doc("When the registration expires; null when unknown.")]


RENEWAL_FAILED = declare(
    name="portfolio.renewal.failed",
    description="The auto-renew setting of a decision could not be set at the registrar.",
    data=RenewalFailureData,
)
