"""Columns of the portfolio's domains, and rows as records."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, LiteralString

from builders.kit.values.money import Money
from builders.portfolio.domains.lifecycle import find_state
from builders.portfolio.domains.records import FIELDS, Domain, DomainFields, ExpirySource

# Each amount with the column of its currency.
CURRENCIES = {
    "renewal_price": "renewal_currency",
    "asking_price": "asking_currency",
    "min_offer": "min_offer_currency",
    "estimated_value": "estimated_currency",
}
_NAME: Mapping[LiteralString, LiteralString] = {"id": "uuid", "domain": "text", "unicode": "text", "tld": "text"}
# What is written of a domain, with the types of its columns.
_FIELDS: Mapping[LiteralString, LiteralString] = {
    **dict.fromkeys(("status", "ownership", "counterparty", "registrar", "expiry_source"), "text"),
    **dict.fromkeys(("renewal_currency", "asking_currency", "min_offer_currency", "estimated_currency"), "text"),
    **dict.fromkeys(("folder", "notes", "lifecycle"), "text"),
    **dict.fromkeys(("revenue_share", "renewal_price", "asking_price", "min_offer", "estimated_value"), "numeric"),
    **dict.fromkeys(("nameservers", "epp_statuses", "tags"), "text[]"),
    **dict.fromkeys(("auto_renew", "locked", "privacy", "pinned"), "boolean"),
    **dict.fromkeys(("registered_on", "acquired_on"), "date"),
    "connection_id": "uuid",
    "expires_at": "timestamptz",
}
FIELDS_WRITTEN = ", ".join(_FIELDS)
COLUMNS = f"{', '.join(_NAME)}, {FIELDS_WRITTEN}, created_at, updated_at"
# The record of a row of JSON, and the assignments of its fields.
_STATED: Mapping[LiteralString, LiteralString] = {**_FIELDS, "lifecycle_due_at": "timestamptz"}
_TYPED: Sequence[LiteralString] = [name + " " + kind for name, kind in (*_NAME.items(), *_STATED.items())]
_EQUATED: Sequence[LiteralString] = [name + " = written." + name for name in _STATED]
WRITTEN, ASSIGNED = ", ".join(_TYPED), ", ".join(_EQUATED)


def domain_of(**columns: Any) -> Domain:
    """Return the record of a row."""
    for amount, currency in CURRENCIES.items():
        columns[amount] = _money(columns[amount], columns.pop(currency))
    return Domain(**columns)


def _money(amount: Decimal | None, currency: str | None) -> Money | None:
    return None if amount is None or currency is None else Money(amount, currency)


def written_columns(fields: DomainFields, *, tld: str, now: datetime) -> Mapping[str, Any]:
    """Return the columns of a domain to write, with its state at a time."""
    columns: dict[str, Any] = {name: getattr(fields, name) for name in FIELDS}
    if fields.expires_at is not None:
        columns["expiry_source"] = fields.expiry_source or ExpirySource.MANUAL
    for amount, currency in CURRENCIES.items():
        money: Money | None = columns[amount]
        columns[amount] = None if money is None else f"{money.quantized().amount:f}"
        columns[currency] = None if money is None else money.currency
    state = find_state(fields, tld=tld, now=now)
    return {**columns, "lifecycle": state.lifecycle, "lifecycle_due_at": state.changes_at}
