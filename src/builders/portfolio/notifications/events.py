"""Events of notices about the renewals of a portfolio."""

from datetime import date
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel

from builders.kit.events.outbox import declare
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.money import Money
from builders.portfolio.notifications.event_kinds import OVERDUE, UPCOMING
from builders.portfolio.notifications.records import COST_EXCEEDED, Severity


class ExpiryNoticeData(BaseModel):
    """A domain whose expiry has reached a threshold of the portfolio's own account."""

    id: Annotated[UUID, doc("Identifier of the portfolio domain.")]
    domain: DomainName
    expires_on: Annotated[date, doc("The expiry, as a date in UTC.")]
    days_left: Annotated[int, doc("Days until the expiry; negative after it.")]
    threshold_days: Annotated[int, doc("The threshold that was reached.")]
    auto_renew: Annotated[bool | None, doc("Whether the registrar renews it; null when unknown.")]
    severity: Annotated[Severity, doc("Severity of the notice.")]


class CostExceededData(BaseModel):
    """A month whose renewals cost more than the limit of the portfolio's own account."""

    month: Annotated[date, doc("First day of the month.")]
    total: Annotated[Money, doc("Renewal prices of the domains that expire in the month.")]
    limit: Annotated[Money, doc("`cost_alert.monthly_renewals_above` of the preferences.")]
    domains: Annotated[int, doc("Number of domains in the sum.")]
    unknown: Annotated[int, doc("Domains of the month without a price or an exchange rate.")]


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
