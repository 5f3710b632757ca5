"""Unknown names that request a restriction."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from hypothesis import given, strategies as st
from pydantic.fields import FieldInfo

from builders.kit.errors import MAX_ERRORS
from builders.kit.http import restrictions
from builders.kit.http.bodies import Body, StrictBody

ASKED = (
    *("dry_run", "dryRun", "dry-run", "DRY_RUN", "simulate", "test", "test_mode", "preview", "draft"),
    *("scopes", "read_only", "readonly", "ReadOnly", "permissions", "restricted_to", "restrictions"),
    *("expires_at", "expiresIn", "expiry", "expiration", "ttl", "until", "valid_until", "not_after", "lifetime"),
    *("limit", "limits", "limit_to", "quota", "max_uses", "maxPrice", "quota", "cap", "per_page"),
    *("if_version", "unless", "expected_version", "etag", "require_confirmation", "match"),
    *("only", "only_domains", "include_only", "exclude", "allowed_ips", "filter[status]", "$filter", "disabled"),
)
PLAIN = ("label", "colour", "testimonial", "whenever", "capital", "minutes", "note", "iffy", "utm_source")


class Part(Body):
    """A body in a body."""

    colour: str = ""


class Lamp(Body):
    """A body with parts, and a name that is a limit here alone."""

    not_offered: ClassVar[Mapping[str, str]] = {"volts": "A lamp has no volts."}

    max_watts: int = 0
    parts: tuple[Part, ...] = ()


class Strict(StrictBody):
    """A body without unknown members."""

    names: tuple[str, ...] = ()


class Around(StrictBody):
    """A strict body around one that is not."""

    lamps: list[Lamp] | None = None


def errors(sent: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [each["loc"] for each in restrictions.member_errors(Lamp.model_validate(sent))]


@pytest.mark.parametrize("name", ASKED)
def test_a_limit_is_known_in_any_spelling(name: str) -> None:
    assert restrictions.find_restriction(name) is not None


@pytest.mark.parametrize("name", PLAIN)
def test_other_names_are_no_restrictions(name: str) -> None:
    assert restrictions.find_restriction(name) is None


@given(name=st.text(max_size=200))
def test_any_name_can_be_examined(name: str) -> None:
    restrictions.find_restriction(name)


def test_members_of_the_body_are_no_restrictions() -> None:
    assert errors({"max_watts": 7, "colour": "red"}) == []


def test_unknown_members_at_any_depth_are_examined() -> None:
    sent = {
        "dry_run": False,
        "parts": [{}, {"only": 1}],
        "options": {"list": [{"ttl": 5}], "note": ""},
    }

    assert sorted(errors(sent)) == [
        ("body", "dry_run"),
        ("body", "options", "list", 0, "ttl"),
        ("body", "parts", 1, "only"),
    ]


def test_the_content_of_a_refused_member_is_not_examined() -> None:
    assert errors({"max": {"only": 1}}) == [("body", "max")]
    assert errors({"options": {"max": {"only": 1}}}) == [("body", "options", "max")]


def test_only_the_first_of_many_restrictions_are_reported() -> None:
    many = {f"max_{number}": 1 for number in range(5000)}

    assert len(restrictions.body_errors([Lamp.model_validate(many)])) == MAX_ERRORS
    assert len([*restrictions.query_errors([*many][: restrictions.MAX_UNKNOWN], ())]) == MAX_ERRORS


def test_a_body_may_list_restrictions_of_its_own() -> None:
    [error] = restrictions.member_errors(Lamp.model_validate({"volts": 230}))

    assert (error["loc"], error["msg"]) == (("body", "volts"), "A lamp has no volts.")


def test_a_deeply_nested_value_is_searched_within_bounds() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"x": deep}

    assert errors({"deep": deep}) == []


@pytest.mark.parametrize(("kind", "may"), [(Lamp, True), (Strict, False), (Around, True), (Strict | None, False)])
def test_only_what_can_hold_unknown_members_is_searched(kind: Any, *, may: bool) -> None:
    assert restrictions.may_hold_unknown(SimpleNamespace(field_info=FieldInfo(annotation=kind))) is may


def test_every_restriction_says_why_and_its_names_are_its_own() -> None:
    names = [name for each in restrictions.RESTRICTIONS for name in each.names]

    assert len(names) == len(set(names))
    for each in restrictions.RESTRICTIONS:
        assert each.reason
        for name in each.names:
            found = restrictions.find_restriction(name.replace("*", "_x" if name.endswith("_*") else "x"))
            assert found is each, name
