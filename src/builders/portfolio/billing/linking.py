"""Link a charge with the entry that a member recorded for it before, so that it is booked once."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from typing import TypeAlias
from uuid import UUID

from builders.portfolio.ledger.records import Entry, EntryKind, EntrySource, Likeness, NewEntry

# A purchase that was recorded as an acquisition is the registration that the registrar charges.
LIKENESS = Likeness(
    sources=frozenset({EntrySource.MANUAL, EntrySource.IMPORT}),
    same_kinds=frozenset({EntryKind.ACQUISITION, EntryKind.REGISTRATION}),
    period=timedelta(days=7),
    share=Decimal("0.05"),
)
# Domain, kind, currency, years and day, as a number.
_Key: TypeAlias = tuple[UUID, EntryKind, str, int, int]


class Recorded:
    """The entries that members recorded, without those of charges; each can be linked once."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._amounts = defaultdict[_Key, list[tuple[Decimal, UUID]]](list)
        for each in entries:
            key = _key(each.domain_id, each.kind, each.currency, each.years, each.occurred_on.toordinal())
            self._amounts[key].append((each.amount, each.id))
        for amounts in self._amounts.values():
            amounts.sort()

    def take(self, paid: NewEntry) -> UUID | None:
        """Return the entry that a member recorded for a charge, the closest in time; None without one.

        `paid` is what books the charge. An entry is the same with its kind, years and currency, within 7 days and
        5 percent of the amount.
        """
        on, amount = paid.occurred_on.toordinal(), paid.money.amount
        for distance in range(LIKENESS.period.days + 1):
            found = [
                (difference, day, place)
                for day in {on - distance, on + distance}
                for difference, place in self._closest(_key_of(paid, day), amount)
                if difference <= amount * LIKENESS.share
            ]
            if found:
                _, day, place = min(found)
                return self._amounts[_key_of(paid, day)].pop(place)[1]
        return None

    def _closest(self, key: _Key, amount: Decimal) -> Iterable[tuple[Decimal, int]]:
        """Return how much the closest amounts above and below differ, and their places."""
        amounts = self._amounts.get(key, [])
        at = bisect_left(amounts, amount, key=lambda each: each[0])
        return [(abs(amounts[each][0] - amount), each) for each in (at - 1, at) if 0 <= each < len(amounts)]


def _key_of(paid: NewEntry, day: int) -> _Key:
    return _key(paid.domain_id, paid.kind, paid.money.currency, paid.years, day)


def _key(domain_id: UUID, kind: EntryKind, currency: str, years: int | None, day: int) -> _Key:
    return (domain_id, EntryKind.REGISTRATION if kind in LIKENESS.same_kinds else kind, currency, years or 1, day)
