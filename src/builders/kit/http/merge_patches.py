"""Bodies of PATCH: merge patches (RFC 7396) that must change something."""

from itertools import islice
from typing import ClassVar, Self, TypeVar

from pydantic import ValidationError, model_validator
from pydantic_core import PydanticCustomError

from builders.kit.http.bodies import MAX_WARNINGS, Body, unknown_field_error
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
