"""When two entries are alike."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from builders.portfolio.ledger.records import EntryKind, EntrySource


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """Which present entries are like a new one, besides the same domain, currency and years."""

    sources: AbstractSet[EntrySource]
    same_kinds: AbstractSet[EntryKind]  # that are like each other; any kind is like itself
    period: timedelta  # before and after its day
    share: Decimal  # of its amount that they differ by
