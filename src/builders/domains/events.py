"""Events of account domains."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel

from builders.domains.records import AccountDomain, RecordHealth, RecordKind
from builders.kit.events.outbox import declare
from builders.kit.events.payloads import event_of
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName


@event_of(AccountDomain, "id", "domain", "source", "status", "catch_all", "manifest", "manifest_key")
class DomainData(BaseModel):
    """An account domain."""


class DomainGone(DomainData):
    """An account domain that the account no longer has."""

    reason: Annotated[str, doc("`proof_gone`, `released`, `unassigned` or `proved_by_another`.")]


class DomainHealthData(BaseModel):
    """The present and previous health of the records that mail needs."""

    id: Annotated[UUID, doc("Identifier of the account domain.")]
    domain: DomainName
    dns: Annotated[
        dict[RecordKind, RecordHealth], doc("Health of each DNS record type now: `mx`, `spf`, `dkim`, `dmarc`.")
    ]
    before: Annotated[dict[RecordKind, RecordHealth], doc("Health of each DNS record type before.")]


DOMAIN_ADDED = declare(name="domain.added", description="A domain was added to the account.", data=DomainData)
DOMAIN_VERIFIED = declare(
    name="domain.verified",
    description="The proof of a domain was found, for the first time or again: names can be claimed on it.",
    data=DomainData,
)
DOMAIN_UPDATED = declare(
    name="domain.updated", description="The settings of a domain were changed.", data=DomainData
)
DOMAIN_SUSPENDED = declare(
    name="domain.suspended",
    description="The proof of a domain has been missing for days: no new names can be claimed on it.",
    data=DomainGone,
)
DOMAIN_RELEASED = declare(
    name="domain.released", description="A domain was released, unassigned or lost.", data=DomainGone
)
DOMAIN_HEALTH_CHANGED = declare(
    name="domain.health_changed",
    description="The health of a domain's MX, SPF, DKIM or DMARC record changed.",
    data=DomainHealthData,
)


def event_data(domain: AccountDomain) -> DomainData:
    """Return the data of an event about a domain."""
    return DomainData.model_validate(domain, from_attributes=True)


def loss_data(domain: AccountDomain, reason: str) -> DomainGone:
    """Return the data of an event about a domain that the account released or lost."""
    return DomainGone(**event_data(domain).model_dump(), reason=reason)
