"""The three states of a member of a merge patch: absent, cleared, a value."""

from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic import Field, ValidationError

from builders.kit.http.bodies import PatchBody
from builders.kit.values.patches import UNSET, Patch, patched, set_members


class LampUpdate(PatchBody):
    """A patch."""

    note: Annotated[str | None, Field(max_length=9)] = None
    watts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LampPatch:
    """The record of a patch."""

    note: Patch[str | None] = UNSET
    watts: Patch[int] = UNSET


@pytest.mark.parametrize(
    ("body", "note"),
    [({"watts": 5}, UNSET), ({"note": None}, None), ({"note": "hall"}, "hall"), ({"note": ""}, "")],
)
def test_absent_cleared_and_given_members_differ(body: dict[str, object], note: object) -> None:
    sent = LampUpdate.model_validate(body)
    assert sent.patch_of("note", sent.note) == note


def test_absent_members_stay_and_null_members_are_cleared() -> None:
    assert patched(UNSET, "before") == "before"
    assert patched(None, "before") is None
    assert patched("after", "before") == "after"
    assert (patched(False, True), patched("", "before")) == (False, "")


def test_the_members_of_a_patch_are_those_that_it_sets() -> None:
    assert set_members(LampPatch()) == {}
    assert set_members(LampPatch(note=None, watts=5)) == {"note": None, "watts": 5}


def test_unset_shows_its_name() -> None:
    assert repr(UNSET) == "UNSET"


def test_a_patch_without_members_is_refused() -> None:
    with pytest.raises(ValidationError, match="A patch must have"):
        LampUpdate.model_validate({})
