"""A record that is the row, the answer and the data of an event."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, StringConstraints, TypeAdapter, ValidationError

from builders.kit.callers import Caller
from builders.kit.db.columns import columns_of, settings_of, typed_columns_of
from builders.kit.events.payloads import event_of, values_of
from builders.kit.http.bodies import Body, PatchBody, StrictBody
from builders.kit.http.members import create_of, manifest_of, patch_of, record_of, shown, written_of
from builders.kit.pages import Page
from builders.kit.values import ids
from builders.kit.values.docs import doc
from builders.kit.values.resources import (
    HIDDEN,
    MONEY,
    OF_CALLER,
    ONCE,
    Mark,
    Masked,
    extended,
    members_of,
    resource,
    shown_once_of,
)

LIVE, SANDBOX = ids.new(), ids.new()
Name = Annotated[str, StringConstraints(max_length=5)]


@resource("BoatReply", computed={"is_named": "Whether it has a name."})
@dataclass(frozen=True, slots=True, kw_only=True)
class Boat:
    """A boat."""

    account_id: Annotated[UUID, doc("The account."), OF_CALLER]
    name: Annotated[Name | None, doc("Its name.")] = None
    ports: Annotated[list[Name], Field(max_length=2), doc("Where it goes.")]
    labels: Annotated[Mapping[str, Name], doc("Its labels.")]
    owner: Annotated[str, doc("Who owns it."), Masked(lambda text: text[0])]
    berth: Annotated[int, doc("Where it lies."), HIDDEN] = 0
    livemode: Annotated[bool, doc("False in the sandbox."), OF_CALLER] = True

    @property
    def is_named(self) -> bool:
        """Return whether it has a name."""
        return self.name is not None


@resource("LightReply", optional={"is_on": True})
@dataclass(frozen=True, slots=True, kw_only=True)
class Light:
    """A light."""

    colour: Annotated[str, doc("Its colour.")]
    is_on: Annotated[bool, doc("Whether it is on.")] = True


BOAT = Boat(account_id=SANDBOX, ports=["Oslo"], labels={"a": "b"}, owner="Ada")
BoatWritten = written_of(Boat)


@create_of(Boat, "owner", name=None, ports=None, labels=None)
class BoatCreate(Body):
    """A boat to create."""


@manifest_of(Boat, "owner", name=None, ports=list)
class ManifestBoat(StrictBody):
    """A boat in a manifest."""


@patch_of(Boat, "owner", "name", "ports")
class BoatUpdate(PatchBody):
    """A patch of a boat."""


@event_of(Boat, "name", "changed", "owner")
class BoatData(BaseModel):
    """The data of an event."""

    changed: Annotated[list[str], doc("What changed.")]


def schema(kind: type) -> Mapping[str, Mapping[str, object]]:
    found: Mapping[str, Mapping[str, object]] = TypeAdapter(kind).json_schema(mode="serialization")
    return found


def test_an_answer_has_the_shown_members_and_the_computed_ones() -> None:
    assert TypeAdapter(Boat).dump_python(BOAT) == {
        "account_id": SANDBOX,
        "name": None,
        "ports": ["Oslo"],
        "labels": {"a": "b"},
        "owner": "Ada",
        "livemode": True,
        "is_named": False,
    }


def test_the_schema_of_an_answer_has_all_members_and_no_rules_of_requests() -> None:
    assert schema(Boat) == {
        "title": "BoatReply",
        "description": "A boat.",
        "type": "object",
        "required": ["account_id", "name", "ports", "labels", "owner", "livemode", "is_named"],
        "properties": {
            "account_id": {
                "title": "Account Id",
                "type": "string",
                "format": "uuid",
                "description": "The account.",
            },
            "name": {"title": "Name", "anyOf": [{"type": "string"}, {"type": "null"}], "description": "Its name."},
            "ports": {
                "title": "Ports",
                "type": "array",
                "items": {"type": "string"},
                "description": "Where it goes.",
            },
            "labels": {
                "title": "Labels",
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Its labels.",
            },
            "owner": {"title": "Owner", "type": "string", "description": "Who owns it."},
            "livemode": {"title": "Livemode", "type": "boolean", "description": "False in the sandbox."},
            "is_named": {"title": "Is Named", "type": "boolean", "description": "Whether it has a name."},
        },
    }


def test_the_answer_to_a_change_has_warnings_which_are_optional() -> None:
    described = schema(BoatWritten)

    assert (BoatWritten.__name__, record_of(BoatWritten)) == ("BoatWritten", Boat)
    assert [*described["properties"]][-2:] == ["warnings", "is_named"]
    assert "warnings" not in described["required"]


@pytest.mark.parametrize("mode", ["live", "test"])
def test_a_caller_sees_one_account_id_and_the_mode(mode: str) -> None:
    caller = Caller(
        account_id=SANDBOX if mode == "test" else LIVE,
        live_account_id=LIVE,
        mode="test" if mode == "test" else "live",
        method="api_key",
        scopes=frozenset(),
        key_id=None,
    )
    seen = replace(BOAT, account_id=LIVE, livemode=mode == "live")

    assert shown(Page(items=[BOAT], next_cursor=None), caller).items == [seen]


def test_the_answer_to_a_change_has_the_optional_members_of_the_record() -> None:
    described = schema(written_of(Light, "LightWritten"))

    assert [*described["required"]] == ["colour"]
    assert described["properties"]["is_on"] == {
        "title": "Is On",
        "type": "boolean",
        "description": "Whether it is on.",
        "default": True,
    }


def test_another_answer_is_shown_as_it_is() -> None:
    reply = BoatData(name=None, changed=[], owner="A")
    caller = Caller(
        account_id=LIVE, live_account_id=LIVE, mode="live", method="jwt", scopes=frozenset(), key_id=None
    )

    assert shown(reply, caller) is reply


def test_a_body_has_the_rules_of_the_record() -> None:
    with pytest.raises(ValidationError, match="at most 5"):
        BoatCreate.model_validate({"owner": "Ada", "name": "too long"})


@pytest.mark.parametrize("absent", [{}, {"ports": None, "labels": None}])
def test_an_absent_list_of_a_body_is_empty(absent: Mapping[str, None]) -> None:
    body = BoatCreate.model_validate({"owner": "Ada", **absent})

    assert body.values() == {"name": None, "ports": [], "labels": {}, "owner": "Ada"}


def test_a_resource_of_a_manifest_has_a_key_and_made_defaults() -> None:
    one, other = (ManifestBoat.model_validate({"key": key, "owner": "Ada"}) for key in ("one", "other"))

    assert one.model_dump() == {"key": "one", "owner": "Ada", "name": None, "ports": []}
    assert one.values()["ports"] is not other.values()["ports"]


@pytest.mark.parametrize("members", [{"key": "One"}, {"key": "one", "ports": None}, {"owner": None}])
def test_a_resource_of_a_manifest_has_the_rules_of_the_record(members: Mapping[str, str | None]) -> None:
    with pytest.raises(ValidationError):
        ManifestBoat.model_validate({"owner": "Ada", **members})


def test_a_patch_has_the_values_that_were_sent() -> None:
    assert BoatUpdate.model_validate({"name": None, "ports": None}).values() == {"name": None, "ports": []}


def test_a_patch_does_not_clear_what_cannot_be_null() -> None:
    with pytest.raises(ValidationError, match="owner"):
        BoatUpdate.model_validate({"owner": None})


def test_an_event_has_its_members_in_order_with_the_masked_ones_masked() -> None:
    data = BoatData(changed=["name"], **values_of(BOAT, BoatData))

    assert data.model_dump_json() == '{"name":null,"changed":["name"],"owner":"A"}'


def test_a_member_that_is_declared_again_is_still_masked() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Ferry(Boat):
        owner: Annotated[str, doc("The company.")]

    ferry = extended(Ferry, BOAT, owner="Bergen Line")

    assert values_of(ferry, BoatData)["owner"] == "B"


@pytest.mark.parametrize("mark", [ONCE, MONEY])
def test_a_member_that_is_declared_again_is_still_protected(mark: Mark) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Locker:
        code: Annotated[str, doc("Its code."), mark]

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Box(Locker):
        code: Annotated[str, doc("Its number.")]

    [code] = members_of(Box)

    assert list(code.marks) == [mark]


def test_columns_are_the_fields_of_a_row() -> None:
    assert columns_of(Boat) == "account_id, name, ports, labels, owner, berth"
    assert columns_of(Boat, "boat").startswith("boat.account_id, boat.name")
    assert (
        typed_columns_of(Boat)
        == "account_id uuid, name text, ports text[], labels jsonb, owner text, berth bigint"
    )
    assert settings_of(Boat, "new").startswith("account_id = new.account_id, name = new.name")


def test_each_member_has_its_text() -> None:
    assert [each.name for each in members_of(Boat)] == [each.name for each in fields(Boat)]
    assert all(each.description for each in members_of(Boat))


@resource("KeyReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The key of a boat."""

    secret: Annotated[str | None, doc("Shown once."), ONCE] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Several keys."""

    first: Annotated[Key | None, doc("The first one.")]
    others: Annotated[list[Key], doc("The other ones.")]


def test_a_member_that_is_shown_once_is_found_also_in_other_records() -> None:
    assert shown_once_of(Keys) == {"first": {"secret": True}, "others": {"__all__": {"secret": True}}}


class KeyRing(BaseModel):
    """Keys in a model."""

    keys: list[Key]


def test_a_member_that_is_shown_once_is_found_also_in_a_model() -> None:
    assert shown_once_of(KeyRing) == {"keys": {"__all__": {"secret": True}}}


def test_a_record_without_secrets_shows_all_members_again() -> None:
    assert shown_once_of(Boat) == {}


def test_a_member_that_is_shown_once_and_has_a_default_can_be_absent() -> None:
    assert not schema(Key)["required"]


@resource("FleetBoatReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class FleetBoat(Boat):
    """A boat of a fleet."""

    fleet: Annotated[str, doc("Its fleet.")]


def test_a_record_is_extended_with_more_members() -> None:
    boat = extended(FleetBoat, BOAT, fleet="North", owner="Bob")
    assert boat == FleetBoat(account_id=SANDBOX, ports=["Oslo"], labels={"a": "b"}, owner="Bob", fleet="North")


class Side(StrEnum):
    """A side of a boat."""

    PORT = "port"


@resource("LoadReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a boat carries."""

    tons: Annotated[Mapping[Side, int], doc("By side.")]


def test_the_names_of_pairs_stay_in_the_schema_of_an_answer_if_they_are_those_of_an_enum() -> None:
    assert TypeAdapter(Load).json_schema()["properties"]["tons"]["propertyNames"] == {"$ref": "#/$defs/Side"}
