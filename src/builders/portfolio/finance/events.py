"""Events of finance."""

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel

from builders.kit.events.outbox import declare
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.money import Money
from builders.portfolio.finance.records import RecordedRenewal


class RenewalData(BaseModel):
    """A renewal that was recorded."""

    entry_id: Annotated[UUID, doc("Identifier of the ledger entry.")]
    domain_id: Annotated[UUID, doc("Identifier of the portfolio domain.")]
    domain: DomainName
    amount: Annotated[Money, doc("What was paid.")]
    renewed_on: Annotated[date, doc("When it was paid.")]
    years: Annotated[int, doc("Years that the amount pays for.")]
    expires_at: Annotated[datetime | None, doc("When the registration expires; null when unknown.")]
    previous_expires_at: Annotated[datetime | None, doc("The expiry before the renewal; null when unknown.")]
    duplicate_of: Annotated[
        UUID | None, doc("Entry of an earlier renewal that is likely the same; null for none.")
    ]


RENEWAL_RECORDED = declare(
    name="portfolio.renewal.recorded",
    description="A renewal of a domain was recorded.",
    data=RenewalData,
)


def renewal_data(recorded: RecordedRenewal) -> RenewalData:
    """Return the data of the event."""
    entry, domain = recorded.entry, recorded.domain
    return RenewalData(
        entry_id=entry.id,
        domain_id=domain.id,
        domain=domain.domain,
        amount=entry.money,
        renewed_on=entry.occurred_on,
        years=entry.years or 1,
        expires_at=domain.expires_at,
        previous_expires_at=recorded.previous_expires_at,
        duplicate_of=recorded.duplicate_of,
    )
