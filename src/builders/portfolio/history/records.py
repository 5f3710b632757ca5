"""Records of the history of domains."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainHistory:
    """What is recorded on a domain besides its own fields."""

    domain_id: UUID
    entries: int  # of the ledger, void ones excluded
    sales: int
    charges: int  # of registrars, that are matched with the domain
    parking_days: int
    decisions: int  # about its renewal
    transfers: int  # and requested auth codes
    holdings: int  # registrars that have listed the domain since a time
    registry: Mapping[str, Any]  # what the registry said last, as JSON

    @property
    def recorded(self) -> Mapping[str, int]:
        """Return the counts that a removal would delete for good; without those of zero."""
        counts = {name: getattr(self, name) for name in ("entries", "sales", "charges", "parking_days")}
        return {name: count for name, count in counts.items() if count}
