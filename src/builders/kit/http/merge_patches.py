"""Bodies of PATCH: merge patches (RFC 7396) that must change something."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from builders.kit.http.bodies import MAX_WARNINGS, Body, unknown_field_error
from builders.kit.values.money import Money
from builders.kit.values.patches import UNSET, Patch

T = TypeVar("T")


class PatchBody(Body):
    """A merge patch: an absent member stays as it is, null clears it.

    A patch that would change nothing is refused: one without members (`patch_empty`), and one whose members are
    all unknown (`unknown_field` for each). Beside a known member an unknown one is a warning, as in every Body.
    """

    # Members that change nothing by themselves, such as the version that is expected.
    conditions: ClassVar[frozenset[str]] = frozenset()

    def patch_of(self, name: str, value: T) -> Patch[T]:
        """Return the member's value, or UNSET when the body does not have the member."""
        return value if name in self.model_fields_set else UNSET

    def sent_members(self) -> dict[str, Any]:
        """Return the known members of the body, and of the bodies in it, as JSON values: for a deep merge."""
        found: dict[str, Any] = _sent(self)
        return found

    @model_validator(mode="after")
    def _require_change(self) -> Self:
        model = type(self)
        known = [name for name in model.model_fields if name not in model.conditions]
        if not self.model_fields_set.isdisjoint(known):
            return self
        unknown = [unknown_field_error(model, name) for name in islice(self.model_extra or (), MAX_WARNINGS)]
        if unknown:
            raise ValidationError.from_exception_data(model.__name__, unknown)
        message = "A patch changes something: send at least one of {known}."
        raise PydanticCustomError("patch_empty", message, {"known": ", ".join(known)})


def _sent(value: object) -> Any:  # a JSON value
    if isinstance(value, BaseModel):
        known = value.model_fields_set & type(value).model_fields.keys()
        return {name: _sent(getattr(value, name)) for name in known}
    if isinstance(value, Mapping):
        return {name: _sent(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_sent(each) for each in value]
    return value.to_wire() if isinstance(value, Money) else value
