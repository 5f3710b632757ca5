"""Events of billing. They hold no money: members without the permission get them too."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel

from builders.kit.events.outbox import declare
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.portfolio.billing.records import RunCount

MAX_DOMAINS = 100  # that an event names


class ChargesData(BaseModel):
    """Charges of one sync, import or application."""

    run_id: Annotated[UUID | None, doc("The sync or import; null for an application.")]
    providers: Annotated[list[str], doc("The registrars that charged.")]
    charges: Annotated[int, doc("Number of charges.")]
    domain: Annotated[DomainName | None, doc("The domain as an A-label; null for several, or none.")]
    domains: Annotated[list[str], doc(f"The domains, up to {MAX_DOMAINS} of them.")]
    domain_count: Annotated[int, doc("Number of domains.")]


class BillingData(BaseModel):
    """Result of a sync or an import of charges."""

    run_id: Annotated[UUID, doc("The sync or the import.")]
    provider: Annotated[str, doc("The registrar.")]
    connection_id: Annotated[UUID | None, doc("The connection; null for an import without one.")]
    fetched: Annotated[int, doc("Lines that were read.")]
    new: Annotated[int, doc("Charges that were recorded: one for each domain of a line.")]
    duplicate: Annotated[int, doc("Charges that were recorded before.")]
    matched: Annotated[int, doc("New charges whose domain was found.")]
    applied: Annotated[int, doc("New charges that were booked in the ledger.")]
    unmatched: Annotated[int, doc("New charges that need a decision.")]
    refunds: Annotated[int, doc("New charges that are refunds.")]


_BULK = "One event for all charges of a sync, an import or an application."
BILLING_SYNCED = declare(
    name="portfolio.billing.synced",
    description="The charges of a registrar were fetched.",
    data=BillingData,
)
BILLING_IMPORTED = declare(
    name="portfolio.billing.imported",
    description="A file of charges was imported.",
    data=BillingData,
)
CHARGES_MATCHED = declare(
    name="portfolio.billing.charge_matched",
    description=f"The domains of charges were found. {_BULK}",
    data=ChargesData,
)
CHARGES_UNMATCHED = declare(
    name="portfolio.billing.charge_unmatched",
    description=f"The domains of new charges were not found; `domains` are the names in them. {_BULK}",
    data=ChargesData,
)
REFUNDS_DETECTED = declare(
    name="portfolio.billing.refund_detected",
    description=f"Registrars refunded charges. {_BULK}",
    data=ChargesData,
)


def charges_data(counts: RunCount, *, run_id: UUID | None, providers: Sequence[str]) -> ChargesData:
    """Return the data of an event about charges; it names their first domains."""
    return ChargesData(
        run_id=run_id,
        providers=list(providers),
        charges=counts.charges,
        domain=counts.domains[0] if counts.domain_count == 1 else None,
        domains=list(counts.domains[:MAX_DOMAINS]),
        domain_count=counts.domain_count,
    )
