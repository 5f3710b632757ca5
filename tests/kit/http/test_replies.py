"""A reply takes its members from a record and from computed values."""

from dataclasses import dataclass

import pytest

from builders.kit.http.bodies import Reply, WriteReply


@dataclass(frozen=True, slots=True, kw_only=True)
class Lamp:
    """A record."""

    name: str
    watts: int
    secret: str = "not in the reply"
    warnings: tuple[str, ...] = ("not the warnings of a reply",)


class LampReply(Reply):
    """A reply."""

    name: str
    watts: int
    is_bright: bool


class LampWritten(LampReply, WriteReply):
    """A reply with a member that has a default."""


def test_members_are_those_of_the_record_and_those_computed() -> None:
    reply = LampReply.from_record(Lamp(name="desk", watts=40), is_bright=False)
    assert reply.model_dump() == {"name": "desk", "watts": 40, "is_bright": False}


def test_a_computed_member_wins_over_the_record() -> None:
    assert LampReply.from_record(Lamp(name="desk", watts=40), is_bright=True, name="hall").name == "hall"


def test_a_member_with_a_default_is_not_read_from_the_record() -> None:
    assert LampWritten.from_record(Lamp(name="desk", watts=40), is_bright=True).warnings == []


def test_a_member_that_nobody_gives_is_an_error() -> None:
    with pytest.raises(AttributeError, match="is_bright"):
        LampReply.from_record(Lamp(name="desk", watts=40))
