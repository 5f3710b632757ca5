"""References of entries: those that a member, an import or a registrar gives, and those of the service itself."""

import re
from uuid import UUID

from builders.portfolio.ledger.records import Entry, EntrySource

RENEWAL, ACQUISITION = "renewal:", "acquisition/"  # no reference of a member begins with one of them
_RENEWAL = re.compile(rf"{RENEWAL}[0-9a-f-]{{36}}:(?P<given>.+)", re.DOTALL)


def acquisition_reference(domain_id: UUID) -> str:
    """Return the reference of the acquisition of a domain, which is recorded once."""
    return f"{ACQUISITION}{domain_id}"


def renewal_reference(renewal_id: UUID, order_ref: str) -> str:
    """Return the reference of a renewal. One order can contain several, so its number alone is not unique."""
    return f"{RENEWAL}{renewal_id}:{order_ref}"


def require_given(reference: str) -> str:
    """Return a reference of a member. Raise ValueError for one that only the service itself records."""
    for reserved in (RENEWAL, ACQUISITION):
        if reference.startswith(reserved):
            raise ValueError(f"A reference that begins with {reserved!r} is for the service itself.")
    return reference


def given_reference(reference: str | None) -> str | None:
    """Return the reference that a member gave, for a recorded one; None without one.

    One that is not of a form of the service is returned as it is.
    """
    if reference is None or reference.startswith(ACQUISITION):
        return None
    renewal = _RENEWAL.fullmatch(reference)
    return reference if renewal is None else renewal["given"]


def shown_reference(entry: Entry) -> str | None:
    """Return the reference that a member, an import or a registrar gave; None without one."""
    return None if entry.source in {EntrySource.SALE, EntrySource.PARKING} else given_reference(entry.reference)
