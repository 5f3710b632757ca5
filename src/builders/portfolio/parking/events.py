"""Events of parking revenue. They hold no money: members without the permission get them too."""

from datetime import date
from typing import Annotated

from pydantic import BaseModel

from builders.kit.events.outbox import declare
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName

MAX_DOMAINS = 100  # that an event names


class RevenueData(BaseModel):
    """Revenue that one request recorded."""

    domain: Annotated[DomainName | None, doc("The domain as an A-label; null for several.")]
    domains: Annotated[list[str], doc(f"The domains, up to {MAX_DOMAINS} of them.")]
    domain_count: Annotated[int, doc("Number of domains.")]
    providers: Annotated[list[str], doc("The parking providers.")]
    since: Annotated[date, doc("First day with revenue that was recorded or changed.")]
    until: Annotated[date, doc("Last day with revenue that was recorded or changed.")]
    days_created: Annotated[int, doc("Recorded amounts: one for each day of a domain.")]
    days_updated: Annotated[int, doc("Amounts that replaced others.")]


PARKING_REVENUE_RECORDED = declare(
    name="portfolio.parking.revenue_recorded",
    description="Parking revenue was recorded or corrected; one event for each request that changed any.",
    data=RevenueData,
)
