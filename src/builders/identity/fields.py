"""Types of members of request bodies."""

from dataclasses import fields
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from builders.kit.http.bodies import Body
from builders.kit.http.members import form_of
from builders.kit.mandates import Mandate
from builders.kit.values.resources import members_of


@form_of(
    Mandate,
    {
        each.name: (Annotated[each.kind, Field(description=each.description)], each.default)
        for each in members_of(Mandate)
    },
)
class MandateCreate(Body, extra="forbid"):
    """What a key may do and spend. Unknown members are refused: a misspelled limit would be none."""


def _read(form: Any) -> Mandate | None:  # a MandateCreate, whose members a decorator adds
    return form and Mandate(**{each.name: getattr(form, each.name) for each in fields(Mandate)})


# A Mandate after the validation of its body.
MandateInput = Annotated[MandateCreate | None, AfterValidator(_read)]
