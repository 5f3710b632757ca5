"""Events of notices about the renewals of a portfolio."""

from datetime import date
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from builders.kit.events.outbox import declare
from builders.kit.values.money import Money
from builders.portfolio.notifications.event_kinds import COST_EXCEEDED, OVERDUE, UPCOMING
from builders.portfolio.notifications.records import Severity


class ExpiryNoticeData(BaseModel):
    """A domain whose expiry has reached a threshold of the portfolio's own account."""

    id: Annotated[UUID, Field(description="Identifier of the portfolio domain.")]
    domain: Annotated[str, Field(description="Lower-case A-label.")]
    expires_on: Annotated[date, Field(description="The expiry, as a date in UTC.")]
    days_left: Annotated[int, Field(description="Days until the expiry; negative after it.")]
    threshold_days: Annotated[int, Field(description="The threshold that was reached.")]
    auto_renew: Annotated[bool | None, Field(description="Whether the registrar renews it; null when unknown.")]
    severity: Annotated[Severity, Field(description="Severity of the notice.")]


class CostExceededData(BaseModel):
    """A month whose renewals cost more than the limit of the portfolio's own account."""

    month: Annotated[date, Field(description="First day of the month.")]
    total: Annotated[Money, Field(description="Renewal prices of the domains that expire in the month.")]
    limit: Annotated[Money, Field(description="`cost_alert.monthly_renewals_above` of the preferences.")]
    domains: Annotated[int, Field(description="Number of domains in the sum.")]
    unknown: Annotated[int, Field(description="Domains of the month without a price or an exchange rate.")]


RENEWAL_UPCOMING = declare(
    name=UPCOMING,
    description="A domain expires soon: a threshold of the notification preferences is reached.",
    data=ExpiryNoticeData,
)
RENEWAL_OVERDUE = declare(
    name=OVERDUE,
    description="A domain has expired without a renewal: a threshold of the preferences is reached.",
    data=ExpiryNoticeData,
)
RENEWAL_COST_EXCEEDED = declare(
    name=COST_EXCEEDED,
    description="The renewals of a month cost more than the limit of the notification preferences.",
    data=CostExceededData,
)
