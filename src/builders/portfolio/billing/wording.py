"""Read years from the words of a bill, and map kinds of charges to kinds of ledger entries."""

import re
from collections.abc import Mapping
from decimal import Decimal

from builders.kit.values.money import Money
from builders.portfolio.billing.records import MAX_YEARS, ChargeFields
from builders.portfolio.ledger.records import EntryKind
from builders.portfolio.registrars.records import ChargeKind

_YEARS = re.compile(
    r"(?<![\d.])(?P<years>\d{1,2})[\s-]*(?:years?|yrs?|yr\(s\)|year\(s\)|jahre?|ans?|años?)(?![a-z])",
    re.IGNORECASE,
)
_MONTHS = re.compile(r"(?<![\d.])(?P<months>\d{1,3})[\s-]*(?:months?|mos?|monate?|mois)(?![a-z])", re.IGNORECASE)
_YEAR = 12  # months
_TOLERANCE = Decimal("0.05")  # by which a price can differ from the list price
_COUNTRY_CODE = 2  # characters of the suffix of a country
_PERIODIC = frozenset({ChargeKind.REGISTRATION, ChargeKind.RENEWAL, ChargeKind.TRANSFER, ChargeKind.PRIVACY})
ENTRY_KINDS: Mapping[ChargeKind, EntryKind] = {
    ChargeKind.REGISTRATION: EntryKind.REGISTRATION,
    ChargeKind.RENEWAL: EntryKind.RENEWAL,
    ChargeKind.TRANSFER: EntryKind.TRANSFER_FEE,
    ChargeKind.REDEMPTION: EntryKind.REDEMPTION,
    ChargeKind.PRIVACY: EntryKind.PRIVACY,
    ChargeKind.TAX: EntryKind.TAX,
    ChargeKind.REFUND: EntryKind.REFUND,
    ChargeKind.OTHER: EntryKind.OTHER_COST,
}


def entry_kind(charge: ChargeFields) -> EntryKind:
    """Return the kind of the entry that books a charge."""
    return EntryKind.REFUND if charge.is_refund else ENTRY_KINDS[charge.kind]


def find_years(charge: ChargeFields, *, price: Money | None) -> int | None:
    """Return the years that a charge pays for: by its field, its words, or the price of a year. None: unknown.

    The transfer of a domain of a generic suffix adds a year.
    """
    if charge.kind not in _PERIODIC:
        return charge.years
    found = charge.years or read_years(charge.description)
    if found is None and charge.kind is ChargeKind.RENEWAL:
        found = _divide(charge.money, price)
    if found is None and charge.kind is ChargeKind.TRANSFER and _is_generic(charge.domain):
        return 1
    return found


def read_years(text: str) -> int | None:
    """Return the years that a text names, also as months; None without any."""
    if found := _YEARS.search(text):
        years = int(found["years"])
    elif found := _MONTHS.search(text):
        years, rest = divmod(int(found["months"]), _YEAR)
        years = 0 if rest else years
    else:
        return None
    return years if 1 <= years <= MAX_YEARS else None


def _divide(total: Money, price: Money | None) -> int | None:
    """Return how many times the price of a year is in the total, nearly; None when it is not."""
    if price is None or price.currency != total.currency or price.amount <= 0 or total.amount <= 0:
        return None
    years = int((total.amount / price.amount).to_integral_value())
    is_near = abs(total.amount - years * price.amount) <= total.amount * _TOLERANCE
    return years if is_near and 1 <= years <= MAX_YEARS else None


def _is_generic(domain: str | None) -> bool:
    return domain is not None and len(domain.rpartition(".")[2]) != _COUNTRY_CODE
