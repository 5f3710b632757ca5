"""Events of the portfolio"s domains. Every event names the domain; none holds money."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from builders.kit.events.outbox import declare
from builders.portfolio.domains.records import Domain, ExpirySource, Lifecycle, Ownership, PortfolioDomainStatus

DomainId = Annotated[UUID, Field(description="Identifier of the portfolio domain.")]
Name = Annotated[str, Field(description="Lower-case A-label.")]
Expires = Annotated[datetime | None, Field(description="When the registration expires; null when unknown.")]
_AT, _LATER = datetime(2027, 3, 1, tzinfo=UTC), datetime(2028, 3, 1, tzinfo=UTC)


class PortfolioDomainData(BaseModel):
    """A domain of a portfolio."""

    id: DomainId
    domain: Name
    domain_unicode: Annotated[str, Field(description="The name in Unicode.")]
    status: Annotated[PortfolioDomainStatus, Field(description="Status of the domain in the portfolio.")]
    ownership: Annotated[Ownership, Field(description="Legal basis on which its holder has the domain.")]
    registrar: Annotated[str | None, Field(description="Its registrar; null when unknown.")]
    expires_at: Expires
    auto_renew: Annotated[bool | None, Field(description="Whether the registrar renews it; null when unknown.")]
    lifecycle: Annotated[Lifecycle | None, Field(description="State of the registration; null when unknown.")]
    tags: Annotated[list[str], Field(description="Your tags.")]
    changed: Annotated[list[str], Field(description="Names of the members that changed; empty when none did.")]


class ExpiryData(BaseModel):
    """A change of the expiry."""

    id: DomainId
    domain: Name
    expires_at: Expires
    previous_expires_at: Annotated[datetime | None, Field(description="The expiry before; null when unknown.")]
    source: Annotated[ExpirySource | None, Field(description="Source of the new expiry.")]


class FlagData(BaseModel):
    """A change of a setting at the registrar."""

    id: DomainId
    domain: Name
    value: Annotated[bool | None, Field(description="The new value; null when unknown.")]
    previous: Annotated[bool | None, Field(description="The value before; null when unknown.")]


class LifecycleData(BaseModel):
    """A change of the state of the registration."""

    id: DomainId
    domain: Name
    lifecycle: Annotated[Lifecycle | None, Field(description="The new state; null when it is not known any more.")]
    previous: Annotated[Lifecycle | None, Field(description="The state before; null when it was not known.")]
    expires_at: Expires


DOMAIN_ADDED = declare(
    name="portfolio.domain.added",
    description=(
        "A domain was added to the portfolio, not by an import, which publishes portfolio.import.completed."
    ),
    data=PortfolioDomainData,
)
DOMAIN_UPDATED = declare(
    name="portfolio.domain.updated",
    description="Fields of a domain changed; `changed` names them.",
    data=PortfolioDomainData,
)
DOMAIN_REMOVED = declare(
    name="portfolio.domain.removed",
    description="A domain was removed from the portfolio.",
    data=PortfolioDomainData,
)
DOMAIN_SOLD = declare(
    name="portfolio.domain.sold",
    description="A domain got the status `sold`.",
    data=PortfolioDomainData,
)
DOMAIN_DROPPED = declare(
    name="portfolio.domain.dropped",
    description="A domain got the status `dropped`.",
    data=PortfolioDomainData,
)
DOMAIN_EXPIRED = declare(
    name="portfolio.domain.expired",
    description="The registration of a held domain expired.",
    data=LifecycleData,
)
LIFECYCLE_CHANGED = declare(
    name="portfolio.lifecycle.changed",
    description="The state of a registration changed; published once for each state.",
    data=LifecycleData,
)
EXPIRY_CHANGED = declare(
    name="portfolio.expiry.changed",
    description="The expiry of a domain changed.",
    data=ExpiryData,
)
AUTO_RENEW_CHANGED = declare(
    name="portfolio.auto_renew.changed",
    description="The auto-renew setting of a domain changed.",
    data=FlagData,
)
LOCK_CHANGED = declare(
    name="portfolio.lock.changed",
    description="The transfer lock of a domain changed.",
    data=FlagData,
)


def domain_data(domain: Domain, changed: Sequence[str] = ()) -> PortfolioDomainData:
    """Return the data of an event about the domain, of which these members changed."""
    return PortfolioDomainData(
        id=domain.id,
        domain=domain.domain,
        domain_unicode=domain.unicode,
        status=domain.status,
        ownership=domain.ownership,
        registrar=domain.registrar,
        expires_at=domain.expires_at,
        auto_renew=domain.auto_renew,
        lifecycle=domain.lifecycle,
        tags=list(domain.tags),
        changed=list(changed),
    )


def lifecycle_data(domain: Domain, previous: Lifecycle | None) -> LifecycleData:
    """Return the data of an event about the new state of the domain."""
    return LifecycleData(
        id=domain.id,
        domain=domain.domain,
        lifecycle=domain.lifecycle,
        previous=previous,
        expires_at=domain.expires_at,
    )
