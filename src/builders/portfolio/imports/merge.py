"""What a draft does to a domain: the fields of a new one, the patch of a present one, the missing entries."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import Any, TypeVar

from builders.portfolio.domain_files.drafts import Draft, ImportConflict
from builders.portfolio.domains.fields import MAX_TAGS
from builders.portfolio.domains.records import Domain, DomainPatch, NewDomain, Ownership, PortfolioDomainStatus
from builders.portfolio.domains.today import Today
from builders.portfolio.ledger.records import EntryFields, EntryKey, NewEntry

# What a blank cell of a column sets with `overwrite`; the other fields become None, and those below stay.
_CLEARED: Mapping[str, Any] = {"nameservers": (), "epp_statuses": (), "tags": (), "pinned": False}
_KEPT = frozenset({"status", "ownership", "expiry_source"})
K = TypeVar("K", bound=Hashable)
E = TypeVar("E", EntryFields, NewEntry)


def combine(first: Draft, later: Draft) -> Draft:
    """Return two drafts of one domain as one: the values of the later count, tags and days of parking are added.

    `repeats.combine` decides about their entries and sales.
    """
    values = {
        **first.values,
        **{
            name: value
            for name, value in later.values.items()
            if name not in later.defaulted or name in first.defaulted
        },
    }
    tags = list(dict.fromkeys((*first.values.get("tags", ()), *later.values.get("tags", ()))))[:MAX_TAGS]
    return replace(
        first,
        values={**values, "tags": tags} if tags else values,
        blank=first.blank & later.blank,
        defaulted=(first.defaulted - later.values.keys()) | (first.defaulted & later.defaulted),
        parking=(*first.parking, *later.parking),
        decision=later.decision or first.decision,
    )


def new_domain(draft: Draft) -> NewDomain:
    """Return the domain that a draft adds."""
    if draft.name is None:
        raise ValueError("A draft without a name adds no domain.")
    values = dict(draft.values)
    expires_at = _moment(values.get("expires_at"))
    values["expires_at"] = expires_at
    source = values.get("expiry_source") or draft.expiry_source
    values["expiry_source"] = None if expires_at is None else source
    ownership = values.get("ownership", Ownership.OWNED)
    values.setdefault("status", PortfolioDomainStatus(ownership.value))
    if ownership is Ownership.OWNED:
        values |= {"counterparty": None, "revenue_share": None}
    return NewDomain(name=draft.name, **values)


def patch_of(domain: Domain, draft: Draft, on_conflict: ImportConflict, *, today: Today) -> DomainPatch:
    """Return the patch of a domain that the portfolio has."""
    values = {
        name: value
        for name, value in draft.values.items()
        if name not in draft.defaulted or getattr(domain, name) in (None, (), [])
    }
    if "expires_at" in values:
        values |= _expiry(domain, draft, values, today)
    if on_conflict is ImportConflict.OVERWRITE:
        values |= {name: _CLEARED.get(name) for name in draft.blank - _KEPT}
    elif "tags" in values:
        values["tags"] = list(dict.fromkeys((*domain.tags, *values["tags"])))[:MAX_TAGS]
    return DomainPatch(values)


def _expiry(domain: Domain, draft: Draft, values: Mapping[str, Any], today: Today) -> Mapping[str, Any]:
    """Return the expiry and its source; another time of the same day is no change."""
    moment, known = _moment(values["expires_at"]), domain.expires_at
    if moment is not None and known is not None and today.is_same_day(known, moment):
        moment = known
    given = values.get("expiry_source")
    source = domain.expiry_source if moment == known and given is None else given or draft.expiry_source
    return {"expires_at": moment, "expiry_source": source}


def _moment(value: date | datetime | None) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    return datetime.combine(value, time(), UTC)


def missing_entries(entries: Sequence[NewEntry], present: Counter[EntryKey]) -> Sequence[NewEntry]:
    """Return the entries of which the ledger has fewer of the same, from any source.

    Entries are the same with the same kind, day and amount; two such entries of a draft are two.
    """
    return _beyond(entries, present, lambda each: each.key)


def unknown_entries(entries: Sequence[EntryFields], known: Sequence[EntryFields]) -> Sequence[EntryFields]:
    """Return the entries of rows that no other row has."""
    return _beyond(entries, Counter(map(_key_of_draft, known)), _key_of_draft)


def _beyond(entries: Iterable[E], known: Mapping[K, int], key_of: Callable[[E], K]) -> Sequence[E]:
    left = Counter(known)
    missing = list[E]()
    for entry in entries:
        left[key_of(entry)] -= 1
        if left[key_of(entry)] < 0:
            missing.append(entry)
    return missing


def _key_of_draft(entry: EntryFields) -> tuple[object, ...]:
    return (entry.kind, entry.occurred_on, entry.amount, entry.currency, entry.voided_at)
