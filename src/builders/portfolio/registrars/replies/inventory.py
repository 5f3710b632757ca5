"""Replies about the inventory."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply
from builders.kit.http.pagination import Page
from builders.kit.values import clock, domain_names
from builders.kit.values.money import Money
from builders.portfolio.registrars.inventory_records import InventoryItem, InventorySource, Snapshot
from builders.portfolio.registrars.records import HeldStatus

Provider = Annotated[str, Field(description="The registrar.")]
ConnectionId = Annotated[UUID, Field(description="Identifier of the connection.")]


class HeldDomainReply(Reply):
    """A domain that a registrar holds. Null means that the registrar does not report the value."""

    provider: Provider
    connection_id: ConnectionId
    domain: Annotated[str, Field(description="The domain, an A-label.")]
    unicode: Annotated[str, Field(description="The domain in Unicode.")]
    expires_at: Annotated[datetime | None, Field(description="When it expires.")]
    registered_at: Annotated[datetime | None, Field(description="When it was registered.")]
    auto_renew: Annotated[bool | None, Field(description="Whether the registrar renews it automatically.")]
    locked: Annotated[bool | None, Field(description="Whether the registrar refuses transfers.")]
    privacy: Annotated[bool | None, Field(description="Whether the registrar hides the holder's data.")]
    status: Annotated[HeldStatus, Field(description="Its state at the registrar.")]
    status_raw: Annotated[str | None, Field(description="Its state in the registrar's own words.")]
    nameservers: Annotated[list[str] | None, Field(description="Its name servers.")]
    renewal_price: Annotated[Money | None, Field(description="The registrar's renewal price.")]
    in_portfolio: Annotated[bool, Field(description="Whether the portfolio has the domain.")]
    domain_id: Annotated[UUID | None, Field(description="Identifier of the portfolio domain; null without one.")]
    first_seen_at: Annotated[datetime, Field(description="The first listing that had it.")]
    last_seen_at: Annotated[datetime, Field(description="The last listing that had it.")]
    missing_since: Annotated[
        datetime | None,
        Field(description="The first complete listing without the domain; null while the registrar holds it."),
    ]
    suspected_since: Annotated[
        datetime | None,
        Field(description="The listing without the domain, while it is held back as part of a suspicious drop."),
    ]
    source: Annotated[InventorySource, Field(description="Source: the registrar's `api`, or an `import`.")]


class SnapshotReply(Reply):
    """The latest listing of a connection."""

    provider: Provider
    connection_id: ConnectionId
    taken_at: Annotated[datetime, Field(description="When it ended.")]
    age_s: Annotated[int, Field(description="Seconds since then.")]
    complete: Annotated[
        bool, Field(description="Whether the listing is complete; otherwise domains may be out of date.")
    ]
    last_complete_at: Annotated[
        datetime | None, Field(description="The latest complete listing; null without one.")
    ]
    domains: Annotated[int, Field(description="Number of domains in the listing.")]
    source: Annotated[InventorySource, Field(description="Source: the registrar's `api`, or an `import`.")]


class RegistrarInventory(Reply):
    """A page of domains that registrars hold."""

    items: Annotated[list[HeldDomainReply], Field(description="The domains of this page, by name.")]
    next_cursor: Annotated[
        str | None, Field(description="Send it as `cursor` to get the next page; null on the last page.")
    ]
    snapshots: Annotated[list[SnapshotReply], Field(description="The latest listing of each connection.")]
    redacted: Annotated[list[str], Field(description="`finance` if amounts are omitted; else empty.")]


def inventory_reply(
    page: Page[InventoryItem], snapshots: Sequence[Snapshot], *, shows_finance: bool
) -> RegistrarInventory:
    """Return a page of the inventory; without finance, without prices."""
    return RegistrarInventory(
        items=[_item(each, shows_finance=shows_finance) for each in page.items],
        next_cursor=page.next_cursor,
        snapshots=[_snapshot(each) for each in snapshots],
        redacted=[] if shows_finance else ["finance"],
    )


def _item(item: InventoryItem, *, shows_finance: bool) -> HeldDomainReply:
    return HeldDomainReply.from_record(
        item,
        unicode=domain_names.unicode_of(item.domain),
        renewal_price=item.renewal_price if shows_finance else None,
        in_portfolio=item.domain_id is not None,
    )


def _snapshot(snapshot: Snapshot) -> SnapshotReply:
    age_s = max(0, int((clock.now() - snapshot.taken_at).total_seconds()))
    return SnapshotReply.from_record(snapshot, age_s=age_s, complete=snapshot.is_complete)
