"""Events of the portfolio's domains: of changes, and of the life cycle, which advances with time.

Every event names the domain; none holds money.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, TypeAlias
from uuid import UUID

from pydantic import BaseModel

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.events.outbox import Event, declare
from builders.kit.events.payloads import event_of, values_of
from builders.kit.values import clock
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.portfolio.domains.lifecycle import state_of
from builders.portfolio.domains.records import FIELDS, Domain, ExpirySource, Lifecycle, PortfolioDomainStatus
from builders.portfolio.domains.store import domains as store
from builders.portfolio.domains.today import list_today

DomainId = Annotated[UUID, doc("Identifier of the portfolio domain.")]
Expires = Annotated[datetime | None, doc("When the registration expires; null when unknown.")]


@event_of(
    Domain,
    *("id", "domain", "domain_unicode", "status", "ownership", "registrar", "expires_at", "auto_renew"),
    *("lifecycle", "tags", "changed"),
)
class PortfolioDomainData(BaseModel):
    """A domain of a portfolio."""

    domain_unicode: Annotated[str, doc("The name in Unicode.")]
    changed: Annotated[list[str], doc("Names of the members that changed; empty when none did.")]


class ExpiryData(BaseModel):
    """A change of the expiry."""

    id: DomainId
    domain: DomainName
    expires_at: Expires
    previous_expires_at: Annotated[datetime | None, doc("The expiry before; null when unknown.")]
    source: Annotated[ExpirySource | None, doc("Source of the new expiry.")]


class FlagData(BaseModel):
    """A change of a setting at the registrar."""

    id: DomainId
    domain: DomainName
    value: Annotated[bool | None, doc("The new value; null when unknown.")]
    previous: Annotated[bool | None, doc("The value before; null when unknown.")]


class LifecycleData(BaseModel):
    """A change of the state of the registration."""

    id: DomainId
    domain: DomainName
    lifecycle: Annotated[Lifecycle | None, doc("The new state; null when it is not known any more.")]
    previous: Annotated[Lifecycle | None, doc("The state before; null when it was not known.")]
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

Change: TypeAlias = tuple[Domain, Domain]  # before and after
Announcement: TypeAlias = tuple[Event, BaseModel]

_BY_FLAG = {"auto_renew": AUTO_RENEW_CHANGED, "locked": LOCK_CHANGED}
_BEFORE_EXPIRY = frozenset({Lifecycle.ACTIVE, Lifecycle.EXPIRING})
_BY_STATUS: Mapping[PortfolioDomainStatus, Event] = {
    PortfolioDomainStatus.SOLD: DOMAIN_SOLD,
    PortfolioDomainStatus.DROPPED: DOMAIN_DROPPED,
}


def domain_data(domain: Domain, changed: Sequence[str] = ()) -> PortfolioDomainData:
    """Return the data of an event about the domain, of which these members changed."""
    return PortfolioDomainData(changed=list(changed), **values_of(domain, PortfolioDomainData))


async def publish(conn: Conn, *, account_id: UUID, changes: Sequence[Change]) -> None:
    """Publish what changed of each domain."""
    pairs = [(account_id, each) for before, after in changes for each in list_events(before, after)]
    await _publish(conn, pairs)


async def advance_lifecycles(conn: Conn, *, limit: int) -> int:
    """Bring up to `limit` domains that are due to their present state, and publish each new state once.

    Return how many were due. Two calls at once publish each new state once.
    """
    now = clock.now()
    due = sorted(await store.list_due(conn, now=now, limit=limit), key=lambda each: each[1].id)
    days = await list_today(conn, account_ids={account_id for account_id, _ in due})
    states = [
        (account_id, domain, state_of(domain, tld=domain.tld, today=days[account_id]))
        for account_id, domain in due
    ]
    advanced = await store.advance(
        conn,
        now=now,
        account_ids=[account_id for account_id, _, _ in states],
        ids=[domain.id for _, domain, _ in states],
        lifecycles=[state.lifecycle for *_, state in states],
        due=[state.changes_at for *_, state in states],
    )
    pairs = [
        (account_id, each)
        for account_id, domain, state in states
        if domain.id in advanced
        for each in list_lifecycle_events(domain, replace(domain, lifecycle=state.lifecycle))
    ]
    await _publish(conn, pairs)
    return len(due)


async def _publish(conn: Conn, pairs: Sequence[tuple[UUID, Announcement]]) -> None:
    """Publish events of accounts, with one statement for each kind of event."""
    by_event: dict[str, tuple[Event, list[tuple[UUID, BaseModel]]]] = {}
    for account_id, (event, data) in pairs:
        by_event.setdefault(event.name, (event, []))[1].append((account_id, data))
    for event, events in by_event.values():
        await outbox.publish_many(conn, event, events)


def list_events(before: Domain, after: Domain) -> Sequence[Announcement]:
    """Return the events of one changed domain."""
    events: list[Announcement] = []
    changed = [name for name in FIELDS if getattr(before, name) != getattr(after, name)]
    named: dict[str, Any] = {"id": after.id, "domain": after.domain}
    if changed:
        events.append((DOMAIN_UPDATED, domain_data(after, changed)))
    if "status" in changed and after.status in _BY_STATUS:
        events.append((_BY_STATUS[after.status], domain_data(after, changed)))
    if "expires_at" in changed:
        expiry = ExpiryData(
            **named, expires_at=after.expires_at, previous_expires_at=before.expires_at, source=after.expiry_source
        )
        events.append((EXPIRY_CHANGED, expiry))
    for name, event in _BY_FLAG.items():
        if name in changed:
            flag = FlagData(**named, value=getattr(after, name), previous=getattr(before, name))
            events.append((event, flag))
    return [*events, *list_lifecycle_events(before, after)]


def list_lifecycle_events(before: Domain, after: Domain) -> Sequence[Announcement]:
    """Return the events of a new state: lifecycle.changed, and domain.expired after the expiry."""
    if after.lifecycle == before.lifecycle or after.lifecycle is None:
        return ()
    data = LifecycleData(
        id=after.id,
        domain=after.domain,
        lifecycle=after.lifecycle,
        previous=before.lifecycle,
        expires_at=after.expires_at,
    )
    was_valid = before.lifecycle is None or before.lifecycle in _BEFORE_EXPIRY
    if was_valid and after.lifecycle not in _BEFORE_EXPIRY:
        return ((LIFECYCLE_CHANGED, data), (DOMAIN_EXPIRED, data))
    return ((LIFECYCLE_CHANGED, data),)
