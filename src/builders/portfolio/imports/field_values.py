"""Values of a domain's fields as JSON: before and after an import, so that an undo restores them."""

from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from builders.portfolio.domains.records import DEFAULTS, FIELDS, Domain, DomainFields, DomainPatch, ExpirySource

_ADAPTERS: Mapping[str, TypeAdapter[Any]] = {
    name: TypeAdapter(hint) for name, hint in get_type_hints(DomainFields).items() if name in FIELDS
}
FieldValues = Mapping[str, Any]  # JSON by field
_OF_REGISTRIES = frozenset({"connection_id", "epp_statuses"})  # which no request sets
_EXPIRY = frozenset({"expires_at", "expiry_source"})


def list_changes(before: Domain, after: Domain) -> tuple[FieldValues, FieldValues]:
    """Return the old and new values of the fields that differ."""
    changed = [name for name in FIELDS if getattr(before, name) != getattr(after, name)]
    return _values(before, changed), _values(after, changed)


def values_of_added(domain: Domain) -> FieldValues:
    """Return the values of the fields that an added domain has."""
    return _values(domain, [name for name in FIELDS if not _is_same(getattr(domain, name), DEFAULTS[name])])


def list_changed_since(domain: Domain, added: FieldValues, registry: Mapping[str, Any]) -> Sequence[str]:
    """Return the fields of a domain that differ from those that it was added with.

    Values of the registry are not changes: `registry` is what it said last. A registrar connection is none either.
    """
    expected = {name: _read(name, added[name]) if name in added else DEFAULTS[name] for name in FIELDS}
    differing = [name for name in FIELDS if not _is_same(getattr(domain, name), expected[name])]
    ignored = _OF_REGISTRIES | (_EXPIRY if domain.expiry_source is ExpirySource.RDAP else frozenset())
    shown = _values(domain, [name for name in differing if name not in ignored])
    return [name for name, value in shown.items() if name not in registry or registry[name] != value]


def restoring_patch(domain: Domain, before: FieldValues, after: FieldValues) -> tuple[DomainPatch, Sequence[str]]:
    """Return the patch that restores the fields, and the fields that keep their values.

    Those were changed again since.
    """
    same = [name for name, value in after.items() if _is_same(_read(name, value), getattr(domain, name))]
    values = {name: _read(name, before[name]) for name in same}
    return DomainPatch(values), [name for name in after if name not in values]


def _is_same(one: Any, other: Any) -> bool:  # of any field
    return list(one) == list(other) if isinstance(one, list | tuple) else bool(one == other)


def _read(name: str, value: Any) -> Any:  # JSON; of any field
    return _ADAPTERS[name].validate_python(value)


def _values(domain: Domain, names: list[str]) -> FieldValues:
    return {name: _ADAPTERS[name].dump_python(getattr(domain, name), mode="json") for name in names}
