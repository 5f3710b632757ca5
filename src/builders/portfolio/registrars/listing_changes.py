"""The changes that a listing makes in the domains of a portfolio. Pure.

The expiry and auto-renew are the registrar's. Unknown values of other fields are filled in, and values that are
still those of the last listing follow it; a value that a member entered stays. A missing value changes nothing,
nor does another time of the same day.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from pydantic_core import to_jsonable_python

from builders.kit.values import domain_names
from builders.kit.values.money import Money
from builders.portfolio.domains.fields import MAX_NAMESERVERS
from builders.portfolio.domains.records import Domain, DomainPatch, ExpirySource
from builders.portfolio.domains.today import Today
from builders.portfolio.registrars.records import HeldDomain, HeldStatus, HeldTransfer, Holding

MAX_STATUS = 200
AMOUNT_LIMIT = Decimal(10) ** 15  # beyond all prices and charges
# The fields whose changes are reported.
REPORTED = (
    *("expires_at", "auto_renew", "locked", "privacy"),
    *("nameservers", "renewal_price", "registered_on", "registrar"),
)
_STORED = ("domain", "expires_at", "auto_renew", "locked", "privacy", "status", "status_raw")  # as they are


def clean(page: Sequence[HeldDomain]) -> Mapping[str, HeldDomain]:
    """Return the rows of a page by domain, as they can be stored.

    Of a repeated domain it is the last one that the account holds: GoDaddy lists a name that was lost and then
    registered again twice.
    """
    held = sorted(page, key=lambda each: each.status is not HeldStatus.GONE)
    return {each.domain: cleaned(each) for each in held}


def cleaned_transfer(transfer: HeldTransfer) -> HeldTransfer:
    """Return a transfer as it can be stored."""
    message = transfer.message
    return replace(
        transfer,
        status_raw=transfer.status_raw.replace("\0", "")[:MAX_STATUS],
        message=None if message is None else message.replace("\0", "")[:MAX_STATUS],
    )


def cleaned(held: HeldDomain) -> HeldDomain:
    """Return a row as it can be stored."""
    status, price = held.status_raw, held.renewal_price
    nameservers = held.nameservers
    if nameservers is not None:
        hosts = dict.fromkeys(filter(None, map(domain_names.find_a_label, nameservers)))
        nameservers = list(hosts)[:MAX_NAMESERVERS] or None
    return replace(
        held,
        status_raw=None if status is None else status.replace("\0", "")[:MAX_STATUS],
        nameservers=nameservers,
        renewal_price=None if price is None or abs(price.amount) >= AMOUNT_LIMIT else price.quantized(),
    )


def row_of(held: HeldDomain | Holding) -> Mapping[str, Any]:
    """Return a row in its stored form."""
    price = held.renewal_price
    return {
        **{name: getattr(held, name) for name in _STORED},
        "registered_at": _registered_at(held),
        "nameservers": None if held.nameservers is None else list(held.nameservers),
        "renewal_price": None if price is None else f"{price.amount:f}",
        "renewal_currency": None if price is None else price.currency,
    }


def is_source(
    domain: Domain, *, connection_id: UUID, held: HeldDomain, holders: Collection[tuple[str, UUID]]
) -> bool:
    """Return whether a connection keeps a domain up to date.

    A domain that several connections hold follows the one that it is connected to, while that one has it.
    """
    if held.status is HeldStatus.GONE:
        return False
    return domain.connection_id in {None, connection_id} or (domain.domain, domain.connection_id) not in holders


def patch_of(
    domain: Domain,
    held: HeldDomain,
    *,
    before: Holding | None,
    connection_id: UUID,
    registrar: str,
    today: Today,
) -> DomainPatch:
    """Return the changes that a row makes in a domain; `before` is the row of the last listing."""
    members: dict[str, Any] = {} if domain.connection_id == connection_id else {"connection_id": connection_id}
    if domain.registrar is None:
        members["registrar"] = registrar
    if held.expires_at is not None:
        members["expires_at"] = _kept(domain.expires_at, held.expires_at, today)
        members["expiry_source"] = ExpirySource.REGISTRAR
    if held.auto_renew is not None:
        members["auto_renew"] = held.auto_renew
    said = None if before is None else _facts(before)
    for name, value in _facts(held).items():
        present = getattr(domain, name)
        present = list(present) if isinstance(present, Sequence) else present
        follows = present in (None, []) or (said is not None and present == said[name])
        if value is not None and follows:
            members[name] = value
    changed = {name: value for name, value in members.items() if getattr(domain, name) != value}
    if "expires_at" in changed:
        changed["expiry_source"] = ExpirySource.REGISTRAR  # else it would count as entered by hand
    return DomainPatch(changed)


def keep_times(held: HeldDomain, before: Holding | None, today: Today) -> HeldDomain:
    """Return a row with the times of the last listing where only the time of day differs."""
    if before is None:
        return held
    return replace(
        held,
        expires_at=_kept(before.expires_at, held.expires_at, today),
        created_at=_kept(before.registered_at, held.created_at, today),
    )


def _kept(known: datetime | None, said: datetime | None, today: Today) -> datetime | None:
    return known if known is not None and said is not None and today.is_same_day(known, said) else said


def _registered_at(held: HeldDomain | Holding) -> datetime | None:
    return held.created_at if isinstance(held, HeldDomain) else held.registered_at


def _facts(held: HeldDomain | Holding) -> Mapping[str, Any]:
    created_at = _registered_at(held)
    return {
        "locked": held.locked,
        "privacy": held.privacy,
        "nameservers": None if held.nameservers is None else list(held.nameservers),
        "renewal_price": held.renewal_price,
        "registered_on": None if created_at is None else created_at.date(),
    }


def reported_changes(domain: Domain, patch: DomainPatch) -> Sequence[Mapping[str, Any]]:
    """Return the changed fields of a domain, in JSON."""
    after = replace(domain, **patch.members)
    return [
        {
            "domain": domain.domain,
            "domain_id": str(domain.id),
            "field": name,
            "from": _json(getattr(domain, name)),
            "to": _json(getattr(after, name)),
        }
        for name in REPORTED
        if getattr(domain, name) != getattr(after, name)
    ]


def replaces_known(domain: Domain, patch: DomainPatch) -> bool:
    """Return whether a change replaces a known value, and is not only one that was unknown."""
    return any(getattr(domain, name) not in (None, [], ()) for name in patch.members if name in REPORTED)


def _json(value: Any) -> Any:  # a field of a domain, in JSON
    return value.to_wire() if isinstance(value, Money) else to_jsonable_python(value)
