"""Forms, whose members derive from the fields of a record."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import Field, StringConstraints, ValidationError

from builders.kit.errors import Invalid
from builders.kit.http.bodies import Body, PatchBody
from builders.kit.http.members import create_of, patch_of
from builders.kit.values.money import Money
from builders.kit.values.patches import changes_of

Short = Annotated[str, StringConstraints(max_length=5)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lamp:
    """A record whose fields are declared for requests."""

    name: Annotated[Short, Field(description="Its name.")] = "hall"
    note: Annotated[Short | None, Field(description="A note; null for none.")] = None
    rooms: Annotated[Annotated[Sequence[Short], Field(max_length=2)], Field(description="Where it hangs.")] = ()
    price: Annotated[Money | None, Field(description="What it cost.")] = None
    share: Annotated[Decimal | None, Field(ge=0, description="In percent.")] = None


@create_of(Lamp, "note", name="hall", rooms=(), price=None, share=None)
class LampCreate(Body):
    """A body that creates a lamp."""

    id: int
    currency: str | None = None


@patch_of(Lamp, "name", "note", "rooms", "price")
class LampUpdate(PatchBody):
    """A merge patch of a lamp."""


def created(**members: Any) -> dict[str, Any]:
    body = LampCreate.model_validate({"id": 1, "note": None, **members})
    return body.values(currency=body.currency)


def patched(**members: Any) -> dict[str, Any]:
    return LampUpdate.model_validate(members).values(currency="EUR")


def test_the_members_of_a_class_come_before_those_of_the_record() -> None:
    assert list(LampCreate.model_fields) == ["id", "currency", "note", "name", "rooms", "price", "share"]


def test_a_member_without_a_default_is_required() -> None:
    with pytest.raises(ValidationError, match="note"):
        LampCreate.model_validate({"id": 1})


def test_an_absent_member_of_a_new_resource_has_the_default_of_the_form() -> None:
    assert Lamp(**created()) == Lamp()


def test_the_rules_of_a_field_hold_in_a_request() -> None:
    with pytest.raises(ValidationError, match="at most 5 characters"):
        created(note="a long note")


def test_the_rules_of_a_list_hold_in_a_request() -> None:
    with pytest.raises(ValidationError, match="at most 2 items"):
        created(rooms=["a", "b", "c"])


def test_an_amount_takes_the_currency_beside_it() -> None:
    assert created(price="2.50", currency="EUR")["price"] == Money(Decimal("2.50"), "EUR")


def test_an_amount_without_a_currency_is_refused_at_its_member() -> None:
    with pytest.raises(Invalid) as refused:
        created(price="2.50")
    assert refused.value.errors[0]["loc"] == ["body", "price"]


def test_a_patch_has_only_the_members_that_were_sent() -> None:
    assert patched(note="new") == {"note": "new"}


def test_null_clears_a_text_a_list_and_an_amount() -> None:
    assert patched(note=None, rooms=None, price=None) == {"note": None, "rooms": [], "price": None}


def test_a_member_that_has_always_a_value_refuses_null() -> None:
    with pytest.raises(ValidationError, match="valid string"):
        patched(name=None)


def test_a_patch_publishes_no_default_of_a_member_that_refuses_null() -> None:
    assert "default" not in LampUpdate.model_json_schema()["properties"]["name"]


def test_changes_of_a_record_take_its_fields_by_name() -> None:
    change = changes_of(Lamp)(note="new")
    assert replace(Lamp(), **change.members) == Lamp(note="new")


def test_a_patch_takes_no_member_that_its_body_does_not_have() -> None:
    assert patched(name="desk", share="nonsense") == {"name": "desk"}


def test_a_form_has_no_member_that_the_record_does_not_have() -> None:
    with pytest.raises(KeyError, match="colour"):
        patch_of(Lamp, "colour")
