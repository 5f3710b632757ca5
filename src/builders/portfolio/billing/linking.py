"""Link a charge with the entry that a member recorded for it before, so that it is booked once."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from builders.portfolio.billing.records import Charge
from builders.portfolio.billing.wording import entry_kind
from builders.portfolio.ledger.records import Entry, EntryKind, EntrySource

SAME_PERIOD = timedelta(days=7)
SAME_AMOUNT = Decimal("0.05")
# A purchase that was recorded as an acquisition is the registration that the registrar charges.
_STARTS = frozenset({EntryKind.ACQUISITION, EntryKind.REGISTRATION})
_BY_HAND = frozenset({EntrySource.MANUAL, EntrySource.IMPORT})


def find_linked(
    charge: Charge, years: int | None, entries: Iterable[Entry], *, taken: Collection[UUID]
) -> Entry | None:
    """Return the entry that a member recorded for a charge, the closest in time; None without one.

    `taken` are entries of other charges. An entry is the same with its kind, years and currency, within 7 days and
    5 percent of the amount.
    """
    amount, kind = abs(charge.total), entry_kind(charge)
    found = [
        each
        for each in entries
        if each.source in _BY_HAND
        and not each.is_void
        and each.id not in taken
        and (each.kind is kind or {each.kind, kind} <= _STARTS)
        and (each.years or 1) == (years or 1)
        and each.currency == charge.currency
        and abs(each.occurred_on - charge.charged_on) <= SAME_PERIOD
        and abs(each.amount - amount) <= amount * SAME_AMOUNT
    ]
    return min(
        found,
        key=lambda each: (abs(each.occurred_on - charge.charged_on), abs(each.amount - amount)),
        default=None,
    )
