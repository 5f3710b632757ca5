"""Values of a domain's fields as JSON: before and after an import, so that an undo restores them."""

from collections.abc import Mapping
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from builders.portfolio.domains.records import FIELDS, Domain, DomainFields, DomainPatch

_ADAPTERS: Mapping[str, TypeAdapter[Any]] = {
    name: TypeAdapter(hint) for name, hint in get_type_hints(DomainFields).items() if name in FIELDS
}
Image = Mapping[str, Any]  # JSON by field


def list_changes(before: Domain, after: Domain) -> tuple[Image, Image]:
    """Return the old and new values of the fields that differ."""
    changed = [name for name in FIELDS if getattr(before, name) != getattr(after, name)]
    return _image(before, changed), _image(after, changed)


def restoring_patch(domain: Domain, before: Image, after: Image) -> tuple[DomainPatch, bool]:
    """Return the patch that restores the fields, and whether all are restored.

    A field that was changed again since keeps its value.
    """
    same = [
        name for name, value in after.items() if _ADAPTERS[name].validate_python(value) == getattr(domain, name)
    ]
    values = {name: _ADAPTERS[name].validate_python(before[name]) for name in same}
    return DomainPatch(**values), len(same) == len(after)


def _image(domain: Domain, names: list[str]) -> Image:
    return {name: _ADAPTERS[name].dump_python(getattr(domain, name), mode="json") for name in names}
