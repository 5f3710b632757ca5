"""References of entries that finance itself records."""

from uuid import UUID

from builders.portfolio.ledger.records import Entry, EntrySource

RENEWAL = "renewal:"  # no reference of a member begins with it


def acquisition_reference(domain_id: UUID) -> str:
    """Return the reference of the acquisition of a domain, which is recorded once."""
    return f"acquisition/{domain_id}"


def renewal_reference(renewal_id: UUID, order_ref: str) -> str:
    """Return the reference of a renewal. One order can contain several, so its number alone is not unique."""
    return f"{RENEWAL}{renewal_id}:{order_ref}"


def shown_reference(entry: Entry) -> str | None:
    """Return the reference that a member, an import or a registrar gave; None without one."""
    reference = entry.reference
    if reference is None or entry.source in {EntrySource.SALE, EntrySource.PARKING}:
        return None
    if reference.startswith(RENEWAL):
        return reference.split(":", 2)[2]
    return None if reference == acquisition_reference(entry.domain_id) else reference
